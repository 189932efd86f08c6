"""The entry point: `memstrat` and `python -m memstrat`."""

import sys

from memstrat.errors import ExitCode, MemstratError


def main() -> None:
    """Run the command line, and turn what went wrong into one message and an exit code."""
    from memstrat.cli.main import app

    try:
        app(prog_name="memstrat")
    except MemstratError as error:
        print(f"memstrat: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("memstrat: interrupted; what was finished is kept", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ExitCode.SUCCESS)


if __name__ == "__main__":
    main()
