"""What a command prints when it is done."""

import json
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memstrat.api import Outcome


def print_outcome(outcome: "Outcome", *, quiet: bool, as_json: bool) -> None:
    """The answer and the crossover tables, then where the report and the results are."""
    if as_json:
        print(json.dumps(outcome_document(outcome), indent=2))
        return
    if quiet:
        return
    from memstrat.cli.console import OutputConsole
    from memstrat.reports.terminal import print_report

    console = OutputConsole(file=sys.stdout)
    print_report(outcome.results, console)
    console.print()
    for name, path in (
        ("report", outcome.html),
        ("tables", outcome.csv),
        ("results", outcome.directory),
    ):
        # A path is never wrapped: it is there to be copied.
        console.print(f"{name + ':':<9}{path}", soft_wrap=True, highlight=False, markup=False)


def outcome_document(outcome: "Outcome") -> dict[str, object]:
    """The outcome for machines; `version` changes when a reader of the old one would misread it."""
    from memstrat.reports.answer import answer
    from memstrat.reports.crossovers import crossovers
    from memstrat.reports.winners import winners

    results = outcome.results
    return {
        "version": 1,
        "study": results.study,
        "answer": answer(results),
        "winners": json.loads(winners(results).to_json(orient="records")),
        "crossovers": json.loads(crossovers(results).to_json(orient="records")),
        "failures": results.table("failures").to_dict(orient="records"),
        "report": str(outcome.html),
        "csv": str(outcome.csv),
        "results": str(outcome.directory),
    }


def drop_output() -> None:
    """Send what is left of the output nowhere: Python would fail on it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
