"""The command line: what commands there are. Each stands in its own file."""

from typing import Annotated

import typer

from memstrat.cli import inspect, report, run, schema

app = typer.Typer(
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
