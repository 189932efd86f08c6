"""Estimates over processes: a median, its distribution-free interval, and reasons for doubt.

An interval built inside one process cannot see the spread between processes and is too narrow
(docs/measurement.md), so a process gives one value and everything here is over processes.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from memstrat.doubts import Doubt
from memstrat.model import digest_of
from memstrat.order_statistics import CONFIDENCE, median_depth
from memstrat.runner.native.settled import settled_processes
from memstrat.runner.rows import Row

FEWEST_PROCESSES = 5
CONTROL_TOLERANCE = 0.003
ESTIMATORS_TOLERANCE = 0.02
WIDE_TOLERANCE = 0.02

NEGLIGIBLE_CYCLES = 0.25
"""Neither the width of an interval nor the estimators' disagreement matters below this."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A median and the interval that covers the true one with probability `confidence`."""

    middle: float
    low: float
    high: float
    confidence: float


def median_interval(values: Iterable[float], confidence: float = CONFIDENCE) -> Interval:
    """The median of at least one value, with an interval that assumes no distribution."""
    ordered = sorted(values)
    place = median_depth(len(ordered), confidence)
    # The innermost value on either side has no neighbour further in.
    inner = min(place.depth, len(ordered) - 1)
    return Interval(
        middle=statistics.median(ordered),
        low=_between(ordered[place.depth - 1], ordered[inner], place.weight),
        high=_between(ordered[-place.depth], ordered[-inner - 1], place.weight),
        confidence=place.confidence,
    )


def estimate_rows(samples: Iterable[Row]) -> list[Row]:
    """Rows of `estimates` from rows of `samples`, whatever their order.

    A cell's samples must be of one set of codes. The twin's samples make the control and give no
    row. Codes without a baseline and a twin in the same processes are left out: no comparison
    without a control. Figures are over the processes in the machine's fast state (`settled`).
    """
    cells: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in samples:
        cells[tuple(row[name] for name in _CELL)].append(row)
    return [estimate for key in sorted(cells, key=repr) for estimate in _estimate_cell(cells[key])]


def cells_in_doubt(estimates: Iterable[Row]) -> set[tuple[object, ...]]:
    """Cells (machine, op, fill, size, scenario) that more processes may settle.

    docs/measurement.md, rule 6: the control is off or the two estimators disagree; or the machine
    was in a slow state too often.
    """
    curable = {Doubt.SLOW_STATE, Doubt.CONTROL_OFF, Doubt.ESTIMATORS_DISAGREE}
    return {
        tuple(row[name] for name in _CELL) for row in estimates if curable & set(row["warnings"])
    }


_CELL = ("machine", "op", "fill", "size", "scenario")


def _between(outer: float, inner: float, weight: float) -> float:
    return outer + weight * (inner - outer)


def _estimate_cell(samples: Sequence[Row]) -> list[Row]:
    settled, enough = settled_processes(samples)
    rows = [row for row in samples if row["process"] in settled]
    twins = {row["process"]: row for row in rows if row["twin"]}
    by_code: dict[str, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        if not row["twin"]:
            by_code[row["code"]][row["process"]] = row
    baselines = {
        process: by_code[twin["code"]][process]
        for process, twin in twins.items()
        if process in by_code.get(twin["code"], {})
    }
    if not baselines:
        return []
    control = statistics.median(
        _ratio(twins[process], baseline) for process, baseline in sorted(baselines.items())
    )
    estimates = []
    for code in sorted(by_code):
        kept = {p: row for p, row in by_code[code].items() if p in baselines}
        if kept:
            estimates.append(_estimate_code(kept, baselines, control, enough_settled=enough))
    return estimates


def _estimate_code(
    rows: Mapping[int, Row],
    baselines: Mapping[int, Row],
    control: float,
    *,
    enough_settled: bool,
) -> Row:
    some = next(iter(rows.values()))
    interval = median_interval(row["cycles"] for row in rows.values())
    other = interval.middle * statistics.median(
        row["paired_ratio"] / _ratio(row, baselines[process]) for process, row in rows.items()
    )
    found = {
        Doubt.FEW_PROCESSES: len(rows) < FEWEST_PROCESSES,
        Doubt.SLOW_STATE: len(rows) >= FEWEST_PROCESSES and not enough_settled,
        Doubt.CONTROL_OFF: abs(control - 1) > CONTROL_TOLERANCE,
        Doubt.ESTIMATORS_DISAGREE: _matters(
            other - interval.middle, interval.middle, ESTIMATORS_TOLERANCE
        ),
        Doubt.WIDE_INTERVAL: _matters(
            (interval.high - interval.low) / 2, interval.middle, WIDE_TOLERANCE
        ),
    }
    return {
        "work": digest_of(sorted({(row["work"], row["process"]) for row in rows.values()})),
        **{name: some[name] for name in _CELL},
        "code": some["code"],
        "cycles": interval.middle,
        "low": interval.low,
        "high": interval.high,
        "empty_cycles": statistics.median(row["empty_cycles"] for row in rows.values()),
        "confidence": interval.confidence,
        "processes": len(rows),
        "settled": sorted(rows),
        "control": control,
        "warnings": [doubt.value for doubt, holds in found.items() if holds],
    }


def _ratio(row: Row, baseline: Row) -> float:
    return cast("float", row["cycles"] / baseline["cycles"])


def _matters(difference: float, whole: float, tolerance: float) -> bool:
    """Whether cycles differ by more than a share of the whole, and by more than nothing at all."""
    return abs(difference) > max(tolerance * whole, NEGLIGIBLE_CYCLES)
