"""The compact copy of a results folder says what the folder says."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from memstrat import crossovers, load
from memstrat.errors import ResultsError, UsageError
from memstrat.reports.answer import answer
from memstrat.reports.frames import Results
from memstrat.reports.winners import winners
from memstrat.runner.store import Store
from memstrat.runner.tables import TABLES

ROOT = Path(__file__).parents[2]
STORED = ROOT / "notebooks" / "stored" / "rep-vs-unrolled"
MOST_BYTES = 1_500_000


@pytest.fixture(scope="module")
def tool(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("compact_results")


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stored results as an append-only folder has them: with rows of an earlier run."""
    folder = tmp_path_factory.mktemp("grown") / "results"
    shutil.copytree(STORED, folder)
    store = Store.open(folder)
    for table in TABLES:
        rows = store.read(table).slice(0, 50).to_pylist()
        key = {"kernels": "kernel", "variants": "variant", "codes": "code"}.get(table.name, "work")
        store.append(table, [{**row, "work": "earlier", key: "earlier"} for row in rows])
    run = store.read_run()
    store.write_run({**run, "command": "memstrat run /somewhere/of/mine/study.toml --jobs 2"})
    (folder / "report.html").write_text("<p>made from it</p>")
    return folder


@pytest.fixture(scope="module")
def copied(tool: ModuleType, grown: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target: Path = tmp_path_factory.mktemp("copied") / "copy"
    tool.compact(grown, target)
    return target


def told(results: Results) -> list[object]:
    return [crossovers(results).to_csv(), winners(results).to_csv(), answer(results)]


def test_the_copy_gives_the_same_tables(grown: Path, copied: Path) -> None:
    before, after = load(grown), load(copied)
    for table in TABLES:
        if table.name != "machine":  # of which the loader shows one
            pd.testing.assert_frame_equal(before.tables[table.name], after.tables[table.name])
    assert before.machine["machine"] == after.machine["machine"]


def test_the_copy_gives_the_same_crossovers_winners_and_answer(grown: Path, copied: Path) -> None:
    assert told(load(copied)) == told(load(grown))
    assert len(crossovers(load(copied)))


def test_the_copy_has_one_part_for_each_table_and_no_report(copied: Path) -> None:
    files = sorted(path.relative_to(copied).as_posix() for path in copied.rglob("*.*"))
    parts = [name for name in files if name.endswith(".parquet")]
    folders = [name.split("/")[1] for name in parts]
    assert folders == sorted({table.name for table in TABLES} - {"failures"})
    assert set(files) - set(parts) == {"memstrat.json", "run.json"}


def test_rows_of_earlier_runs_are_left_behind(grown: Path, copied: Path) -> None:
    for table in TABLES:
        works = set(Store.open(copied).read(table)["work"].to_pylist())
        assert "earlier" not in works or table.name == "machine"
    assert "earlier" in Store.open(grown).read(TABLES[0])["work"].to_pylist()


def test_the_recorded_command_names_no_folder(copied: Path) -> None:
    assert Store.open(copied).read_run()["command"] == "memstrat run study.toml --jobs 2"


def test_a_copy_is_replaced(tool: ModuleType, copied: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    tool.compact(STORED, target)
    tool.compact(copied, target)
    assert len(list(target.glob("tables/samples/*.parquet"))) == 1


def test_the_source_is_never_the_target(tool: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(STORED, folder)
    with pytest.raises(UsageError, match="is the results folder itself"):
        tool.compact(folder, folder)
    assert len(load(folder).samples)


def test_a_folder_of_something_else_is_left_alone(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ResultsError, match="is not a memstrat results folder"):
        tool.compact(STORED, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_the_stored_results_are_as_small_as_the_tool_makes_them(
    tool: ModuleType, tmp_path: Path
) -> None:
    tool.compact(STORED, tmp_path / "copy")
    assert tool.size_of(tmp_path / "copy") == tool.size_of(STORED)
    assert tool.size_of(STORED) < MOST_BYTES
