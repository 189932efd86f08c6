"""The processes of a cell that count: those that met the machine in its fast state."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memstrat.runner.native.settled import FEWEST, process_lags, settled_processes


def cell(factors: list[float], codes: int = 7) -> list[dict[str, Any]]:
    """Samples of one cell: process i runs factors[i] times slower than at its best."""
    return [
        {"code": f"c{code}", "twin": False, "process": process, "cycles": (10 + code) * factor}
        for process, factor in enumerate(factors)
        for code in range(codes)
    ]


def test_processes_in_a_slow_state_are_left_out() -> None:
    rows = cell([1, 1.001, 1.25, 1, 1.003, 1.05, 1.04, 1])
    assert settled_processes(rows) == ([0, 1, 3, 4, 7], True)


def test_five_processes_are_kept_even_when_most_were_slow_and_that_is_told() -> None:
    rows = cell([1.3, 1.2, 1.1, 1.05, 1.04, 1, 1, 1])
    assert settled_processes(rows) == ([3, 4, 5, 6, 7], False)


def test_one_slow_code_leaves_no_process_out() -> None:
    rows = cell([1.0] * 6)
    rows[0]["cycles"] *= 1.5
    assert settled_processes(rows)[0] == list(range(6))


def test_a_twin_has_no_voice() -> None:
    rows = [*cell([1.0] * 6), {"code": "c0", "twin": True, "process": 3, "cycles": 1.0}]
    assert set(process_lags(rows).values()) == {0.0}


@given(st.lists(st.floats(1, 2), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_neither_order_nor_unit_matters_and_enough_are_kept(
    factors: list[float], source: random.Random
) -> None:
    rows = cell(factors)
    shuffled = [{**row, "cycles": row["cycles"] * 4} for row in source.sample(rows, len(rows))]
    kept, enough = settled_processes(rows)
    assert settled_processes(shuffled) == (kept, enough)
    assert len(kept) >= min(FEWEST, len(factors))
    assert factors.index(min(factors)) in kept
