"""Estimates: intervals cover as often as they say, order does not matter, doubts are raised."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrat.doubts import Doubt
from memstrat.runner.native.estimate import cells_in_doubt, estimate_rows, median_interval
from memstrat.runner.tables import ESTIMATES

FINITE = st.floats(min_value=0.1, max_value=1e6, allow_nan=False)

DISTRIBUTIONS: dict[str, tuple[Callable[[random.Random], float], float]] = {
    "normal": (lambda source: source.gauss(10, 1), 10.0),
    "uniform": (lambda source: source.uniform(0, 2), 1.0),
    "exponential": (lambda source: source.expovariate(1.0), 0.6931471805599453),
    "heavy tail": (lambda source: source.gauss(0, 1) / (abs(source.gauss(0, 1)) + 1e-9), 0.0),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("count", [5, 6, 7, 9, 15])
def test_an_interval_covers_the_true_median_at_the_stated_rate(name: str, count: int) -> None:
    draw, median = DISTRIBUTIONS[name]
    source = random.Random(f"{name} {count}")
    trials = 4000
    intervals = [median_interval(draw(source) for _ in range(count)) for _ in range(trials)]
    covered = sum(interval.low <= median <= interval.high for interval in intervals) / trials
    # Three standard errors of the rate, and one point for the interpolation's approximation.
    assert covered >= intervals[0].confidence - 3 * (0.05 * 0.95 / trials) ** 0.5 - 0.01


@pytest.mark.parametrize(
    ("count", "confidence"), [(1, 0.0), (2, 0.5), (3, 0.75), (5, 0.9375), (6, 0.95), (7, 0.95)]
)
def test_the_confidence_that_few_values_reach_is_stated(count: int, confidence: float) -> None:
    assert median_interval(range(count)).confidence == pytest.approx(confidence)


def test_seven_values_give_the_interpolated_interval() -> None:
    # Coverage is 0.984375 at depth 1 and 0.875 at depth 2; I = 0.3143, weight = 0.7333.
    interval = median_interval([1, 2, 3, 4, 5, 6, 7])
    assert interval.low == pytest.approx(1.7333, abs=1e-4)
    assert interval.high == pytest.approx(6.2667, abs=1e-4)


@given(st.lists(FINITE, min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_values_does_not_matter(values: list[float], source: random.Random) -> None:
    shuffled = source.sample(values, len(values))
    assert median_interval(shuffled) == median_interval(values)


@given(st.lists(FINITE, min_size=1, max_size=30))
def test_the_median_lies_in_its_interval_and_that_within_the_values(values: list[float]) -> None:
    interval = median_interval(values)
    assert min(values) <= interval.low <= interval.middle <= interval.high <= max(values)


@given(st.lists(FINITE, min_size=6, max_size=30), st.floats(0.5, 0.9))
def test_more_confidence_never_makes_an_interval_narrower(
    values: list[float], confidence: float
) -> None:
    narrow, wide = median_interval(values, confidence), median_interval(values, confidence + 0.05)
    slack = 1e-9 * max(values)
    assert wide.low <= narrow.low + slack
    assert wide.high >= narrow.high - slack


def sample(code: str, process: int, cycles: float, **changes: Any) -> dict[str, Any]:
    """A row of samples; the baseline `a` takes 10 cycles."""
    return {
        "work": f"work {process}",
        "machine": "m",
        "op": "memset",
        "fill": "zero",
        "size": 64,
        "scenario": "hot",
        "code": code,
        "twin": False,
        "process": process,
        "cycles": cycles,
        "empty_cycles": 4.0,
        "paired_ratio": cycles / 10,
        "ticks_per_cycle": 0.7,
        "batches": 500,
        "calls": 100,
        **changes,
    }


def cell(
    *, processes: int = 7, twin: float = 10.0, other: float = 20.0, **changes: Any
) -> list[dict[str, Any]]:
    """Samples of one cell: baseline a, its twin, and b."""
    rows = []
    for process in range(processes):
        rows += [
            sample("a", process, 10.0),
            sample("a", process, twin, twin=True),
            sample("b", process, other, **changes),
        ]
    return rows


def test_a_quiet_cell_gives_one_row_per_code_without_doubt() -> None:
    rows = estimate_rows(cell())
    assert [(row["code"], row["cycles"], row["warnings"]) for row in rows] == [
        ("a", 10.0, []),
        ("b", 20.0, []),
    ]
    assert {row["processes"] for row in rows} == {7}
    assert {row["control"] for row in rows} == {1.0}
    assert set(rows[0]) == {column.name for column in ESTIMATES.columns}


@given(st.randoms(use_true_random=False))
def test_the_order_of_samples_does_not_matter(source: random.Random) -> None:
    rows = [*cell(), *[{**row, "size": 128} for row in cell(other=30)]]
    assert estimate_rows(source.sample(rows, len(rows))) == estimate_rows(rows)


def doubts(rows: list[dict[str, Any]]) -> set[str]:
    """All doubts about code b."""
    return {word for row in estimate_rows(rows) if row["code"] == "b" for word in row["warnings"]}


def test_each_doubt_is_raised_by_its_own_cause() -> None:
    assert doubts(cell(processes=4)) == {Doubt.FEW_PROCESSES}
    assert doubts(cell(twin=10.05)) == {Doubt.CONTROL_OFF}
    assert doubts(cell(twin=10.02)) == set()
    assert doubts(cell(paired_ratio=2.1)) == {Doubt.ESTIMATORS_DISAGREE}
    slow = [{**row, "cycles": row["cycles"] * (1 + row["process"] // 3 / 10)} for row in cell()]
    assert Doubt.SLOW_STATE in doubts(slow)
    wide = [
        sample("b", row["process"], row["cycles"] + row["process"]) if row["code"] == "b" else row
        for row in [*cell(), *(sample("c", process, 30.0) for process in range(7))]
    ]
    assert doubts(wide) == {Doubt.WIDE_INTERVAL}


def test_every_doubt_has_a_remedy() -> None:
    assert all(doubt.meaning and doubt.remedy for doubt in Doubt)


def test_only_cells_that_more_processes_may_settle_are_escalated() -> None:
    off = [{**row, "size": 128} for row in cell(twin=10.05)]
    estimates = estimate_rows([*cell(), *off])
    assert cells_in_doubt(estimates) == {("m", "memset", "zero", 128, "hot")}


def test_a_code_without_a_control_gives_no_estimate() -> None:
    without_twin = [row for row in cell() if not row["twin"]]
    assert estimate_rows(without_twin) == []
    dropped_in_two = [row for row in cell() if not (row["twin"] and row["process"] < 2)]
    assert {row["processes"] for row in estimate_rows(dropped_in_two)} == {5}


def test_a_code_that_crashed_in_some_processes_keeps_the_others() -> None:
    rows = [row for row in cell() if not (row["code"] == "b" and row["process"] == 3)]
    assert {row["code"]: row["processes"] for row in estimate_rows(rows)} == {"a": 7, "b": 6}
