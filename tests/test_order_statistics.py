"""Where the ends of a median's interval lie among ordered values."""

import pytest

from memstrat.order_statistics import coverage, median_depth


@pytest.mark.parametrize(("count", "depth"), [(5, 1), (7, 1), (9, 2), (15, 4)])
def test_the_depth_is_the_greatest_that_covers_95_percent(count: int, depth: int) -> None:
    assert median_depth(count).depth == depth
    assert coverage(count, depth + 1) < 0.95


def test_the_coverage_of_the_extremes_of_seven_is_that_of_the_sign_test() -> None:
    assert coverage(7, 1) == pytest.approx(1 - 2 / 128)


@pytest.mark.parametrize("count", range(1, 40))
def test_the_ends_never_cross_and_the_weight_is_a_share(count: int) -> None:
    place = median_depth(count)
    assert 1 <= place.depth <= (count + 1) // 2
    assert 0 <= place.weight <= 1
    assert place.confidence <= 0.95
