"""What was measured on one page, as arrays: sizes by contenders by processes."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memstrat.reports.frames import CELL, Results, in_order
from memstrat.reports.palette import LIBC_CALL, allowed

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Curves:
    """The contenders of one (op, fill, alignment), measured.

    `log_cycles` and `log_paired`, both [size, contender, process], are the natural logarithms of
    the two estimators: cycles per call with the empty call left in (fastest 5 % of batches), and
    the median paired ratio to the cell's baseline. `control` [size] is the A/A twin's relative
    deviation, 0.003 for 0.3 %. NaN marks what was not measured.
    """

    op: str
    fill: str
    alignment: int
    sizes: NDArray[np.int64]
    labels: tuple[str, ...]
    log_cycles: Array
    log_paired: Array
    control: Array

    def allowed_on(self, isa: str, *, calls: bool = True) -> "Curves":
        """The same page with only the contenders that these registers allow, calls among them."""
        keep = [
            place
            for place, label in enumerate(self.labels)
            if allowed(label, isa) and (calls or label != LIBC_CALL)
        ]
        return Curves(
            op=self.op,
            fill=self.fill,
            alignment=self.alignment,
            sizes=self.sizes,
            labels=tuple(self.labels[place] for place in keep),
            log_cycles=self.log_cycles[:, keep],
            log_paired=self.log_paired[:, keep],
            control=self.control,
        )


@lru_cache(maxsize=64)
def curves_of(results: Results, page: tuple[str, str, int]) -> Curves:
    """The curves of one page; without rows in its arrays where nothing was measured."""
    op, fill, alignment = page
    chosen = results.representatives
    chosen = chosen[
        (chosen["op"] == op) & (chosen["fill"] == fill) & (chosen["alignment"] == alignment)
    ]
    labels = in_order(chosen["contender"])
    sizes = np.array(sorted(chosen["size"].unique()), dtype=np.int64)
    samples = results.samples
    samples = samples[(samples["op"] == op) & (samples["fill"] == fill)]
    rows = chosen.merge(samples[~samples["twin"].astype(bool)], on=[*CELL, "code"])
    shape = (len(sizes), len(labels), int(samples["process"].max()) + 1 if len(samples) else 0)
    places = (
        np.searchsorted(sizes, rows["size"].to_numpy(dtype=np.int64)),
        pd.Categorical(rows["contender"], categories=labels).codes.astype(np.int64),
        rows["process"].to_numpy(dtype=np.int64),
    )
    return Curves(
        op=op,
        fill=fill,
        alignment=alignment,
        sizes=sizes,
        labels=tuple(labels),
        log_cycles=_filled(shape, places, rows["cycles"]),
        log_paired=_filled(shape, places, rows["paired_ratio"]),
        control=np.asarray(controls(samples).reindex(sizes), dtype=np.float64),
    )


def controls(samples: pd.DataFrame) -> "pd.Series[float]":
    """The A/A control per size: |twin / baseline - 1|, median over processes."""
    keys = [*CELL, "code", "process"]
    twin = samples["twin"].astype(bool)
    both = samples[twin].merge(samples[~twin], on=keys, suffixes=("_twin", "_baseline"))
    ratio = both["cycles_twin"] / both["cycles_baseline"]
    return (ratio.groupby(both["size"]).median() - 1).abs()


def _filled(
    shape: tuple[int, int, int],
    places: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    values: "pd.Series[float]",
) -> Array:
    filled = np.full(shape, np.nan)
    numbers = values.to_numpy(dtype=np.float64)
    filled[places] = np.log(np.where(numbers > 0, numbers, np.nan))
    return filled
