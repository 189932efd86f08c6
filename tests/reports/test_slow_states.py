"""Processes that met the machine in a slow state must not move what the report says."""

from typing import Any

import numpy as np
import pandas as pd
from tests.reports.synthetic import MEMSET, World, make_tables

from memstrat.reports.crossovers import crossovers
from memstrat.reports.frames import Results
from memstrat.runner.native.estimate import estimate_rows


def slowed(samples: pd.DataFrame, processes: list[int]) -> pd.DataFrame:
    """A slow state: stores lose 5 %, every third code (as `rep` does) a quarter."""
    slow = samples["process"].isin(processes)
    hard = samples["code"].map(
        {code: k % 3 == 0 for k, code in enumerate(samples["code"].unique())}
    )
    factor = np.where(slow, np.where(hard, 1.25, 1.05), 1.0)
    return samples.assign(cycles=samples["cycles"] * factor)


def results_of(world: World, slow: list[int]) -> Results:
    """The results of a world some of whose processes were slow, estimated as the runner does."""
    tables = make_tables(world)
    tables["samples"] = slowed(tables["samples"], slow)
    rows: list[dict[str, Any]] = tables["samples"].to_dict("records")  # type: ignore[assignment]
    tables["estimates"] = pd.DataFrame(estimate_rows(rows))
    return Results(tables=tables)


def test_a_slow_state_moves_no_crossover() -> None:
    world = World(ops=(MEMSET,), processes=9)
    first, second = crossovers(results_of(world, [])), crossovers(results_of(world, [2, 5, 6]))
    assert first["to_form"].tolist() == second["to_form"].tolist()
    assert (np.log2(first["size"]) - np.log2(second["size"])).abs().max() < 0.3


def test_only_the_settled_processes_are_read() -> None:
    world = World(ops=(MEMSET,), sizes=[64, 512, 1024], processes=9, noise=0.002)
    results = results_of(world, [2, 5, 6])
    assert set(results.samples["process"]) == {0, 1, 3, 4, 7, 8}
    assert set(results.estimates["processes"]) == {6}
