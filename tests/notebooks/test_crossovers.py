"""The notebook runs, shows results, and its stored outputs are those that it has now."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import memstrat

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "crossovers.ipynb"
MOST_BYTES = 400_000


@pytest.fixture(scope="module")
def tool(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("execute_notebook")


@pytest.fixture(scope="module")
def executed(tool: ModuleType) -> Any:
    return tool.executed(NOTEBOOK)


def outputs(notebook: Any) -> dict[str, list[Any]]:
    """The outputs of each code cell, by the cell's tag."""
    return {
        cell.metadata["tags"][0]: cell.outputs
        for cell in notebook.cells
        if cell.cell_type == "code"
    }


def texts(notebook: Any) -> dict[str, str]:
    """What each code cell says, pictures left out: they depend on the fonts of a machine."""
    return {
        tag: "".join(output.get("text") or output["data"].get("text/plain", "") for output in found)
        for tag, found in outputs(notebook).items()
    }


def test_every_cell_says_something(executed: Any) -> None:
    said = texts(executed)
    assert len(said) > 10
    assert all(said.values()), [tag for tag, text in said.items() if not text]


def test_the_crossovers_are_those_of_the_stored_results(executed: Any) -> None:
    found = memstrat.crossovers(memstrat.load(NOTEBOOK.parent / "stored" / "rep-vs-unrolled"))
    lines = texts(executed)["crossovers"].splitlines()
    assert len(found) == len(lines) - 1 > 10
    for line, size in zip(lines[1:], found["size"], strict=True):
        assert str(size) in line.split()


@pytest.mark.parametrize("tag", ["plot", "predicted"])
def test_charts_are_pictures(executed: Any, tag: str) -> None:
    (output,) = outputs(executed)[tag]
    assert len(output["data"]["image/png"]) > 10_000


def test_the_model_is_wrong_where_the_text_says_so(executed: Any) -> None:
    memset = texts(executed)["rates"].partition("memset straight")[2].splitlines()[:4]
    rates = {row.split()[0]: [float(word) for word in row.split()[1:3]] for row in memset}
    assert all(predicted == pytest.approx(1, abs=0.02) for predicted, _ in rates.values())
    assert {width: round(measured) for width, (_, measured) in rates.items()} == {
        "8": 2,
        "16": 2,
        "32": 2,
        "64": 1,
    }


def test_stored_outputs_are_current(tool: ModuleType, executed: Any) -> None:
    stored = tool.nbformat.read(NOTEBOOK, as_version=4)
    assert texts(stored) == texts(executed), "run tools/execute_notebook.py"


def test_the_notebook_is_small_enough_to_be_shown() -> None:
    assert NOTEBOOK.stat().st_size < MOST_BYTES
