"""What GCC says it selected: its expand dump, which comes on standard error between its messages.

`-fdump-rtl-expand-slim=stderr` prints, for every function, one header and the whole function in
GCC's intermediate form: some 1 kB a kernel. Only the headers and the lines `Selected stringop
expansion strategy: rep_8byte` are kept (GCC prints one for each site that reaches its x86 part; no
line means that the site was expanded by pieces before, or folded).
"""

import re

DUMP_FLAG = "-fdump-rtl-expand-slim=stderr"

_FUNCTION = re.compile(r";; Function (\S+) \(")
_SELECTED = re.compile(r"Selected stringop expansion strategy: (\w+)")
_MESSAGE = re.compile(
    r"(?:^|: )(?:fatal error|error|warning|note|sorry|internal compiler error|confused by)\b.*"
    r"|.*\b(?:Please submit a full bug report|terminated program|Killed|Segmentation fault)\b.*"
)


def split_expand_dump(text: str) -> tuple[str, str]:
    """Standard error of a gcc that was asked for its expand dump -> (dump, messages).

    The dump is cut down to what `parse_expand_dump` reads. Messages are all that stands before the
    first function, and what looks like a message after it.
    """
    dump: list[str] = []
    messages: list[str] = []
    unwritten = ""
    began = False
    for line in text.splitlines():
        if _FUNCTION.match(line):
            unwritten, began = line, True
        elif _SELECTED.fullmatch(line):
            # A function without a selection needs no header.
            dump += [unwritten, line] if unwritten else [line]
            unwritten = ""
        elif _MESSAGE.search(line) or (not began and line.strip()):
            messages.append(line)
    return "".join(f"{line}\n" for line in dump), "\n".join(messages)


def parse_expand_dump(text: str) -> dict[str, tuple[str, ...]]:
    """What was selected for each function, in order; functions without a selection are absent."""
    found: dict[str, tuple[str, ...]] = {}
    function: str | None = None
    for line in text.splitlines():
        if header := _FUNCTION.match(line):
            function = header[1]
        elif (selected := _SELECTED.fullmatch(line)) and function is not None:
            found[function] = (*found.get(function, ()), selected[1])
    return found
