"""What the command line and notebooks call: a study in, results out."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memstrat.errors import ResultsError
from memstrat.runner.listener import Listener, SilentListener

if TYPE_CHECKING:
    from memstrat.generators.study import Study
    from memstrat.reports.frames import Results


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a study is carried out; what is None is decided by memstrat.

    `results` is a folder, `toolchains` are NAME=COMMAND texts, `configuration` the user's file,
    `cpu` the processor that measures, `jobs` how many compilers run at a time.
    """

    results: Path | None = None
    toolchains: tuple[str, ...] = ()
    configuration: Path | None = None
    cpu: int | None = None
    jobs: int | None = None
    measure: bool = True


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Results, and where they were written."""

    results: "Results"
    directory: Path
    html: Path
    csv: Path


def run(
    study: "Study | str | os.PathLike[str]",
    *,
    results: str | os.PathLike[str] | None = None,
    toolchains: Mapping[str, Sequence[str]] | None = None,
    cpu: int | None = None,
    jobs: int | None = None,
    measure: bool = True,
) -> "Results":
    """Carry out a study (a `Study` or the path of one) and return its results.

    `toolchains` gives commands for names that the study uses. What an earlier run into the same
    folder finished is not done again. Raises MemstratError.
    """
    options = Options(
        results=None if results is None else Path(results),
        toolchains=tuple(
            f"{name}={shlex.join(words)}" for name, words in (toolchains or {}).items()
        ),
        cpu=cpu,
        jobs=jobs,
        measure=measure,
    )
    directory = run_stages(study, options, SilentListener())
    return load(directory)


def load(directory: str | os.PathLike[str]) -> "Results":
    """The results in a folder that a run made. Raises ResultsError."""
    from memstrat.reports.load import load_results

    return load_results(Path(directory))


def run_study(study: Path, options: Options, listener: Listener) -> Outcome:
    """Carry out the study in a file and write its report. Raises MemstratError."""
    return report_results(run_stages(study, options, listener))


def run_stages(
    study: "Study | str | os.PathLike[str]", options: Options, listener: Listener
) -> Path:
    """Build, inspect, verify, predict and measure; returns the results folder."""
    from memstrat.generators.study import Study, load_study
    from memstrat.runner.pipeline import Request, run_pipeline
    from memstrat.runner.toolchains.configuration import load_configuration, parse_toolchain_options

    known = study if isinstance(study, Study) else load_study(Path(study))
    commands = {
        **load_configuration(options.configuration),
        **parse_toolchain_options(options.toolchains),
    }
    directory = options.results or Path("results") / known.name
    run_pipeline(
        Request(
            study=known,
            directory=directory,
            commands=commands,
            cpu=options.cpu,
            jobs=options.jobs or os.cpu_count() or 1,
            measure=options.measure,
            command=_command(study),
        ),
        listener,
    )
    return directory


def _command(study: "Study | str | os.PathLike[str]") -> str:
    """What a reader types to do the same."""
    path = study if isinstance(study, str | os.PathLike) else f"{study.name}.toml"
    return shlex.join(["memstrat", "run", os.fspath(path)])


def report_results(
    directory: Path, *, html: Path | None = None, csv: Path | None = None
) -> Outcome:
    """Write the page and the CSVs of stored results. Raises ResultsError."""
    from memstrat.reports.csv import write_csv
    from memstrat.reports.html import write_html

    results = load(directory)
    outcome = Outcome(
        results=results,
        directory=directory,
        html=html or directory / "report.html",
        csv=csv or directory / "csv",
    )
    try:
        write_html(results, outcome.html)
        write_csv(results, outcome.csv)
    except OSError as error:
        raise ResultsError(
            f"{error.filename}: the report cannot be written: {error.strerror}"
        ) from None
    return outcome
