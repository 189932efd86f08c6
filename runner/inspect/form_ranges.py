"""Where the emitted form changes with the size: what `memstrat inspect` prints.

One range is a run of neighbouring sizes that one variant lowers in the same way. Straight code
whose stores merely grow with the size, until they are as wide as the variant goes, is one range.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from memstrat.model import Fill, Form, Kernel, Lowering, Op, Spelling

COLUMNS = ("kernel", "sizes", "emitted form", "code bytes")
"""The headings of `range_rows`."""


class Group(NamedTuple):
    """The kernels that differ in size alone."""

    op: Op
    fill: Fill | None
    alignment: int
    spelling: Spelling

    @property
    def label(self) -> str:
        """`memset zero, align 8`, or `memcpy of structs, align 8`."""
        words = [self.op.value]
        if self.fill is not None:
            words.append(self.fill.value)
        if self.spelling is Spelling.STRUCT:
            words.append("of structs")
        return f"{' '.join(words)}, align {self.alignment}"


@dataclass(frozen=True, kw_only=True)
class FormRange:
    """Sizes `first` to `last`, in bytes, of one group, and what they are lowered to.

    `sizes` counts the sizes inspected. `widest_store` is that of the widest lowering of the range,
    0 for a call. `code_bytes_first` and `code_bytes_last` are the bytes of machine code at both
    ends.
    """

    group: Group
    first: int
    last: int
    sizes: int
    form: Form
    widest_store: int
    callee: str | None
    code_bytes_first: int
    code_bytes_last: int

    @property
    def emitted(self) -> str:
        """What is emitted, in a few words: `straight, 16 B stores`, `rep_8byte`, `call memset`."""
        if self.form is Form.LIBCALL:
            return f"call {self.callee}"
        if self.form.is_rep:
            return self.form.value
        return f"{self.form}, {self.widest_store} B stores"

    @property
    def span(self) -> str:
        """`8..80`, or `8` for a single size."""
        return str(self.first) if self.first == self.last else f"{self.first}..{self.last}"


def form_ranges(lowerings: Iterable[Lowering]) -> list[FormRange]:
    """The ranges of one variant's lowerings, by group, then by size.

    Sizes that were not inspected, or gave no lowering, do not end a range: `sizes` tells of them.
    """
    ordered = sorted(
        lowerings, key=lambda lowering: (_order(lowering.kernel), lowering.kernel.size)
    )
    ranges: list[FormRange] = []
    for _, members in groupby(ordered, key=lambda lowering: _order(lowering.kernel)):
        ranges += [_range(run) for run in _runs(list(members))]
    return ranges


def range_rows(ranges: Iterable[FormRange]) -> list[tuple[str, ...]]:
    """One row of text per range, in the order of `COLUMNS`."""
    return [(r.group.label, r.span, r.emitted, _code_bytes(r)) for r in ranges]


def boundary_lines(ranges: Iterable[FormRange]) -> list[str]:
    """One line per group: `memset zero, align 8: straight 8..80, rep_8byte 88..512`.

    Where two neighbours are of one form, the width of their stores or the callee tells them apart.
    """
    lines = []
    for group, members in groupby(ranges, key=lambda r: r.group):
        shown = [_shown(*neighbours) for neighbours in _with_neighbours(list(members))]
        lines.append(f"{group.label}: {', '.join(shown)}")
    return lines


def _with_neighbours(
    ranges: list[FormRange],
) -> list[tuple[FormRange | None, FormRange, FormRange | None]]:
    padded = [None, *ranges, None]
    return list(zip(padded, ranges, padded[2:], strict=False))


def _shown(before: FormRange | None, found: FormRange, after: FormRange | None) -> str:
    alike = any(other is not None and other.form is found.form for other in (before, after))
    name = "call" if found.form is Form.LIBCALL else found.form.value
    return f"{found.emitted if alike else name} {found.span}"


def _code_bytes(found: FormRange) -> str:
    first, last = found.code_bytes_first, found.code_bytes_last
    return str(first) if first == last else f"{first}..{last}"


def _group(kernel: Kernel) -> Group:
    return Group(kernel.op, kernel.fill, kernel.alignment, kernel.spelling)


def _order(kernel: Kernel) -> tuple[int, int, int, str]:
    """Groups as a reader expects them: memset, memcpy, memmove; zero, constant, variable."""
    fill = -1 if kernel.fill is None else list(Fill).index(kernel.fill)
    return list(Op).index(kernel.op), fill, kernel.alignment, kernel.spelling.value


def _runs(lowerings: list[Lowering]) -> list[list[Lowering]]:
    """Cut the lowerings of one group, by size, where the next is emitted in another way."""
    runs: list[list[Lowering]] = []
    for lowering in lowerings:
        if runs and _continues(runs[-1], lowering):
            runs[-1].append(lowering)
        else:
            runs.append([lowering])
    return runs


def _continues(run: list[Lowering], lowering: Lowering) -> bool:
    last = run[-1]
    if (last.form, last.callee) != (lowering.form, lowering.callee):
        return False
    if last.widest_store == lowering.widest_store:
        return True
    # Straight code whose stores grew because the size did. Where they could have been wider
    # before, the change is one of the compiler's, and begins a range.
    return (
        lowering.form is Form.STRAIGHT
        and lowering.widest_store > last.widest_store
        and all(_is_as_wide_as_its_size(earlier) for earlier in run)
    )


def _is_as_wide_as_its_size(lowering: Lowering) -> bool:
    return lowering.kernel.size < 2 * lowering.widest_store


def _range(run: list[Lowering]) -> FormRange:
    first, last = run[0], run[-1]
    return FormRange(
        group=_group(first.kernel),
        first=first.kernel.size,
        last=last.kernel.size,
        sizes=len(run),
        form=last.form,
        widest_store=last.widest_store,
        callee=last.callee,
        code_bytes_first=len(first.code.text),
        code_bytes_last=len(last.code.text),
    )
