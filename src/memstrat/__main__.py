"""The entry point: `memstrat` and `python -m memstrat`."""

import signal
import sys

from memstrat.errors import ExitCode, MemstratError


def main() -> None:
    """Run the command line, and turn what went wrong into one message and an exit code."""
    from memstrat.cli.main import app
    from memstrat.cli.output import drop_output

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


def _terminate(number: int, _frame: object) -> None:
    """Leave as after an error, so that child processes and temporary files go, too."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
