"""Find which of many items make a step fail, by halving, so that the others do not suffer."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_LEAST_ATTEMPT_S = 1.0
"""Below this an attempt would fail for want of time alone."""


@dataclass(frozen=True, kw_only=True)
class Part(Generic[Item, Result]):
    """Items that succeeded together, and what came of it."""

    items: tuple[Item, ...]
    result: Result


@dataclass(frozen=True, kw_only=True)
class Blamed(Generic[Item]):
    """Items that failed together, and why."""

    items: tuple[Item, ...]
    reason: str


@dataclass(frozen=True, kw_only=True)
class Isolated(Generic[Item, Result]):
    """Every item, in one of the parts or one of the failures."""

    parts: tuple[Part[Item, Result], ...]
    failures: tuple[Blamed[Item], ...]


def isolate(
    items: Sequence[Item],
    attempt: Callable[[tuple[Item, ...], float | None], Result | str],
    *,
    budget_s: float,
) -> Isolated[Item, Result]:
    """Attempt all items at once; where that fails, the halves of what failed, and so on.

    `attempt` gets items and the seconds it may take (None: its own limit), and returns a result, or
    a text that says why it failed; so a Result must not be a text. Where it fails even for no items
    at all, nothing is gained by halving and all are blamed together. `budget_s` bounds the halving:
    what was not tried by then is blamed with what is known of it.
    """
    everything = tuple(items)
    first = attempt(everything, None)
    if not isinstance(first, str):
        return Isolated(parts=(Part(items=everything, result=first),), failures=())
    if len(everything) <= 1 or isinstance(attempt((), None), str):
        return Isolated(parts=(), failures=(Blamed(items=everything, reason=first),))
    search = _Search(attempt, budget_s, len(everything))
    search.run(everything, first)
    return Isolated(parts=search.merged(), failures=tuple(search.failures))


class _Search(Generic[Item, Result]):
    """One halving search, within its time."""

    def __init__(
        self,
        attempt: Callable[[tuple[Item, ...], float | None], Result | str],
        budget_s: float,
        count: int,
    ) -> None:
        self.parts: list[Part[Item, Result]] = []
        self.failures: list[Blamed[Item]] = []
        self._attempt = attempt
        self._end = time.monotonic() + budget_s
        # One item that hangs is met once on each level of the halving.
        self._attempt_s = max(_LEAST_ATTEMPT_S, budget_s / (count.bit_length() + 2))

    def run(self, everything: tuple[Item, ...], reason: str) -> None:
        """Halve what is known to fail with `reason` until every item has its place, in order."""
        untried = self._halves(everything, reason)
        while untried:
            items, reason = untried.pop()
            if time.monotonic() >= self._end:
                why = f"not tried alone, for want of time; with others: {reason}"
                self.failures.append(Blamed(items=items, reason=why))
                continue
            result = self._attempt(items, self._attempt_s)
            if not isinstance(result, str):
                self.parts.append(Part(items=items, result=result))
            elif len(items) == 1:
                self.failures.append(Blamed(items=items, reason=result))
            else:
                untried += self._halves(items, result)

    def merged(self) -> tuple[Part[Item, Result], ...]:
        """The parts as one where they also succeed together, else as they are."""
        if len(self.parts) > 1:
            items = tuple(item for part in self.parts for item in part.items)
            together = self._attempt(items, None)
            if not isinstance(together, str):
                return (Part(items=items, result=together),)
        return tuple(self.parts)

    @staticmethod
    def _halves(items: tuple[Item, ...], reason: str) -> list[tuple[tuple[Item, ...], str]]:
        """Both halves of what failed with `reason`, the first half last: it is popped first."""
        middle = len(items) // 2
        return [(items[middle:], reason), (items[:middle], reason)]
