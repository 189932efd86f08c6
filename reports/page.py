"""What the HTML page shows, as plain values: every number is text before a template sees it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil, log2

import pandas as pd

from memstrat.model import Isa
from memstrat.reports.crossovers import comparisons, crossovers, pair_ranges
from memstrat.reports.emitted import Emitted, EmittedRow, emitted_rows
from memstrat.reports.frames import Results, on_page, rows_of
from memstrat.reports.palette import BY_LABEL
from memstrat.reports.plots import Spec, curves_plot, default_marks_legend
from memstrat.reports.statistics import Verdict
from memstrat.reports.winners import isas_of, winners
from memstrat.reports.words import ISA_NAMES, operation_text, size_text

Page = tuple[str, str, int]
SYMBOLS = {
    "circle": "○",
    "square": "□",
    "triangle-up": "△",
    "diamond": "◇",
    "cross": "✛",
    "triangle-down": "▽",
}


@dataclass(frozen=True, kw_only=True)
class WinnerRow:
    """One line of the table "which form wins"."""

    sizes: str
    interval: str
    form: str
    css: str
    also: str
    worst: str


@dataclass(frozen=True, kw_only=True)
class PairRow:
    """One pair of contenders and its ranges: `GPR stores to 736, rep stosq from 768 [736, 800]`."""

    first: str
    second: str
    text: str
    crosses: bool
    main: bool


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One coloured stretch of a map's bar: left edge and width in percent of the log axis."""

    left: float
    width: float
    css: str
    striped: bool
    text: str
    title: str


@dataclass(frozen=True, kw_only=True)
class MapRow:
    """One variant's bar of the map."""

    row: EmittedRow
    segments: tuple[Segment, ...]


@dataclass(frozen=True, kw_only=True)
class IsaSection:
    """One plot and its table of winners."""

    isa: str
    name: str
    plot: str
    spec: Spec | None
    winners: tuple[WinnerRow, ...]
    marks: tuple[tuple[str, str], ...]
    calls_compete: bool

    @property
    def shows_also(self) -> bool:
        """Whether any range has forms that are as fast as its winner."""
        return any(row.also for row in self.winners)


@dataclass(frozen=True, kw_only=True)
class PageSection:
    """Everything of one (op, fill, alignment)."""

    anchor: str
    title: str
    isas: tuple[IsaSection, ...]
    pairs: tuple[PairRow, ...]
    ticks: tuple[tuple[float, str], ...]
    maps: tuple[tuple[str, tuple[MapRow, ...]], ...]
    doubts: tuple[tuple[str, int], ...]
    compared: int
    plots: dict[str, Spec] = field(default_factory=dict)

    @property
    def measured(self) -> bool:
        """Whether there is anything but emitted forms to show."""
        return bool(self.plots)


def page_title(page: Page, *, several_alignments: bool) -> str:
    """`memset 0`, with the alignment where the results hold several."""
    alignment = f", {page[2]}-byte alignment" if several_alignments else ""
    return operation_text(page[0], page[1]) + alignment


def page_section(results: Results, page: Page) -> PageSection:
    """The section of one page."""
    anchor = "-".join(str(part) for part in page if part != "")
    several = len({other[2] for other in results.pages}) > 1
    isas = tuple(_isa_section(results, page, isa, anchor) for isa in isas_of(results, page))
    rows = emitted_rows(results, page)
    grid = sorted(set(on_page(results.emitted, page)["size"]))
    verdicts = on_page(comparisons(results), page)
    undecided = verdicts[verdicts["verdict"] == Verdict.INCONCLUSIVE.value]["reason"].value_counts()
    return PageSection(
        anchor=anchor,
        title=page_title(page, several_alignments=several),
        isas=isas,
        pairs=pair_rows(results, page),
        ticks=axis_ticks(grid),
        maps=_maps(rows, grid),
        doubts=tuple((str(reason), int(count)) for reason, count in undecided.items()),
        compared=len(verdicts),
        plots={section.plot: section.spec for section in isas if section.spec is not None},
    )


def _isa_section(results: Results, page: Page, isa: str, anchor: str) -> IsaSection:
    marks = default_marks_legend(results, page, isa)
    return IsaSection(
        isa=isa,
        name=ISA_NAMES[Isa(isa)],
        plot=f"plot-{anchor}-{isa}",
        spec=curves_plot(results, page, isa),
        winners=winner_rows(results, page, isa),
        marks=tuple((SYMBOLS[shape], label) for shape, label in marks),
        calls_compete=isa != Isa.GPR.value,
    )


def winner_rows(results: Results, page: Page, isa: str) -> tuple[WinnerRow, ...]:
    """The winners of one page and ISA, as text."""
    found = on_page(winners(results), page)
    return tuple(
        WinnerRow(
            sizes=sizes_text(int(row.first_size), int(row.last_size)),
            interval="" if pd.isna(row.low) else f"[{row.low}, {row.high}]",
            form=row.form,
            css=BY_LABEL[row.form].css,
            also=", ".join(row.also),
            worst=_worst(row.worst_regret, row.worst_size),
        )
        for row in rows_of(found[found["isa"] == isa])
    )


def sizes_text(first: int, last: int) -> str:
    """`8 to 80`, or `8`."""
    return str(first) if first == last else f"{first} to {last}"


def _worst(regret: float, size: int) -> str:
    return f"{100 * regret:.0f} % at {size}" if regret >= 0.01 else "under 1 %"


def pair_rows(results: Results, page: Page) -> tuple[PairRow, ...]:
    """Every pair of contenders that was measured, `rep` and calls against stores first."""
    ranges, found = on_page(pair_ranges(results), page), on_page(crossovers(results), page)
    rows = []
    for (first, second), own in ranges.groupby(["first_form", "second_form"], sort=False):
        starts = found[
            found["from_form"].isin([first, second]) & found["to_form"].isin([first, second])
        ]
        rows.append(
            PairRow(
                first=str(first),
                second=str(second),
                text=_ranges_text(own, starts),
                crosses=len(starts) > 0,
                main=_is_main(str(first), str(second)),
            )
        )
    return tuple(sorted(rows, key=lambda row: not row.main))


def _is_main(first: str, second: str) -> bool:
    stores = [name.endswith("stores") for name in (first, second)]
    return sum(stores) == 1 and not any(name.endswith("loop") for name in (first, second))


def _ranges_text(ranges: pd.DataFrame, starts: pd.DataFrame) -> str:
    if len(ranges) == 1:
        return f"{ranges['faster'].iloc[0]} at every size"
    intervals = {
        (row.size_, row.to_form): f" [{row.low}, {row.high}]"
        for row in rows_of(starts.rename(columns={"size": "size_"}))
    }
    clauses = []
    for place, row in enumerate(rows_of(ranges)):
        interval = intervals.get((row.first_size, row.faster), "")
        start = f"from {row.first_size}{interval}" if place else f"to {row.last_size}"
        clauses.append(f"{row.faster} {start}")
    return ", ".join(clauses)


MOST_TICKS = 11
"""As many as a map from 8 bytes to 8 KiB has; more would overlap."""


def axis_ticks(grid: list[int]) -> tuple[tuple[float, str], ...]:
    """Powers of two on a map's axis: percent from the left, and label."""
    edges = _edges(grid)
    powers = [1 << bit for bit in range(31) if grid and grid[0] <= 1 << bit <= grid[-1]]
    thinned = powers[:: ceil(len(powers) / MOST_TICKS)] if powers else grid[:1]
    return tuple((round(_percent(tick, edges), 2), size_text(tick)) for tick in thinned)


def _edges(grid: list[int]) -> tuple[float, float]:
    if len(grid) < 2:
        return (float(grid[0]), grid[0] * 2.0) if grid else (1.0, 2.0)
    return float(grid[0]), grid[-1] * min(grid[-1] / grid[-2], 2.0)


def _percent(size: float, edges: tuple[float, float]) -> float:
    return 100 * log2(size / edges[0]) / log2(edges[1] / edges[0])


def _maps(
    rows: Iterable[EmittedRow], grid: list[int]
) -> tuple[tuple[str, tuple[MapRow, ...]], ...]:
    edges = _edges(grid)
    following = dict(zip(grid, [*grid[1:], edges[1]], strict=True))
    grouped: dict[str, list[MapRow]] = {}
    for row in rows:
        segments = tuple(_segment(stretch, following, edges) for stretch in row.stretches)
        grouped.setdefault(ISA_NAMES[Isa(row.isa)], []).append(MapRow(row=row, segments=segments))
    return tuple((name, tuple(found)) for name, found in grouped.items())


def _segment(stretch: Emitted, following: dict[int, float], edges: tuple[float, float]) -> Segment:
    left = _percent(stretch.first_size, edges)
    width = _percent(following[stretch.last_size], edges) - left
    return Segment(
        left=round(left, 2),
        width=round(width, 2),
        css=BY_LABEL[stretch.contender].css,
        striped=bool(BY_LABEL[stretch.contender].dash),
        text=stretch.contender if width > 1.5 * len(stretch.contender) else "",
        title=f"{stretch} ({stretch.contender})",
    )
