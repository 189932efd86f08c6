"""How far apart the crossovers of two fresh runs of a study are, in steps of its grid of sizes.

.venv/bin/python bench/fresh_runs.py [STUDY]          runs it twice into new folders
.venv/bin/python bench/fresh_runs.py --results A B    compares two results folders
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

import memstrat

PAIR = ["op", "fill", "alignment", "first", "second"]


def boundaries(directory: Path) -> pd.DataFrame:
    """Crossovers of a run, numbered within their pair of forms."""
    found = memstrat.crossovers(memstrat.load(directory))
    forms = found[["from_form", "to_form"]]
    found = found.assign(first=forms.min(axis=1), second=forms.max(axis=1))
    found["number"] = found.groupby(PAIR).cumcount()
    return found


def grid_of(directory: Path) -> list[int]:
    """The sizes of the study, ascending."""
    return sorted(set(memstrat.load(directory).estimates["size"]))


def compare(first: Path, second: Path) -> pd.DataFrame:
    """One row per crossover that either run has; `steps` is missing where only one has it."""
    grid = grid_of(first)
    places = {size: place for place, size in enumerate(grid)}
    columns = [*PAIR, "number", "to_form", "size", "low", "high"]
    keys = [*PAIR, "number", "to_form"]
    both = boundaries(first)[columns].merge(
        boundaries(second)[columns], on=keys, how="outer", suffixes=("_1", "_2")
    )
    both["steps"] = (both["size_1"].map(places) - both["size_2"].map(places)).abs()
    overlap = (both["low_1"] <= both["high_2"]) & (both["low_2"] <= both["high_1"])
    return both.assign(intervals_meet=overlap)


def run(study: str, directory: Path) -> None:
    """Carry a study out into a new folder."""
    command = [sys.executable, "-m", "memstrat", "run", study, "--quiet", "--results"]
    subprocess.run([*command, str(directory)], check=True)


def main() -> None:
    """Compare two runs and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("study", nargs="?", default="studies/rep-vs-unrolled.toml")
    parser.add_argument("--results", nargs=2, type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first, second = arguments.results or (Path(folder, "1"), Path(folder, "2"))
        if not arguments.results:
            run(arguments.study, first)
            run(arguments.study, second)
        both = compare(first, second)
    apart = both[~(both["steps"] <= 1)]
    pd.set_option("display.width", 200, "display.max_columns", None, "display.max_rows", None)
    told = both["steps"].map(lambda steps: f"{steps:.0f}", na_action="ignore")
    print(told.fillna("in one run only").value_counts().rename("crossovers").to_string())
    if len(apart):
        print(apart.drop(columns=["alignment", "number"]).to_string(index=False))
    print(f"{len(both) - len(apart)} of {len(both)} crossovers at most one grid step apart")


if __name__ == "__main__":
    main()
