"""Hash the files that really run behind a command, where they can be read from here."""

import hashlib
import re
import shutil
from pathlib import Path
from threading import Lock

from memstrat.runner.processes import run_process

_LISTED_LIBRARY = re.compile(r"=> (/.*) \(0x")
_COMPILER_LIBRARY = re.compile(r"lib(?:clang|LLVM)")

_digests: dict[tuple[str, int, int], str] = {}
_lock = Lock()


def real_files(command: tuple[str, ...], *, cc1: Path | None = None) -> list[tuple[str, str]]:
    """Name and SHA-256 of every file behind a command that can be read from here.

    These are the programs among its words, `cc1`, and the libraries that hold clang.

    Words are looked at one by one because a command may be `ccache gcc` or `env A=B clang`. In a
    command such as `chroot /srv/sid gcc` a word may name another file here than there: then the
    digest covers a file too many, which costs a rebuild when that file changes, and nothing else.
    """
    programs = [Path(found).resolve() for word in command if (found := shutil.which(word))]
    files = [*programs, *(library for each in programs for library in _compiler_libraries(each))]
    if cc1 is not None and cc1.is_absolute():
        files.append(cc1.resolve())
    return [(file.name, digest) for file in files if (digest := file_digest(file)) is not None]


def file_digest(file: Path) -> str | None:
    """SHA-256 of a file, or None where it cannot be read.

    Compilers have a hundred megabytes, so a digest is kept for as long as size and time of change
    stay the same.
    """
    try:
        status = file.stat()
        key = (str(file), status.st_size, status.st_mtime_ns)
        with _lock:
            known = _digests.get(key)
        if known is None:
            with file.open("rb") as stream:
                known = hashlib.file_digest(stream, "sha256").hexdigest()
            with _lock:
                _digests[key] = known
    except OSError:
        return None
    return known


def _compiler_libraries(program: Path) -> list[Path]:
    """The libclang and libLLVM that a program is linked against, as its loader finds them.

    Distributions build clang as a small program on top of these libraries. The variable makes the
    loader print what it would load, and end; it is how ldd works.
    """
    try:
        with program.open("rb") as stream:
            if stream.read(4) != b"\x7fELF":
                return []
    except OSError:
        return []
    listing = run_process(
        (str(program),), timeout_s=10, environment={"LD_TRACE_LOADED_OBJECTS": "1"}
    )
    found = (Path(path) for path in _LISTED_LIBRARY.findall(listing.text))
    return [path.resolve() for path in found if _COMPILER_LIBRARY.match(path.name)]
