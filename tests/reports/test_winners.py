from itertools import pairwise

import pandas as pd
import pytest
from tests.reports.synthetic import MEMSET, SIZES, World, make_tables

from memstrat.reports.frames import Results
from memstrat.reports.winners import winners


def ranges(results: Results, op: str, isa: str) -> list[tuple[int, int, str]]:
    found = winners(results)
    found = found[(found["op"] == op) & (found["isa"] == isa)]
    return [*found[["first_size", "last_size", "form"]].itertuples(index=False, name=None)]


def test_the_winners_of_a_page_cover_its_grid_without_gaps(results: Results) -> None:
    for op in ("memset", "memcpy"):
        for isa in ("gpr", "sse2", "avx2", "avx512"):
            found = ranges(results, op, isa)
            assert found[0][0] == SIZES[0]
            assert found[-1][1] == SIZES[-1]
            for (_, end, form), (start, _, following) in pairwise(found):
                assert SIZES.index(start) == SIZES.index(end) + 1
                assert form != following


def test_cliffs_and_slow_crossings_both_make_ranges(results: Results) -> None:
    forms = [form for _, _, form in ranges(results, "memset", "gpr")]
    assert forms == ["GPR stores", "rep stosb", "GPR stores", "rep stosb"]


def test_wider_registers_win_where_they_are_allowed(results: Results) -> None:
    assert ranges(results, "memset", "avx2")[-1][2] == "AVX2 stores"
    assert ranges(results, "memset", "avx512")[-1][2] == "AVX-512 stores"


def test_the_libc_call_does_not_compete_with_general_registers_only(results: Results) -> None:
    found = winners(results)
    assert "libc call" not in set(found.loc[found["isa"] == "gpr", "form"])
    assert "libc call" in set(found.loc[found["isa"] == "sse2", "form"])


def test_what_a_winner_loses_at_its_worst_size_is_told(results: Results) -> None:
    found = winners(results)
    assert found["worst_regret"].between(0, 0.2).all()
    assert (found["worst_size"].between(found["first_size"], found["last_size"])).all()


def test_every_boundary_has_an_interval_around_it(results: Results) -> None:
    inner = winners(results).dropna(subset=["low"])
    assert (inner["low"] <= inner["first_size"]).all()
    assert (inner["first_size"] <= inner["high"]).all()
    assert len(inner) > 4


@pytest.mark.parametrize("seed", [11, 12])
def test_fresh_runs_give_the_same_winners_one_step_apart_at_most(
    results: Results, seed: int
) -> None:
    again = Results(tables=make_tables(World(seed=seed)))
    first, second = winners(results), winners(again)
    assert first["form"].tolist() == second["form"].tolist()
    steps = [frame["first_size"].map(SIZES.index) for frame in (first, second)]
    assert (steps[0] - steps[1]).abs().max() <= 1


def test_equal_forms_make_no_boundary_and_are_named() -> None:
    tables = make_tables(World(ops=(MEMSET,), isas=("gpr", "sse2"), noise=0.001))
    samples = tables["samples"]
    tables["samples"] = samples.assign(
        cycles=samples["size"] / 16 + samples["process"] / 1000 + 4,
        paired_ratio=1.0,
    )
    found = winners(Results(tables=tables))
    assert found.groupby("isa").size().eq(1).all()
    assert all(
        "rep stosb" in [form, *also]
        for form, also in zip(found["form"], found["also"], strict=True)
    )


def test_nothing_measured_gives_no_winner() -> None:
    tables = make_tables(World(sizes=[8, 16]))
    del tables["samples"], tables["estimates"]
    pd.testing.assert_frame_equal(
        winners(Results(tables=tables)), winners(Results(tables={})), check_dtype=False
    )
