"""Where commands print to, and what it means that nobody reads it any more.

Rich would end the process with 1, which is the code of another thing.
"""

import os

from rich.console import Console


class OutputConsole(Console):
    """Prints what a command is for: without a reader there is nothing left to do."""

    def on_broken_pipe(self) -> None:
        """Raise the BrokenPipeError that rich is handling."""
        raise  # noqa: PLE0704


class ProgressConsole(Console):
    """Prints to standard error how far the work is, which goes on without a reader."""

    def on_broken_pipe(self) -> None:
        """Print no more."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
