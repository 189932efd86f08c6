"""Names beside the ends of lines, without two of them on top of each other."""

import numpy as np
from numpy.typing import NDArray


def spread(wanted: NDArray[np.float64], gap: float, low: float, high: float) -> NDArray[np.float64]:
    """Places near the wanted ones, at least `gap` apart and within [low, high] if that is possible.

    Neighbours that collide become a block around the mean of what they wanted (isotonic regression:
    the least sum of squared moves). All are in one unit, such as pixels; the order is kept.
    """
    order = np.argsort(wanted, kind="stable")
    offsets = gap * np.arange(len(wanted))
    blocks: list[tuple[float, int]] = []
    for value in wanted[order] - offsets:
        blocks.append((float(value), 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (mean, count), (last, one) = blocks[-2:]
            blocks[-2:] = [((mean * count + last * one) / (count + one), count + one)]
    level = np.concatenate([np.full(count, mean) for mean, count in blocks] or [np.empty(0)])
    top = max(low, high - (offsets[-1] if len(offsets) else 0))
    places = np.empty_like(wanted, dtype=np.float64)
    places[order] = np.clip(level, low, top) + offsets
    return places
