"""Medians over processes, their intervals, and the verdict on two codes of a cell.

One process is one sample of layout and of the machine's state, so every interval here is built over
processes, never inside one (facts behind this: an interval from inside one process held the grand
median in 5 of 20 runs). NaN marks a process that did not measure.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from memstrat.order_statistics import CONFIDENCE, median_depth

Array = NDArray[np.float64]

SAME = float(np.log(1.01))
"""Log ratio below which two codes count as about equal: 1 %, what the protocol can tell apart."""
CONTROL_LIMIT = 0.003
"""A/A deviation above which a cell's small differences are not believed."""
DISAGREEMENT_LIMIT = float(np.log(1.02))
"""Log ratio by which the two estimators may differ."""


class Verdict(StrEnum):
    """What a comparison says of the first code against the second."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUAL = "about equal"
    INCONCLUSIVE = "inconclusive"
    NO_DATA = "no data"


class Reason(StrEnum):
    """Why a comparison is inconclusive."""

    NONE = ""
    CONTROL = "identical code differed: A/A control off"
    STRADDLES = "the interval reaches from equal to different"
    ESTIMATORS = "the two estimators disagree"
    PROCESSES = "fewer than 5 processes"
    NO_CONTROL = "no A/A control"


@dataclass(frozen=True, kw_only=True, eq=False)
class Interval:
    """A median over the last axis with its distribution-free interval; `count` processes each."""

    median: Array
    low: Array
    high: Array
    count: NDArray[np.int64]


def median_interval(values: Array, confidence: float = CONFIDENCE) -> Interval:
    """Median and interval over the last axis, ignoring NaN; NaN where nothing is left."""
    ordered = np.sort(values, axis=-1)
    count = np.sum(~np.isnan(ordered), axis=-1)
    places = [median_depth(max(n, 1), confidence) for n in range(values.shape[-1] + 1)]
    outer = np.array([place.depth - 1 for place in places])[count]
    inner = np.minimum(outer + 1, np.maximum(count - 1, 0))
    weight = np.array([place.weight for place in places])[count]
    return Interval(
        median=(_pick(ordered, (count - 1) // 2) + _pick(ordered, count // 2)) / 2,
        low=(1 - weight) * _pick(ordered, outer) + weight * _pick(ordered, inner),
        high=(1 - weight) * _pick(ordered, count - 1 - outer)
        + weight * _pick(ordered, count - 1 - inner),
        count=count,
    )


def median(values: Array) -> Array:
    """Median over the last axis, ignoring NaN; NaN where nothing is left."""
    ordered = np.sort(values, axis=-1)
    count = np.sum(~np.isnan(ordered), axis=-1)
    return (_pick(ordered, (count - 1) // 2) + _pick(ordered, count // 2)) / 2


def _pick(ordered: Array, place: NDArray[np.int64]) -> Array:
    places = np.clip(place, 0, max(ordered.shape[-1] - 1, 0))[..., None]
    if not ordered.shape[-1]:
        return np.full(ordered.shape[:-1], np.nan)
    return np.take_along_axis(ordered, places, axis=-1)[..., 0]


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Two codes compared in one or many cells; arrays of one shape.

    `ratio`, `low` and `high` are cycles of the first over cycles of the second.
    """

    ratio: Array
    low: Array
    high: Array
    verdict: NDArray[np.object_]
    reason: NDArray[np.object_]


def compare(log_cycles: Array, log_paired: Array, control: Array) -> Comparison:
    """The verdict on log ratios, [..., process], of two codes measured in the same processes.

    `log_cycles` is the log ratio of the fastest-5 % means, which decides; `log_paired` that of the
    paired medians; `control` [...] the cell's A/A deviation. A difference counts where its interval
    excludes max(1 %, 3 x the A/A deviation) and the second estimator points the same way beyond it:
    an error of the control's size cannot make it up. What is smaller needs a good control and two
    estimators that agree before it is called equal.
    """
    first, second = median_interval(log_cycles), median(log_paired)
    aa = np.broadcast_to(np.nan_to_num(control, nan=0.0), first.median.shape)
    threshold = np.maximum(SAME, np.log1p(3 * aa))
    different = (first.low > threshold) | (first.high < -threshold)
    confirmed = np.isnan(second) | (
        np.sign(second) * np.sign(first.median) * np.abs(second) > threshold
    )
    disagree = np.abs(first.median - second) > DISAGREEMENT_LIMIT
    few = first.count < 5
    reason = np.select(
        [
            few,
            np.broadcast_to(np.isnan(control), few.shape),
            different & confirmed,
            different | disagree,
            aa > CONTROL_LIMIT,
        ],
        [
            Reason.PROCESSES.value,
            Reason.NO_CONTROL.value,
            Reason.NONE.value,
            Reason.ESTIMATORS.value,
            Reason.CONTROL.value,
        ],
        default=np.where(
            (first.low >= -SAME) & (first.high <= SAME), Reason.NONE.value, Reason.STRADDLES.value
        ),
    ).astype(object)
    side = np.where(first.median < 0, Verdict.FASTER.value, Verdict.SLOWER.value)
    verdict = np.where(different & confirmed, side, Verdict.EQUAL.value).astype(object)
    verdict[reason != ""] = Verdict.INCONCLUSIVE.value
    verdict[first.count == 0] = Verdict.NO_DATA.value
    reason[first.count == 0] = ""
    return Comparison(
        ratio=np.exp(first.median),
        low=np.exp(first.low),
        high=np.exp(first.high),
        verdict=verdict,
        reason=reason,
    )


def resample(values: Array, draws: int, seed: int = 20_251_121) -> Array:
    """Bootstrap medians over processes: [..., process] to [draw, ...].

    Whole processes are drawn, the same ones in every cell that has as many: what a process does to
    all its cells at once stays together.
    """
    chances = np.random.default_rng(seed).random((draws, values.shape[-1]))
    ordered_first = np.argsort(np.isnan(values), axis=-1, kind="stable")
    packed = np.take_along_axis(values, ordered_first, axis=-1)
    count = np.sum(~np.isnan(packed), axis=-1)
    result = np.full((draws, *values.shape[:-1]), np.nan)
    for present in np.unique(count[count > 0]):
        cells = packed[count == present][:, :present]
        picked = cells[:, (chances[:, :present] * present).astype(np.int64)]
        result[:, count == present] = np.median(picked, axis=-1).T
    return result
