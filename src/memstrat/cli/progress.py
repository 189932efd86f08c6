"""Progress on the terminal: one line per stage, drawn by rich."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from memstrat.cli.console import ProgressConsole
from memstrat.model import Stage
from memstrat.runner.listener import Listener, SilentListener

_VERBS = {
    Stage.BUILD: "build and inspect",
    Stage.VERIFY: "verify",
    Stage.PREDICT: "predict",
    Stage.MEASURE: "measure",
}


class ProgressListener:
    """Draws the stages of a run on standard error; a line a stage where that is no terminal."""

    def __init__(self) -> None:
        self._console = ProgressConsole(file=sys.stderr)
        self._progress = Progress(
            TextColumn("{task.description:<18}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[summary]}", markup=False),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[Stage, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def begin(self, stage: Stage, total: int, stored: int) -> None:
        """Draw the stage's line, as far along as earlier runs got."""
        if stage in self._tasks:
            self._progress.update(self._tasks[stage], total=total, completed=stored)
            return
        self._tasks[stage] = self._progress.add_task(
            _VERBS[stage], total=total, completed=stored, summary=""
        )

    def advance(self, stage: Stage, items: int) -> None:
        """Move the stage's bar."""
        self._progress.advance(self._tasks[stage], items)

    def end(self, stage: Stage, summary: str) -> None:
        """Fill the bar and put the summary beside it."""
        task = self._tasks[stage]
        total = self._progress.tasks[self._progress.task_ids.index(task)].total
        self._progress.update(task, completed=total, summary=summary)
        if not self._console.is_terminal:
            self._console.print(f"{_VERBS[stage]}: {summary}", highlight=False, markup=False)

    def warn(self, message: str) -> None:
        """Print the message above the bars."""
        self._console.print(f"memstrat: {message}", highlight=False, markup=False)


@contextmanager
def listener(*, quiet: bool) -> Iterator[Listener]:
    """Whoever hears of the progress: the terminal, or nobody."""
    if quiet:
        yield SilentListener()
        return
    with ProgressListener() as drawing:
        yield drawing
