import numpy as np
import pandas as pd
from tests.reports.synthetic import MEMSET, World, make_tables

from memstrat.reports.crossovers import crossovers
from memstrat.reports.frames import Results
from memstrat.reports.settled import FEWEST, settled

SMALL = World(ops=(MEMSET,), sizes=[64, 512, 1024], processes=9, noise=0.002)


def slowed(samples: pd.DataFrame, processes: list[int]) -> pd.DataFrame:
    """A slow state: stores lose 5 %, every third code (as `rep` does) a quarter."""
    slow = samples["process"].isin(processes)
    hard = samples["code"].map(
        {code: k % 3 == 0 for k, code in enumerate(samples["code"].unique())}
    )
    factor = np.where(slow, np.where(hard, 1.25, 1.05), 1.0)
    return samples.assign(cycles=samples["cycles"] * factor)


def test_processes_in_a_slow_state_are_left_out() -> None:
    samples = slowed(make_tables(SMALL)["samples"].fillna({"fill": ""}), [2, 5, 6])
    kept = settled(samples).groupby("size")["process"].unique()
    assert all(set(processes) == {0, 1, 3, 4, 7, 8} for processes in kept)


def test_five_processes_are_kept_even_when_most_were_slow() -> None:
    samples = slowed(make_tables(SMALL)["samples"].fillna({"fill": ""}), [0, 1, 2, 3, 4, 5])
    kept = settled(samples).groupby("size")["process"].unique()
    assert all(len(processes) == FEWEST for processes in kept)
    assert all({6, 7, 8} <= set(processes) for processes in kept)


def test_a_process_is_not_left_out_for_one_slow_code() -> None:
    samples = make_tables(SMALL)["samples"].fillna({"fill": ""})
    one = (samples["process"] == 3) & (samples["code"] == samples["code"].iloc[4])
    samples.loc[one, "cycles"] *= 1.5
    assert set(settled(samples)["process"]) == set(range(9))


def test_a_slow_state_moves_no_crossover() -> None:
    world = World(ops=(MEMSET,), processes=9)
    quiet, loud = make_tables(world), make_tables(world)
    loud["samples"] = slowed(loud["samples"], [2, 5, 6])
    first, second = crossovers(Results(tables=quiet)), crossovers(Results(tables=loud))
    assert first["to_form"].tolist() == second["to_form"].tolist()
    assert (np.log2(first["size"]) - np.log2(second["size"])).abs().max() < 0.3


def test_estimates_are_over_the_processes_that_were_kept() -> None:
    tables = make_tables(SMALL)
    tables["samples"] = tables["samples"].assign(
        cycles=np.where(tables["samples"]["process"] == 2, 1e3, tables["samples"]["cycles"])
    )
    tables["samples"] = slowed(tables["samples"], [2])
    estimates = Results(tables=tables).estimates
    assert estimates["high"].max() < 1e3
    assert set(estimates["processes"]) == {8}
