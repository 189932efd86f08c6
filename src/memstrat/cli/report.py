"""`memstrat report`: the report of stored results, again or elsewhere."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    results: Annotated[Path, typer.Argument(help="A results folder that `memstrat run` made.")],
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Where the page goes.", show_default="RESULTS/report.html"),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Folder of the CSVs.", show_default="RESULTS/csv")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Write the HTML page and the CSVs of stored results, and print the crossovers."""
    from memstrat.api import report_results
    from memstrat.cli.output import print_outcome

    print_outcome(report_results(results, html=html, csv=csv), quiet=quiet, as_json=as_json)
