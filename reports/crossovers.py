"""Where the faster of two forms changes, from curves of one page.

For two contenders each size gets one of three answers (the first is faster, both are about equal,
the second is faster), and `segmentation` cuts the grid into ranges. Claiming a difference costs
what the difference lacks of 1 %, claiming equality what it exceeds 1 % by, both as log ratios of
medians over processes. A crossover is where the faster one changes, also across a range of about
equal sizes; it is the grid size from which the new one wins, and its interval covers every size in
between.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memstrat.model import Isa
from memstrat.reports.curves import Array, Curves, curves_of
from memstrat.reports.frames import Results
from memstrat.reports.palette import BY_LABEL
from memstrat.reports.segmentation import (
    Boundary,
    Places,
    Run,
    boundary_between,
    cheapest_answers,
    runs_of,
)
from memstrat.reports.statistics import SAME, Comparison, Verdict, compare, median, resample

DRAWS = 400
"""Bootstrap resamples behind the interval of a crossover."""
CHANGE = 0.10
"""The least penalty for a change of answer, in log cycles summed over sizes: a range of its own
needs one size with 20 % in it, or ten with 2 %."""
NOISE_MULTIPLE = 8.0
"""The penalty is at least this many standard errors of one size's median."""

LEAST_SUPPORT = 0.95
"""The share of resamples that must know a crossover for it to be told."""
PENALTY_GROWTH = 1.25

FIRST, EQUAL, SECOND = 0, 1, 2
ANSWERS = ("first", "equal", "second")

RANGE_COLUMNS = [
    *("op", "fill", "alignment", "isa", "first_form", "second_form"),
    *("first_size", "last_size", "faster", "ratio"),
]
COMPARISON_COLUMNS = [
    *RANGE_COLUMNS[:6],
    *("size", "ratio", "low", "high", "verdict", "reason", "processes"),
]
CROSSOVER_COLUMNS = [
    *("op", "fill", "alignment", "isa", "from_form", "to_form"),
    *("size", "low", "high", "equal_from", "last_size", "support"),
]


def crossovers(results: Results) -> pd.DataFrame:
    """One row per crossover of two contenders that were measured at the same sizes.

    From `size` bytes on, up to `last_size`, `to_form` is faster; below it `from_form` was. `low`
    and `high` bound `size` (95 % over resampled processes, at least all undecided sizes around).
    `equal_from` is the first size of a range of about equal sizes that lies between, or missing.
    `support` is the share of resamples that know the crossover. `isa` is the least that has both.
    """
    return _pairs(results)[1].copy()


def pair_ranges(results: Results) -> pd.DataFrame:
    """One row per range of sizes and pair of contenders: which one is `faster`, or `about equal`.

    `ratio` is cycles of `first_form` over cycles of `second_form`, the median over the range.
    """
    return _pairs(results)[0].copy()


def comparisons(results: Results) -> pd.DataFrame:
    """One row per size and pair of contenders: ratio, interval, verdict, and why it is open."""
    return _comparisons(results).copy()


@lru_cache(maxsize=4)
def _comparisons(results: Results) -> pd.DataFrame:
    columns: dict[str, list[object]] = {name: [] for name in COMPARISON_COLUMNS}
    for page in results.pages:
        curves = curves_of(results, page)
        for first, second in combinations(range(len(curves.labels)), 2):
            sizes, ratios, verdicts = pair_of(curves, first, second)
            for name, value in _names(curves, first, second).items():
                columns[name] += [value] * len(sizes)
            columns["size"] += sizes.tolist()
            for name in ("ratio", "low", "high", "verdict", "reason"):
                columns[name] += getattr(verdicts, name).tolist()
            columns["processes"] += np.sum(~np.isnan(ratios), axis=-1).tolist()
    return pd.DataFrame(columns)


def pair_of(curves: Curves, first: int, second: int) -> tuple[NDArray[np.int64], Array, Comparison]:
    """Where both were measured: sizes, log ratios [size, process], verdicts [size]."""
    ratios = curves.log_cycles[:, first] - curves.log_cycles[:, second]
    paired = curves.log_paired[:, first] - curves.log_paired[:, second]
    both = ~np.isnan(ratios).all(axis=-1)
    verdicts = compare(ratios[both], paired[both], curves.control[both])
    return curves.sizes[both], ratios[both], verdicts


def penalty_for(ratios: Array) -> float:
    """What a change of answer costs, given log ratios [size, process]."""
    centre = median(ratios)
    deviation = 1.4826 * median(np.abs(ratios - centre[:, None]))
    count = np.sum(~np.isnan(ratios), axis=-1)
    error = 1.2533 * deviation / np.sqrt(np.maximum(count, 1))  # of a median, normal case
    return max(CHANGE, NOISE_MULTIPLE * float(np.median(error))) if len(ratios) else CHANGE


def answers_for(medians: Array, penalty: float) -> Places:
    """FIRST, EQUAL or SECOND at each size, from log ratios first / second [..., size]."""
    costs = [SAME + medians, np.abs(medians) - SAME, SAME - medians]
    return cheapest_answers(np.maximum(np.stack(costs, axis=-1), 0), penalty)


def crossings(
    ratios: Array, decided: NDArray[np.object_]
) -> tuple[list[Run], list[tuple[Run, Run, Boundary]]]:
    """Ranges and crossovers of two contenders: log ratios [size, process], verdicts [size].

    Each crossover comes as the run that it leaves, the run that it starts, and its boundary. One
    that another run of the same study might not find is none: while any has too little support, the
    penalty grows.
    """
    penalty = penalty_for(ratios)
    draws, medians = resample(ratios, DRAWS), median(ratios)
    while True:
        runs = _starting_decided(runs_of(answers_for(medians, penalty)), medians)
        changes = list(_changes(runs))
        paths = answers_for(draws, penalty) if changes else np.empty((0, 0), dtype=np.int64)
        boundaries = [boundary_between(before, after, paths) for before, after in changes]
        if all(boundary.support >= LEAST_SUPPORT for boundary in boundaries):
            return runs, [
                (before, after, _widened(boundary, before, after, decided))
                for (before, after), boundary in zip(changes, boundaries, strict=True)
            ]
        penalty *= PENALTY_GROWTH


def _starting_decided(runs: list[Run], medians: Array) -> list[Run]:
    """The same ranges, each starting where its form is ahead by 1 %.

    Sizes on the border at which both are about equal could go to either, by noise alone; they go to
    the range before.
    """
    starts = [0]
    for run in runs[1:]:
        start = run.first
        while run.answer != EQUAL and start < run.last and abs(medians[start]) < SAME:
            start += 1
        starts.append(start)
    ends = [start - 1 for start in starts[1:]] + [runs[-1].last] if runs else []
    return [
        replace(run, first=start, last=end)
        for run, start, end in zip(runs, starts, ends, strict=False)
    ]


def _changes(runs: list[Run]) -> Iterator[tuple[Run, Run]]:
    told = [run for run in runs if run.answer != EQUAL]
    for before, after in pairwise(told):
        if before.answer != after.answer:
            yield before, after


def _widened(boundary: Boundary, before: Run, after: Run, decided: NDArray[np.object_]) -> Boundary:
    """The boundary with an interval that holds every size around it that is not decided."""
    verdict = {FIRST: Verdict.FASTER.value, SECOND: Verdict.SLOWER.value}
    low = high = boundary.place
    while low - 1 > before.first and decided[low - 1] != verdict[before.answer]:
        low -= 1
    while high < after.last and decided[high] != verdict[after.answer]:
        high += 1
    return Boundary(
        place=boundary.place,
        low=min(low, boundary.low),
        high=max(high, boundary.high),
        support=boundary.support,
    )


@lru_cache(maxsize=4)
def _pairs(results: Results) -> tuple[pd.DataFrame, pd.DataFrame]:
    ranges: list[dict[str, object]] = []
    found: list[dict[str, object]] = []
    for page in results.pages:
        curves = curves_of(results, page)
        for first, second in combinations(range(len(curves.labels)), 2):
            sizes, ratios, verdicts = pair_of(curves, first, second)
            if not len(sizes):
                continue
            names = _names(curves, first, second)
            runs, changes = crossings(ratios, verdicts.verdict)
            ranges += [_range_row(names, run, sizes, verdicts) for run in runs]
            found += [_crossover_row(names, change, sizes, runs) for change in changes]
    return (
        pd.DataFrame(ranges, columns=RANGE_COLUMNS),
        pd.DataFrame(found, columns=CROSSOVER_COLUMNS).astype({"equal_from": "Int64"}),
    )


def _names(curves: Curves, first: int, second: int) -> dict[str, object]:
    labels = curves.labels[first], curves.labels[second]
    isas = [BY_LABEL[label].isa for label in labels]
    return {
        "op": curves.op,
        "fill": curves.fill,
        "alignment": curves.alignment,
        "isa": max(isas, key=lambda isa: Isa(isa).widest_store).value,
        "first_form": labels[0],
        "second_form": labels[1],
    }


def _range_row(
    names: dict[str, object], run: Run, sizes: NDArray[np.int64], verdicts: Comparison
) -> dict[str, object]:
    faster = (names["first_form"], Verdict.EQUAL.value, names["second_form"])[run.answer]
    return {
        **names,
        "first_size": int(sizes[run.first]),
        "last_size": int(sizes[run.last]),
        "faster": faster,
        "ratio": float(np.median(verdicts.ratio[run.first : run.last + 1])),
    }


def _crossover_row(
    names: dict[str, object],
    change: tuple[Run, Run, Boundary],
    sizes: NDArray[np.int64],
    runs: list[Run],
) -> dict[str, object]:
    before, after, boundary = change
    forms = (names["first_form"], None, names["second_form"])
    equal = [run for run in runs if before.last < run.first < after.first]
    return {
        **{key: names[key] for key in ("op", "fill", "alignment", "isa")},
        "from_form": forms[before.answer],
        "to_form": forms[after.answer],
        "size": int(sizes[boundary.place]),
        "low": int(sizes[min(boundary.low, equal[0].first) if equal else boundary.low]),
        "high": int(sizes[boundary.high]),
        "equal_from": int(sizes[equal[0].first]) if equal else None,
        "last_size": int(sizes[after.last]),
        "support": boundary.support,
    }
