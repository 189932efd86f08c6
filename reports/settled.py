"""Which processes of a cell met the machine in its fast state.

Neighbours outside a virtual machine put the memory system into slow states that last for whole
processes: all codes of a cell run slower, and not alike (`rep stosq` by a quarter where SSE stores
lose 4 %), so the ratio of two codes changes with the state. As inside a process only the fastest
batches count, only the processes in the fast state do here, never fewer than five.
"""

import numpy as np
import pandas as pd

from memstrat.reports.statistics import median_interval

FEWEST = 5
SLOW = 0.015
"""How much slower than at its best, 0.015 for 1.5 %, the middle code of a cell may run."""

_CELL = ["op", "fill", "size"]


def settled(samples: pd.DataFrame) -> pd.DataFrame:
    """The samples of the processes in the fast state, or of the five fastest of each cell.

    A process's state is the median over the cell's codes of their lag: the log ratio of
    its cycles to the code's least over all processes. It looks at no code more than at another.
    """
    if samples.empty:
        return samples
    lags = samples[[*_CELL, "code", "process"]].assign(
        log_cycles=np.log(samples["cycles"].clip(lower=1e-9))
    )
    lags = lags[~samples["twin"].astype(bool)]
    least = lags.groupby([*_CELL, "code"], sort=False)["log_cycles"].transform("min")
    lags["lag"] = lags["log_cycles"] - least
    state = lags.groupby([*_CELL, "process"], sort=False)["lag"].median().reset_index()
    rank = state.groupby(_CELL, sort=False)["lag"].rank(method="first")
    kept = state[(state["lag"] <= np.log1p(SLOW)) | (rank <= FEWEST)]
    return samples.merge(kept[[*_CELL, "process"]], on=[*_CELL, "process"])


def over_processes(estimates: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Table `estimates` with cycles, low, high and processes taken from these samples.

    Medians over processes with their distribution-free intervals; codes without samples are left.
    """
    if estimates.empty or samples.empty:
        return estimates
    keys = [*_CELL, "code"]
    table = samples[~samples["twin"].astype(bool)].pivot_table(
        index=keys, columns="process", values="cycles", sort=False
    )
    found = median_interval(table.to_numpy(dtype=np.float64))
    told = table.index.to_frame(index=False).assign(
        cycles=found.median, low=found.low, high=found.high, processes=found.count
    )
    return estimates.drop(columns=["cycles", "low", "high", "processes"]).merge(told, on=keys)
