"""Tidy CSV files for spreadsheets and scripts: one row per observation, plain column names."""

from pathlib import Path

import pandas as pd

from memstrat.reports.crossovers import crossovers, pair_ranges
from memstrat.reports.frames import CELL, PAGE, Results
from memstrat.reports.winners import winners

LOWERING_COLUMNS = [
    *PAGE,
    *("size", "spelling", "label", "toolchain", "version", "optimisation", "isa", "march", "mtune"),
    *("strategy", "asked", "form", "widest_store", "contender", "code_bytes", "instructions"),
    *("executed", "callee", "code"),
]
ESTIMATE_COLUMNS = [
    *(*CELL, "scenario", "contender", "label", "code", "code_bytes"),
    *("cycles", "low", "high", "confidence", "processes", "control", "warnings"),
]


def csv_frames(results: Results) -> dict[str, pd.DataFrame]:
    """The frames behind the files, by file name without its ending."""
    won = winners(results)
    return {
        "crossovers": crossovers(results).round(4),
        "pairs": pair_ranges(results).round(4),
        "winners": won.assign(also=won["also"].map("; ".join)).round(4),
        "estimates": _estimates(results),
        "lowerings": _lowerings(results),
    }


def _lowerings(results: Results) -> pd.DataFrame:
    frame = results.emitted.reindex(columns=LOWERING_COLUMNS)
    return frame.assign(executed=pd.to_numeric(frame["executed"]).astype("Int64"))


def _estimates(results: Results) -> pd.DataFrame:
    """Estimates, each with the contender and the first variant that its code stands for."""
    codes = results.emitted.drop_duplicates([*CELL, "code"])
    named = codes[[*CELL, "code", "contender", "label", "code_bytes"]]
    joined = results.estimates.merge(named, on=[*CELL, "code"], how="left")
    joined = joined.reindex(columns=ESTIMATE_COLUMNS)
    return joined.assign(warnings=["; ".join(texts) for texts in joined["warnings"]]).round(4)


def write_csv(results: Results, directory: Path) -> list[Path]:
    """Write one CSV file per frame, each whole, into `directory`, which is made; their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, frame in csv_frames(results).items():
        path = directory / f"{name}.csv"
        partial = path.with_name(f"{path.name}.partial")
        frame.to_csv(partial, index=False, lineterminator="\n")
        partial.replace(path)
        paths.append(path)
    return paths
