"""The command line: what commands there are. Each stands in its own file."""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from memstrat.cli import inspect, report, run, schema
from memstrat.cli.output import drop_output
from memstrat.errors import ExitCode, InterruptedRunError


class _Commands(TyperGroup):
    """Ends as memstrat does, where typer would end otherwise."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command. Raises InterruptedRunError; a reader that has left is no error."""
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except KeyboardInterrupt:
            raise InterruptedRunError("interrupted; what was finished is kept") from None
        except BrokenPipeError:
            drop_output()
            sys.exit(ExitCode.SUCCESS)
        return result


app = typer.Typer(
    cls=_Commands,
    help="Which code should a compiler emit for a memset or memcpy of fixed size on this CPU?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer's callback signature
    if wanted:
        from memstrat import __version__

        typer.echo(f"memstrat {__version__}")
        raise typer.Exit


@app.callback()
def common(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


app.command("run")(run.run)
app.command("report")(report.report)
app.command("inspect")(inspect.inspect)
app.command("schema")(schema.schema)
