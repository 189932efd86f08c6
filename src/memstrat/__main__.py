"""The entry point: `memstrat` and `python -m memstrat`."""

import os
import signal
import sys

from memstrat.errors import ExitCode, MemstratError


def main() -> None:
    """Run the command line, and turn what went wrong into one message and an exit code."""
    from memstrat.cli.main import app

    signal.signal(signal.SIGTERM, _terminate)
    try:
        app(prog_name="memstrat")
    except MemstratError as error:
        print(f"memstrat: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        print(f"memstrat: {error}", file=sys.stderr)
        drop_output()
        sys.exit(ExitCode.NOTHING_DONE)


def drop_output() -> None:
    """Send what is left of the output nowhere: Python would fail on it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _terminate(number: int, _frame: object) -> None:
    """Leave as after an error, so that child processes and temporary files go, too."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
