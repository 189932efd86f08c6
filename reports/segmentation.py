"""Cutting a size grid into ranges in which one answer holds: which form wins, from where to where.

The cheapest sequence of answers is sought, where each answer costs something at each size (its
regret) and each change of answer costs a penalty. The penalty keeps one noisy size from making a
range of its own; the regrets keep real cliffs. Found exactly by dynamic programming (Viterbi's
recursion with one cost for every change).

Every measured size counts once. Grids are denser where sizes matter more, about alike per octave,
so this weighs octaves alike; weighing by bytes would let the few sizes above 4 KiB decide.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]


def cheapest_answers(costs: Array, penalty: Array | float) -> Places:
    """The answer at each size: costs [..., size, answer] to places [..., size].

    `penalty` [...] is what one change costs. An answer that cannot be given costs infinity. Between
    equally cheap sequences the one that changes later is taken.
    """
    *batch, sizes, answers = costs.shape
    change = np.broadcast_to(np.asarray(penalty, dtype=np.float64), batch)[..., None]
    came_from = np.zeros((*batch, sizes, answers), dtype=np.int64)
    own = np.broadcast_to(np.arange(answers), (*batch, answers))
    total = costs[..., 0, :] if sizes else np.zeros((*batch, answers))
    for place in range(1, sizes):
        best = np.argmin(total, axis=-1)[..., None]
        switching = np.take_along_axis(total, best, axis=-1) + change
        stays = total < switching
        came_from[..., place, :] = np.where(stays, own, best)
        total = np.where(stays, total, switching) + costs[..., place, :]
    path = np.zeros((*batch, sizes), dtype=np.int64)
    if sizes:
        path[..., -1] = np.argmin(total, axis=-1)
    for place in range(sizes - 1, 0, -1):
        here = path[..., place, None]
        path[..., place - 1] = np.take_along_axis(came_from[..., place, :], here, axis=-1)[..., 0]
    return path


@dataclass(frozen=True, kw_only=True)
class Run:
    """A stretch of sizes with one answer: places first to last of the grid, inclusive."""

    answer: int
    first: int
    last: int

    @property
    def centre(self) -> int:
        """The place in the middle."""
        return (self.first + self.last) // 2


def runs_of(path: Places) -> list[Run]:
    """The stretches of one sequence of answers, in order."""
    if not len(path):
        return []
    starts = [0, *(int(place) + 1 for place in np.flatnonzero(np.diff(path)))]
    ends = [start - 1 for start in starts[1:]] + [len(path) - 1]
    return [
        Run(answer=int(path[start]), first=start, last=end)
        for start, end in zip(starts, ends, strict=True)
    ]


@dataclass(frozen=True, kw_only=True)
class Boundary:
    """Where one answer gives way to another: places of the grid.

    `place` is the first at which the new answer holds; `low` and `high` bound it over the
    resamples; `support` is the share of resamples that know the boundary at all.
    """

    place: int
    low: int
    high: int
    support: float


def boundary_between(before: Run, after: Run, paths: Places, tail: float = 0.025) -> Boundary:
    """How the start of `after` moves over resampled paths [draw, size].

    A resample knows the boundary if it gives the old answer in the middle of the old stretch and
    the new one in the middle of the new; in it the boundary follows the last place between the two
    that does not have the new answer.
    """
    window = paths[:, before.centre : after.centre + 1]
    known = (window[:, 0] == before.answer) & (window[:, -1] == after.answer)
    support = float(np.mean(known)) if len(paths) else 0.0
    if not known.any():
        return Boundary(place=after.first, low=after.first, high=after.first, support=support)
    other = window[known] != after.answer
    from_end = np.argmax(other[:, ::-1], axis=1)
    places = before.centre + window.shape[1] - from_end
    low = int(np.quantile(places, tail, method="lower"))
    high = int(np.quantile(places, 1 - tail, method="higher"))
    return Boundary(
        place=after.first,
        low=min(low, after.first),
        high=max(high, after.first),
        support=support,
    )
