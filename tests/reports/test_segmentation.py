from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from memstrat.reports.segmentation import Run, boundary_between, cheapest_answers, runs_of


def total_cost(costs: np.ndarray, path: tuple[int, ...], penalty: float) -> float:
    own = sum(costs[place, answer] for place, answer in enumerate(path))
    return float(own) + penalty * sum(a != b for a, b in pairwise(path))


@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(1, 6), st.integers(1, 3)), elements=st.floats(0, 1)
    ),
    st.floats(0, 1),
)
def test_no_sequence_of_answers_is_cheaper(costs: np.ndarray, penalty: float) -> None:
    found = tuple(int(answer) for answer in cheapest_answers(costs, penalty))
    paths = product(range(costs.shape[1]), repeat=costs.shape[0])
    cheapest = min(total_cost(costs, path, penalty) for path in paths)
    assert total_cost(costs, found, penalty) == pytest.approx(cheapest)


def test_many_grids_at_once_give_what_each_gives_alone() -> None:
    costs = np.random.default_rng(1).random((5, 9, 3))
    penalties = np.linspace(0, 0.5, 5)
    together = cheapest_answers(costs, penalties)
    alone = [cheapest_answers(costs[k], penalties[k]) for k in range(5)]
    np.testing.assert_array_equal(together, np.stack(alone))


def test_an_answer_that_cannot_be_given_is_not_given() -> None:
    costs = np.array([[0.0, np.inf], [0.0, np.inf], [1.0, 0.9], [5.0, 0.0]])
    assert cheapest_answers(costs, 0.1).tolist() == [0, 0, 1, 1]


def test_between_equally_cheap_sequences_the_later_change_is_taken() -> None:
    costs = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert cheapest_answers(costs, 0.1).tolist() == [0, 0, 0, 1]


def test_no_sizes_give_no_answers() -> None:
    assert cheapest_answers(np.empty((0, 3)), 0.1).tolist() == []
    assert runs_of(cheapest_answers(np.empty((0, 3)), 0.1)) == []


def test_runs_cover_the_grid_without_gaps() -> None:
    runs = runs_of(np.array([0, 0, 2, 2, 2, 1]))
    assert runs == [
        Run(answer=0, first=0, last=1),
        Run(answer=2, first=2, last=4),
        Run(answer=1, first=5, last=5),
    ]


def test_a_boundary_is_bounded_by_where_the_resamples_have_it() -> None:
    before, after = Run(answer=0, first=0, last=4), Run(answer=1, first=5, last=9)
    paths = np.array([[0] * k + [1] * (10 - k) for k in (4, 5, 5, 5, 6)])
    found = boundary_between(before, after, paths)
    assert (found.place, found.low, found.high, found.support) == (5, 4, 6, 1.0)


def test_resamples_without_the_boundary_lower_its_support() -> None:
    before, after = Run(answer=0, first=0, last=4), Run(answer=1, first=5, last=9)
    paths = np.array([[0] * 10, [0] * 5 + [1] * 5])
    assert boundary_between(before, after, paths).support == 0.5
