"""Crossovers planted in curves are found again, and nothing is found where nothing was planted."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reports.conftest import make_results
from tests.reports.synthetic import MEMSET, SIZES, World, make_tables

from memstrat.reports.crossovers import (
    EQUAL,
    FIRST,
    SECOND,
    comparisons,
    crossings,
    crossovers,
    pair_ranges,
)
from memstrat.reports.frames import Results
from memstrat.reports.segmentation import Boundary, Run
from memstrat.reports.statistics import compare

GRID = np.array(SIZES, dtype=np.float64)
NOISE = 0.006
Found = tuple[list[Run], list[tuple[Run, Run, Boundary]]]


def noisy(curve: np.ndarray, seed: int, processes: int = 7, noise: float = NOISE) -> np.ndarray:
    """Log ratios [size, process] around a curve of log ratios."""
    rng = np.random.default_rng(seed)
    whole = rng.normal(0, noise / 2, size=(1, processes))
    return curve[:, None] + whole + rng.normal(0, noise, size=(len(curve), processes))


def found_in(ratios: np.ndarray) -> Found:
    verdicts = compare(ratios, ratios, np.zeros(len(ratios)))
    return crossings(ratios, verdicts.verdict)


def places(found: Found) -> list[int]:
    return [boundary.place for _, _, boundary in found[1]]


@settings(max_examples=40)
@given(st.integers(5, len(GRID) - 6), st.integers(0, 10_000), st.sampled_from([-1, 1]))
def test_a_planted_crossover_is_found_within_one_step(place: int, seed: int, side: int) -> None:
    curve = side * 0.9 * np.log(GRID / np.sqrt(GRID[place - 1] * GRID[place]))
    found = found_in(noisy(curve, seed))
    assert len(places(found)) == 1
    assert abs(places(found)[0] - place) <= 1
    boundary = found[1][0][2]
    assert boundary.low <= boundary.place <= boundary.high


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(0.02, 1.0), st.sampled_from([-1, 1]))
def test_a_constant_gap_has_no_crossover(seed: int, gap: float, side: int) -> None:
    runs, changes = found_in(noisy(np.full(len(GRID), side * gap), seed))
    assert not changes
    assert [run.answer for run in runs] == [SECOND if side > 0 else FIRST]


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_identical_curves_are_about_equal_everywhere(seed: int) -> None:
    runs, changes = found_in(noisy(np.zeros(len(GRID)), seed))
    assert not changes
    assert [run.answer for run in runs] == [EQUAL]


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(10, 60))
def test_swapping_the_contenders_mirrors_everything(seed: int, place: int) -> None:
    ratios = noisy(0.5 * np.log(GRID / GRID[place]), seed)
    runs, changes = found_in(ratios)
    swapped, mirrored = found_in(-ratios)
    assert [2 - run.answer for run in runs] == [run.answer for run in swapped]
    assert [change[2] for change in changes] == [change[2] for change in mirrored]


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.permutations(range(7)))
def test_the_order_of_the_processes_changes_no_place(seed: int, order: list[int]) -> None:
    ratios = noisy(0.5 * np.log(GRID / 700), seed)
    assert places(found_in(ratios)) == places(found_in(ratios[:, order]))


def test_a_cliff_back_and_forth_is_three_crossovers() -> None:
    curve = np.where(GRID < 64, 0.3, np.where(GRID < 128, -0.5, np.where(GRID < 768, 0.8, -0.4)))
    found = found_in(noisy(curve, 3))
    assert [GRID[place] for place in places(found)] == [64, 128, 768]


def test_a_blip_of_noise_at_one_size_makes_no_range() -> None:
    curve = np.full(len(GRID), -0.05)
    curve[40] = 0.06
    runs, changes = found_in(noisy(curve, 4))
    assert not changes
    assert [run.answer for run in runs] == [FIRST]


def test_a_cliff_at_two_sizes_makes_a_range() -> None:
    curve = np.full(len(GRID), -0.05)
    curve[40:42] = 1.2
    assert places(found_in(noisy(curve, 4))) == [40, 42]


def test_a_wide_tie_between_two_ranges_is_told_and_lies_in_the_interval() -> None:
    curve = np.where(GRID <= 128, -0.2, np.where(GRID <= 512, 0.0, 0.2))
    runs, changes = found_in(noisy(curve, 5, noise=0.003))
    assert [run.answer for run in runs] == [FIRST, EQUAL, SECOND]
    ((_, after, boundary),) = changes
    assert GRID[boundary.place] == 544 == GRID[after.first]
    assert GRID[boundary.low] <= 544 <= GRID[boundary.high]


@pytest.mark.parametrize("seed", range(8))
def test_two_fresh_runs_differ_by_one_step_at_most(seed: int) -> None:
    curve = 0.9 * np.log(GRID / 750)
    first, second = (places(found_in(noisy(curve, 100 * seed + run))) for run in (1, 2))
    assert len(first) == len(second) == 1
    assert abs(first[0] - second[0]) <= 1


def test_the_interval_holds_the_planted_place_nearly_always() -> None:
    curve = 0.25 * np.log(GRID / np.sqrt(GRID[49] * GRID[50]))
    held = 0
    for seed in range(60):
        ((_, _, boundary),) = found_in(noisy(curve, seed))[1]
        held += boundary.low <= 50 <= boundary.high
    assert held >= 55


@pytest.fixture(scope="module")
def rerun() -> Results:
    return make_results(World(seed=2))


def test_the_zen5_models_give_their_crossovers(results: Results) -> None:
    found = crossovers(results)
    memset = found[(found["op"] == "memset") & (found["from_form"] == "GPR stores")]
    quad = memset[memset["to_form"] == "rep stosq"]
    assert len(quad) == 1
    assert 736 <= quad["size"].iloc[0] <= 832
    byte = found[(found["from_form"] == "rep stosb") & (found["to_form"] == "GPR stores")]
    assert byte["size"].tolist() == [128]


def test_two_fresh_runs_of_a_study_give_boundaries_one_step_apart_at_most(
    results: Results, rerun: Results
) -> None:
    keys = ["op", "fill", "alignment", "from_form", "to_form"]
    first, second = (
        frame.assign(nth=frame.groupby(keys).cumcount(), step=frame["size"].map(SIZES.index))
        for frame in (crossovers(results), crossovers(rerun))
    )
    both = first.merge(second, on=[*keys, "nth"], how="outer", suffixes=("_first", "_second"))
    assert both[["step_first", "step_second"]].notna().all(axis=None)
    assert (both["step_first"] - both["step_second"]).abs().max() <= 1


def test_scaling_the_clock_changes_nothing(results: Results) -> None:
    tables = make_tables()
    tables["samples"] = tables["samples"].assign(cycles=tables["samples"]["cycles"] * 3)
    pd.testing.assert_frame_equal(crossovers(results), crossovers(Results(tables=tables)))


def test_the_order_of_the_rows_changes_nothing(results: Results) -> None:
    tables = {name: frame.sample(frac=1, random_state=7) for name, frame in make_tables().items()}
    pd.testing.assert_frame_equal(crossovers(results), crossovers(Results(tables=tables)))


def test_ranges_of_a_pair_follow_each_other_on_the_grid(results: Results) -> None:
    for _, ranges in pair_ranges(results).groupby(["op", "first_form", "second_form"]):
        starts = ranges["first_size"].tolist()[1:]
        ends = ranges["last_size"].tolist()[:-1]
        assert [SIZES.index(s) for s in starts] == [SIZES.index(e) + 1 for e in ends]


def test_every_comparison_gives_a_verdict_or_a_reason(results: Results) -> None:
    found = comparisons(results)
    inconclusive = found["verdict"] == "inconclusive"
    assert found.loc[inconclusive, "reason"].ne("").all()
    assert found.loc[~inconclusive, "reason"].eq("").all()
    assert (found["low"] <= found["ratio"]).all()
    assert (found["ratio"] <= found["high"]).all()


def test_forms_that_share_no_size_are_not_compared() -> None:
    tables = make_tables(World(ops=(MEMSET,), isas=("gpr",), sizes=[8, 16, 24]))
    lowerings = tables["lowerings"]
    tables["lowerings"] = lowerings[
        (lowerings["form"] != "rep_byte") | lowerings["kernel"].str.endswith("s8")
    ]
    found = comparisons(Results(tables=tables))
    with_byte = found[(found["first_form"] == "rep stosb")]
    assert set(with_byte["size"]) == {8}


def test_nothing_measured_gives_empty_frames_with_their_columns() -> None:
    empty = Results(tables={})
    for frame in (crossovers(empty), pair_ranges(empty), comparisons(empty)):
        assert frame.empty
        assert {"op", "fill", "alignment", "isa"} <= set(frame.columns)
