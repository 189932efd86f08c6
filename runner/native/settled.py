"""Which processes of a cell met the machine in its fast state.

Neighbours outside a virtual machine put the memory system into slow states that last for whole
processes, and an unlucky layout slows every call of a process by some percent. All codes of a cell
then run slower, and not alike (`rep stosq` by a quarter where SSE stores lose 4 %), so the ratio of
two codes changes, too. As inside a process only the fastest batches count, only the processes in
the fast state do here, and never fewer than five.
"""

import statistics
from collections import defaultdict
from collections.abc import Sequence

from memstrat.runner.rows import Row

FEWEST = 5
"""Processes that are kept, however slow."""

SLOW = 0.015
"""How much slower than at its best, 0.015 for 1.5 %, the middle code of a cell may run."""


def process_lags(rows: Sequence[Row]) -> dict[int, float]:
    """How far each process of one cell lags behind the best, 0.04 for 4 %.

    It is the median over the cell's codes of cycles over the code's fewest cycles in any process,
    less 1; so no code weighs more than another.
    """
    by_code: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if not row["twin"]:
            by_code[row["code"]].append(row)
    lags: dict[int, list[float]] = defaultdict(list)
    for samples in by_code.values():
        least = min(row["cycles"] for row in samples)
        for row in samples:
            lags[row["process"]].append(row["cycles"] / least - 1)
    return {process: statistics.median(found) for process, found in lags.items()}


def settled_processes(rows: Sequence[Row]) -> tuple[list[int], bool]:
    """The processes of one cell that count, ascending; and whether enough were fast."""
    lags = process_lags(rows)
    fast = {process for process, lag in lags.items() if lag <= SLOW}
    fastest = sorted(lags, key=lambda process: (lags[process], process))[:FEWEST]
    return sorted(fast | set(fastest)), len(fast) >= FEWEST
