"""How stages tell of their progress: they call a listener, and print nothing themselves."""

from typing import Protocol

from memstrat.model import Stage


class Listener(Protocol):
    """Hears what a run does. A terminal draws bars from it; a test keeps a list."""

    def begin(self, stage: Stage, total: int, stored: int) -> None:
        """A stage starts: `total` work items, `stored` of which were finished by an earlier run."""

    def advance(self, stage: Stage, items: int) -> None:
        """So many more work items of the stage are finished."""

    def end(self, stage: Stage, summary: str) -> None:
        """The stage is over; `summary` is one line for people."""

    def warn(self, message: str) -> None:
        """Something that the user must hear of, and that stops nothing."""


class SilentListener:
    """Hears everything and says nothing."""

    def begin(self, stage: Stage, total: int, stored: int) -> None:
        """Ignore it."""

    def advance(self, stage: Stage, items: int) -> None:
        """Ignore it."""

    def end(self, stage: Stage, summary: str) -> None:
        """Ignore it."""

    def warn(self, message: str) -> None:
        """Ignore it."""
