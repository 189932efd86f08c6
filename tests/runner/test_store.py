"""The results folder: whole parts only, foreign and damaged files refused by name."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memstrat.errors import ResultsError
from memstrat.runner.store import Store
from memstrat.runner.tables import CODES, FAILURES, SCHEMA_VERSION, TABLES


def failure(work: str) -> dict[str, Any]:
    return {"work": work, "stage": "build", "subject": "gcc -O2", "reason": "crashed"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "results")


def test_rows_come_back_as_they_were_written(store: Store) -> None:
    code = {
        "work": "a",
        "code": "a",
        "isa": "gpr",
        "text": b"\xc3",
        "relocations": "[]",
        "assembly": "ret",
    }
    store.append(CODES, [code])
    assert store.read(CODES).to_pylist() == [code]


def test_parts_accumulate_and_their_keys_are_known(store: Store) -> None:
    store.append(FAILURES, [failure("a"), failure("b")])
    store.append(FAILURES, [failure("c")])
    assert store.done(FAILURES) == {("a",), ("b",), ("c",)}
    assert store.done(FAILURES, ("work", "stage")) >= {("a", "build")}


def test_the_same_rows_written_twice_are_one_part(store: Store) -> None:
    store.append(FAILURES, [failure("a")])
    store.append(FAILURES, [failure("a")])
    assert store.read(FAILURES).num_rows == 1


def test_no_rows_make_no_part(store: Store) -> None:
    store.append(FAILURES, [])
    assert not (store.directory / "tables").exists()


def test_an_unfinished_part_is_not_read_and_is_removed_by_the_next_writer(store: Store) -> None:
    store.append(FAILURES, [failure("a")])
    unfinished = store.directory / "tables" / "failures" / "x.parquet.123.unfinished"
    unfinished.write_bytes(b"PAR1 and then the power went")
    assert store.read(FAILURES).num_rows == 1
    with store.locked():
        assert not unfinished.exists()


def test_a_truncated_part_is_refused_by_name(store: Store) -> None:
    store.append(FAILURES, [failure("a")])
    (part,) = (store.directory / "tables" / "failures").iterdir()
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(ResultsError, match=part.name):
        store.read(FAILURES)


def test_a_part_with_other_columns_is_refused(store: Store) -> None:
    folder = store.directory / "tables" / "failures"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"work": ["a"]}), folder / "foreign.parquet")
    with pytest.raises(ResultsError, match="columns are not those"):
        store.read(FAILURES)


def test_a_missing_value_where_none_may_be_is_not_written(store: Store) -> None:
    with pytest.raises(ValueError, match="non-nullable"):
        store.append(FAILURES, [{"work": "a", "stage": "build", "subject": None, "reason": "x"}])
    assert store.read(FAILURES).num_rows == 0


def test_a_folder_of_somebody_else_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("\\documentclass{book}")
    with pytest.raises(ResultsError, match="not a memstrat results folder"):
        Store.create(tmp_path)


def test_a_folder_without_results_says_what_makes_them(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="memstrat run STUDY"):
        Store.open(tmp_path)


def test_results_of_another_schema_are_refused(store: Store) -> None:
    (store.directory / "memstrat.json").write_text(json.dumps({"schema": SCHEMA_VERSION + 1}))
    with pytest.raises(ResultsError, match=f"reads schema {SCHEMA_VERSION}"):
        Store.open(store.directory)


@pytest.mark.parametrize("content", ["", "[]", "{}", "\x00\x01"])
def test_a_damaged_mark_is_refused(store: Store, content: str) -> None:
    (store.directory / "memstrat.json").write_text(content)
    with pytest.raises(ResultsError, match="cannot be read"):
        Store.open(store.directory)


def test_a_second_writer_is_turned_away(store: Store) -> None:
    with store.locked(), pytest.raises(ResultsError, match="another memstrat run"), store.locked():
        pass


def test_every_table_has_a_frame_even_when_empty(store: Store) -> None:
    frames = store.frames()
    assert set(frames) == {table.name for table in TABLES}
    assert all(list(frames[t.name].columns) == [c.name for c in t.columns] for t in TABLES)


def test_every_column_is_documented() -> None:
    assert all(column.note for table in TABLES for column in table.columns)
    assert all(table.row for table in TABLES)


def test_a_run_killed_while_it_made_the_folder_can_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "memstrat.json.123.unfinished").write_text('{"sch')
    with Store.create(tmp_path).locked():
        pass
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize("place", ["/proc/memstrat", "/dev/null/memstrat"])
def test_a_folder_that_cannot_be_made_is_refused_by_name(place: str) -> None:
    with pytest.raises(ResultsError, match=f"{place}: cannot be written"):
        Store.create(Path(place))


def test_a_part_that_cannot_be_written_is_refused_and_leaves_nothing(store: Store) -> None:
    (store.directory / "tables").write_text("in the way")
    with pytest.raises(ResultsError, match=r"tables/failures/.*cannot be written"):
        store.append(FAILURES, [failure("a")])
    assert not list(store.directory.rglob("*.unfinished"))
