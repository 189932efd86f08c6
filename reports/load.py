"""Read a results folder: the rows that its latest run asked for, and no older ones."""

from pathlib import Path

import pandas as pd

from memstrat.errors import ResultsError
from memstrat.reports.frames import Results
from memstrat.runner.store import Store

_CURRENT = {
    "variants": "variants",
    "lowerings": "units",
    "verifications": "verifications",
    "predictions": "predictions",
    "samples": "cells",
    "estimates": "estimates",
}
"""Tables whose rows belong to works, and the list of a run's record that names the current ones."""


def load_results(directory: Path) -> Results:
    """The results of the latest run into `directory`. Raises ResultsError."""
    store = Store.open(directory)
    run = store.read_run()
    frames = store.frames()
    try:
        for table, works in _CURRENT.items():
            frames[table] = frames[table][frames[table]["work"].isin(run["works"][works])]
        frames["failures"] = pd.DataFrame(run["failures"], columns=list(frames["failures"].columns))
        return Results(
            tables={name: _only_used(name, frames) for name in frames},
            study=run["study"],
            title=run["title"],
            command=run["command"],
        )
    except (KeyError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ResultsError(
            f"{directory}/run.json: is not the record of a run ({reason}); run the study again"
        ) from None


def _only_used(name: str, frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The rows of a table of names that current lowerings refer to; other tables whole."""
    frame, lowerings = frames[name], frames["lowerings"]
    key = {"kernels": "kernel", "variants": "variant", "codes": "code"}.get(name)
    if key is None:
        return frame.reset_index(drop=True)
    return frame[frame[key].isin(lowerings[key])].reset_index(drop=True)
