"""Which form wins from where to where, among all that an ISA allows.

The same cutting as for pairs, over all contenders at once: a form's cost at a size is its regret,
the log ratio of its cycles to the best form's, as far as it exceeds 1 %. Forms within 1 % of each
other make no boundary, so the fewest ranges are found that lose almost nothing; what they do lose
is told in `worst_regret`.
"""

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memstrat.model import Isa
from memstrat.reports.crossovers import CHANGE, NOISE_MULTIPLE, pair_of
from memstrat.reports.curves import Array, Curves, curves_of
from memstrat.reports.frames import Results
from memstrat.reports.segmentation import Run, boundary_between, cheapest_answers, runs_of
from memstrat.reports.statistics import SAME, Verdict, median, resample

DRAWS = 200
TIE_BREAK = 0.1
"""Weight of all regret: it places a boundary inside a range of equal sizes, never makes one."""
PREFERENCE = 0.0002
"""Cost per size and place in the order of contenders: of equal forms always the same one is named,
`rep` before stores and narrow registers before wide ones, whatever the noise says."""
ALSO_SHARE = 0.8
"""A form is as good as the winner if it is within 1 % at this share of the range's sizes."""

COLUMNS = [
    *("op", "fill", "alignment", "isa", "first_size", "last_size", "form"),
    *("low", "high", "also", "worst_regret", "worst_size"),
]


def winners(results: Results) -> pd.DataFrame:
    """One row per (op, fill, alignment, isa) and range of sizes: the `form` that wins there.

    `low` and `high` bound `first_size`, and are missing for the first range. `also` lists the forms
    that are as good over the range. Where only general registers are allowed the libc call does not
    compete: libc's own code uses vector registers. At `worst_size` the form takes `worst_regret`
    (0.04: 4 %) more cycles than the best one there.
    """
    return _winners(results).copy()


@lru_cache(maxsize=4)
def _winners(results: Results) -> pd.DataFrame:
    rows: list[dict[str, object]] = []
    for page in results.pages:
        curves = curves_of(results, page)
        for isa in isas_of(results, page):
            allowed = curves.allowed_on(isa, calls=isa != Isa.GPR)
            if len(allowed.labels) and len(allowed.sizes):
                rows += _page_rows(allowed, isa)
    return pd.DataFrame(rows, columns=COLUMNS).astype({"low": "Int64", "high": "Int64"})


def isas_of(results: Results, page: tuple[str, str, int]) -> list[str]:
    """The ISAs that a page's variants were built for, narrowest first."""
    op, fill, alignment = page
    emitted = results.emitted
    rows = emitted[
        (emitted["op"] == op) & (emitted["fill"] == fill) & (emitted["alignment"] == alignment)
    ]
    return sorted(rows["isa"].unique(), key=lambda isa: Isa(isa).widest_store)


def _page_rows(curves: Curves, isa: str) -> list[dict[str, object]]:
    measured = ~np.isnan(curves.log_cycles).all(axis=(1, 2))
    relative = _relative(curves.log_cycles[measured])
    sizes = curves.sizes[measured]
    regret = _regret(median(relative))
    penalty = _penalty(relative)
    runs = runs_of(cheapest_answers(_costs(regret), penalty))
    paths = cheapest_answers(_costs(_regret(resample(relative, DRAWS))), penalty)
    rows = []
    for place, run in enumerate(runs):
        row = _row(curves, isa, sizes, run, regret)
        if place:
            boundary = boundary_between(runs[place - 1], run, paths)
            low, high = _undecided(curves, runs[place - 1], run, sizes)
            row["low"] = int(sizes[min(boundary.low, low)])
            row["high"] = int(sizes[max(boundary.high, high)])
        rows.append(row)
    return rows


def _relative(log_cycles: Array) -> Array:
    """Log cycles against the mean of the cell in the same process: its slow states cancel."""
    present = ~np.isnan(log_cycles)
    total = np.where(present, log_cycles, 0).sum(axis=1, keepdims=True)
    relative: Array = log_cycles - total / np.maximum(present.sum(axis=1, keepdims=True), 1)
    return relative


def _regret(medians: Array) -> Array:
    regret: Array = medians - np.where(np.isnan(medians), np.inf, medians).min(
        axis=-1, keepdims=True
    )
    return regret


def _costs(regret: Array) -> Array:
    costs = np.maximum(regret - SAME, 0) + TIE_BREAK * regret
    costs += PREFERENCE * np.arange(regret.shape[-1])
    return np.where(np.isnan(costs), np.inf, costs)


def _penalty(relative: Array) -> float:
    deviation = 1.4826 * median(np.abs(relative - median(relative)[..., None]))
    count = np.sum(~np.isnan(relative), axis=-1)
    error = 1.2533 * deviation[count > 0] / np.sqrt(count[count > 0])
    return max(CHANGE, NOISE_MULTIPLE * float(np.median(error))) if error.size else CHANGE


def _undecided(
    curves: Curves, before: Run, after: Run, sizes: NDArray[np.int64]
) -> tuple[int, int]:
    """The places around a boundary, within its two runs, where old and new are not told apart."""
    common, _, verdicts = pair_of(curves, before.answer, after.answer)
    decided = dict(zip(common.tolist(), verdicts.verdict.tolist(), strict=True))
    low = high = after.first
    while low - 1 > before.first and _open(decided, sizes[low - 1], Verdict.FASTER):
        low -= 1
    while high < after.last and _open(decided, sizes[high], Verdict.SLOWER):
        high += 1
    return low, high


def _open(decided: dict[int, str], size: int, verdict: Verdict) -> bool:
    return decided.get(int(size), verdict.value) != verdict.value


def _row(
    curves: Curves, isa: str, sizes: NDArray[np.int64], run: Run, regret: Array
) -> dict[str, object]:
    inside = slice(run.first, run.last + 1)
    own = regret[inside, run.answer]
    behind = regret[inside] - own[:, None]
    worst = int(np.argmax(own))
    also = [
        label
        for place, label in enumerate(curves.labels)
        if place != run.answer
        and np.mean(np.nan_to_num(behind[:, place], nan=1.0) <= SAME) >= ALSO_SHARE
    ]
    return {
        "op": curves.op,
        "fill": curves.fill,
        "alignment": curves.alignment,
        "isa": isa,
        "first_size": int(sizes[run.first]),
        "last_size": int(sizes[run.last]),
        "form": curves.labels[run.answer],
        "low": None,
        "high": None,
        "also": also,
        "worst_regret": float(np.expm1(own[worst])),
        "worst_size": int(sizes[run.first + worst]),
    }
