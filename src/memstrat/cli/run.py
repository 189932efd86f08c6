"""`memstrat run`: a study from its file to a report."""

from pathlib import Path
from typing import Annotated

import typer


def run(
    study: Annotated[
        Path, typer.Argument(help="The study file (TOML); `memstrat schema` describes it.")
    ],
    results: Annotated[
        Path | None,
        typer.Option(
            "--results", help="Folder of the results.", show_default="results/NAME-OF-STUDY"
        ),
    ] = None,
    toolchain: Annotated[
        list[str] | None,
        typer.Option(
            "--toolchain",
            metavar="NAME=COMMAND",
            help="What a toolchain's name in the study means: 'gcc-16=chroot /srv/sid gcc-16'.",
        ),
    ] = None,
    configuration: Annotated[
        Path | None,
        typer.Option(
            "--config", help="Your configuration file.", show_default="~/.config/memstrat"
        ),
    ] = None,
    cpu: Annotated[int | None, typer.Option("--cpu", help="The CPU that measures.", min=0)] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", help="Compilers at a time.", show_default="CPUs", min=1),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Whether to run the codes on this CPU.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run a study: build, inspect, verify, predict, measure, report.

    What an earlier run finished is not done again. Ends with 0 when the study was carried out, with
    4 when nothing could be compiled, verified or measured.
    """
    from memstrat.api import Options, run_study
    from memstrat.cli.output import print_outcome
    from memstrat.cli.progress import listener

    options = Options(
        results=results,
        toolchains=tuple(toolchain or ()),
        configuration=configuration,
        cpu=cpu,
        jobs=jobs,
        measure=measure,
    )
    with listener(quiet=quiet or as_json) as hears:
        outcome = run_study(study, options, hears)
    print_outcome(outcome, quiet=quiet, as_json=as_json)
