"""memstrat: which code should a compiler emit for a fixed-size memset, memcpy or memmove?

    import memstrat

    study = memstrat.Study.load("studies/rep-vs-unrolled.toml")
    results = memstrat.run(study)                  # or memstrat.load("results/rep-vs-unrolled")

    memstrat.answer(results)                       # a few sentences
    memstrat.crossovers(results)                   # pandas: where the faster of two forms changes
    memstrat.winners(results)                      # pandas: which form wins from where to where
    memstrat.emitted(results)                      # pandas: which form each compiler emitted
    memstrat.default_costs(results)                # pandas: what each compiler's default costs
    memstrat.predicted_rows(results)               # pandas: llvm-mca's figures beside the measured
    memstrat.plot(results, "memset", "sse2")       # an altair chart: cycles over size

Columns are plain; sizes are bytes, times are core cycles per call. `results.estimates`,
`results.samples`, `results.emitted`, `results.machine` and `results.table(NAME)` hold what these
are made from; docs/tables.md describes every column. Everything heavy is imported when it is first
used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memstrat.api import load, run
    from memstrat.generators.study import Study
    from memstrat.reports.answer import answer
    from memstrat.reports.crossovers import crossovers
    from memstrat.reports.emitted import default_costs
    from memstrat.reports.frames import Results
    from memstrat.reports.interactive import emitted, plot, plot_predicted
    from memstrat.reports.predictions import predicted_rows, prediction_summary
    from memstrat.reports.winners import winners

__all__ = [
    "Results",
    "Study",
    "__version__",
    "answer",
    "crossovers",
    "default_costs",
    "emitted",
    "load",
    "plot",
    "plot_predicted",
    "predicted_rows",
    "prediction_summary",
    "run",
    "winners",
]

_PLACES = {
    "Results": "memstrat.reports.frames",
    "Study": "memstrat.generators.study",
    "answer": "memstrat.reports.answer",
    "crossovers": "memstrat.reports.crossovers",
    "default_costs": "memstrat.reports.emitted",
    "emitted": "memstrat.reports.interactive",
    "load": "memstrat.api",
    "plot": "memstrat.reports.interactive",
    "plot_predicted": "memstrat.reports.interactive",
    "predicted_rows": "memstrat.reports.predictions",
    "prediction_summary": "memstrat.reports.predictions",
    "run": "memstrat.api",
    "winners": "memstrat.reports.winners",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("memstrat")
    if name in _PLACES:
        from importlib import import_module

        return getattr(import_module(_PLACES[name]), name)
    message = f"module 'memstrat' has no attribute {name!r}"
    raise AttributeError(message)
