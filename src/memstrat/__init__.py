"""memstrat: which code should a compiler emit for a fixed-size memset, memcpy or memmove?

    import memstrat

    study = memstrat.Study.load("studies/rep-vs-unrolled.toml")
    results = memstrat.run(study)                  # or memstrat.load("results/rep-vs-unrolled")
    memstrat.crossovers(results)                   # a pandas frame, one row per boundary

Everything heavy is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memstrat.api import load, run
    from memstrat.generators.study import Study
    from memstrat.reports.crossovers import crossovers

__all__ = ["Study", "__version__", "crossovers", "load", "run"]

_PLACES = {
    "Study": "memstrat.generators.study",
    "run": "memstrat.api",
    "load": "memstrat.api",
    "crossovers": "memstrat.reports.crossovers",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("memstrat")
    if name in _PLACES:
        from importlib import import_module

        return getattr(import_module(_PLACES[name]), name)
    message = f"module 'memstrat' has no attribute {name!r}"
    raise AttributeError(message)
