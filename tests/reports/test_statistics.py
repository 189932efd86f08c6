import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from memstrat.reports.statistics import (
    Reason,
    Verdict,
    compare,
    median_interval,
    resample,
)
from memstrat.runner.native import estimate

ONE_CELL = np.array([0.0])


def ratios(*values: float) -> np.ndarray:
    logs: np.ndarray = np.log(np.array([values]))
    return logs


def verdict_of(
    cycles: np.ndarray, paired: np.ndarray | None = None, control: float = 0.0
) -> tuple[str, str]:
    found = compare(cycles, cycles if paired is None else paired, np.array([control]))
    return str(found.verdict[0]), str(found.reason[0])


def test_the_interval_holds_the_true_median_as_often_as_it_claims() -> None:
    draws = np.random.default_rng(3).normal(size=(4000, 9))
    found = median_interval(draws)
    assert np.mean((found.low <= 0) & (found.high >= 0)) == pytest.approx(0.95, abs=0.015)


@given(hnp.arrays(np.float64, st.tuples(st.just(3), st.integers(1, 20)), elements=st.floats(-5, 5)))
def test_reports_and_estimates_give_the_same_interval(values: np.ndarray) -> None:
    found = median_interval(values)
    for place, row in enumerate(values):
        one = estimate.median_interval(row.tolist())
        told = (found.low[place], found.median[place], found.high[place])
        assert told == pytest.approx((one.low, one.middle, one.high), abs=1e-12)


@given(
    hnp.arrays(np.float64, (3, 7), elements=st.floats(-5, 5)),
    st.integers(0, 6),
)
def test_a_process_that_did_not_measure_is_as_if_it_were_not_there(
    values: np.ndarray, missing: int
) -> None:
    holed = values.copy()
    holed[:, missing] = np.nan
    whole = np.delete(values, missing, axis=1)
    with_hole, without = median_interval(holed), median_interval(whole)
    np.testing.assert_array_equal(with_hole.median, without.median)
    np.testing.assert_array_equal(with_hole.low, without.low)
    assert np.all(with_hole.median == np.median(whole, axis=1))


def test_nothing_measured_gives_no_median_and_no_verdict() -> None:
    nothing = np.full((1, 7), np.nan)
    assert np.isnan(median_interval(nothing).median[0])
    assert verdict_of(nothing)[0] == Verdict.NO_DATA


def test_a_clear_difference_is_told_with_its_direction() -> None:
    assert verdict_of(ratios(0.90, 0.91, 0.89, 0.90, 0.92))[0] == Verdict.FASTER
    assert verdict_of(ratios(1.10, 1.11, 1.09, 1.10, 1.12))[0] == Verdict.SLOWER


def test_within_one_percent_is_about_equal() -> None:
    assert verdict_of(ratios(1.001, 0.999, 1.0, 1.002, 0.998))[0] == Verdict.EQUAL


def test_an_interval_from_equal_to_different_is_inconclusive() -> None:
    found = verdict_of(ratios(1.0, 1.05, 0.99, 1.02, 1.03))
    assert found == (Verdict.INCONCLUSIVE, Reason.STRADDLES)


def test_a_difference_that_the_second_estimator_denies_is_inconclusive() -> None:
    denied = verdict_of(ratios(*[1.1] * 5), ratios(*[0.97] * 5))
    assert denied == (Verdict.INCONCLUSIVE, Reason.ESTIMATORS)


def test_a_difference_no_larger_than_three_times_the_control_is_not_believed() -> None:
    small = ratios(*[1.03] * 5)
    assert verdict_of(small, control=0.001)[0] == Verdict.SLOWER
    assert verdict_of(small, control=0.02) == (Verdict.INCONCLUSIVE, Reason.CONTROL)


def test_a_difference_far_beyond_the_control_is_believed() -> None:
    assert verdict_of(ratios(*[2.0] * 5), control=0.02)[0] == Verdict.SLOWER


def test_no_verdict_without_an_a_a_control() -> None:
    unknown = verdict_of(ratios(*[2.0] * 5), control=float("nan"))
    assert unknown == (Verdict.INCONCLUSIVE, Reason.NO_CONTROL)


def test_no_verdict_from_fewer_than_five_processes() -> None:
    assert verdict_of(ratios(*[2.0] * 4)) == (Verdict.INCONCLUSIVE, Reason.PROCESSES)


@given(hnp.arrays(np.float64, (1, 7), elements=st.floats(-0.3, 0.3)), st.floats(0, 0.05))
def test_swapping_the_two_codes_mirrors_the_verdict(values: np.ndarray, control: float) -> None:
    mirror = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
    verdict, reason = verdict_of(values, control=control)
    swapped, same_reason = verdict_of(-values, control=control)
    assert swapped == mirror.get(Verdict(verdict), verdict)
    assert same_reason == reason


def test_resampled_medians_spread_like_the_median_of_the_processes() -> None:
    values = np.random.default_rng(5).normal(size=(1, 15))
    drawn = resample(values, 2000)[:, 0]
    assert values.min() <= drawn.min() <= np.median(values) <= drawn.max() <= values.max()


def test_resampling_takes_whole_processes() -> None:
    values = np.random.default_rng(6).normal(size=7)
    drawn = resample(np.stack([values, values + 1]), 50)
    np.testing.assert_allclose(drawn[:, 1] - drawn[:, 0], 1)
