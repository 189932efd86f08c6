import time

from hypothesis import given
from hypothesis import strategies as st

from memstrat.runner.isolate import isolate


@given(count=st.integers(0, 200), bad=st.sets(st.integers(0, 199)))
def test_exactly_the_bad_items_are_blamed(count: int, bad: set[int]) -> None:
    def attempt(items: tuple[int, ...], _: float | None) -> tuple[int, ...] | str:
        found = sorted(bad.intersection(items))
        return f"bad: {found}" if found else items

    done = isolate(range(count), attempt, budget_s=60)
    blamed = [item for failure in done.failures for item in failure.items]
    assert sorted(blamed) == sorted(bad.intersection(range(count)))
    assert all(failure.reason == f"bad: {list(failure.items)}" for failure in done.failures)
    good = [item for part in done.parts for item in part.items]
    assert good == [item for item in range(count) if item not in bad]
    assert len(done.parts) <= 1
    assert all(part.result == part.items for part in done.parts)


def test_one_bad_item_among_many_costs_few_attempts() -> None:
    attempts = []

    def attempt(items: tuple[int, ...], _: float | None) -> int | str:
        attempts.append(items)
        return "bad" if 77 in items else len(items)

    isolate(range(256), attempt, budget_s=60)
    assert len(attempts) <= 2 * 8 + 3


def test_what_fails_even_for_nothing_is_blamed_as_a_whole() -> None:
    attempts = []

    def attempt(items: tuple[int, ...], _: float | None) -> int | str:
        attempts.append(items)
        return "broken"

    done = isolate(range(256), attempt, budget_s=60)
    assert [len(failure.items) for failure in done.failures] == [256]
    assert len(attempts) == 2


def test_items_that_only_fail_together_are_kept_apart() -> None:
    def attempt(items: tuple[int, ...], _: float | None) -> int | str:
        return "too many" if len(items) > 3 else len(items)

    done = isolate(range(10), attempt, budget_s=60)
    assert not done.failures
    assert sorted(item for part in done.parts for item in part.items) == list(range(10))


def test_time_is_bounded_and_nothing_is_lost_from_sight() -> None:
    def attempt(items: tuple[int, ...], _: float | None) -> int | str:
        if items:
            time.sleep(0.02)
        return "hangs" if items else 0

    done = isolate(range(64), attempt, budget_s=0.1)
    blamed = [item for failure in done.failures for item in failure.items]
    assert sorted(blamed) == list(range(64))
    assert any("for want of time" in failure.reason for failure in done.failures)


def test_attempts_that_look_for_one_hanging_item_fit_into_the_time() -> None:
    allowed: list[float | None] = []

    def attempt(items: tuple[int, ...], seconds: float | None) -> int | str:
        if 5 in items:
            allowed.append(seconds)
            return "hangs"
        return len(items)

    isolate(range(240), attempt, budget_s=60)
    assert allowed[0] is None
    assert sum(seconds for seconds in allowed[1:] if seconds is not None) <= 60
