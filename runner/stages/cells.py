"""Which codes meet in which cell, and which of them the others are set against."""

from memstrat.model import DEFAULT_STRATEGY, Cell, Fill, Isa, Op, Scenario, Vendor
from memstrat.runner.native.pack import PackCell, PackContents
from memstrat.runner.rows import Row
from memstrat.runner.stages.context import Emitted, cell_key
from memstrat.runner.stages.verify import Verified


def contents_of(emitted: Emitted, verified: Verified) -> PackContents:
    """A pack of every code that passed verification, in the cells that it was emitted for."""
    members: dict[tuple[str, str | None, int], dict[str, Row]] = {}
    for row in sorted(emitted.lowerings, key=_baseline_order):
        if (row["code"], cell_key(row)) in verified.passed:
            members.setdefault(cell_key(row), {}).setdefault(row["code"], row)
    digests = sorted({code for codes in members.values() for code in codes})
    index = {digest: i for i, digest in enumerate(digests)}
    cells = [
        PackCell(
            cell=_cell(key),
            codes=tuple(sorted(index[code] for code in codes)),
            baseline=index[next(iter(codes))],
        )
        for key, codes in members.items()
    ]
    cells.sort(key=lambda packed: packed.cell.name)
    return PackContents(
        codes=tuple(emitted.codes[digest] for digest in digests), cells=tuple(cells)
    )


def _baseline_order(row: Row) -> tuple[object, ...]:
    """First what a compiler emits unasked, with the fewest registers: it runs on every CPU.

    No name counts: with a new one the cell would be another and be measured again.
    """
    return (
        row["vendor"] == Vendor.REFERENCE,
        row["strategy"] != DEFAULT_STRATEGY.name,
        list(Isa).index(Isa(row["isa"])),
        row["variant"],
        row["kernel"],
    )


def _cell(key: tuple[str, str | None, int]) -> Cell:
    op, fill, size = key
    return Cell(
        op=Op(op), fill=None if fill is None else Fill(fill), size=size, scenario=Scenario.HOT
    )
