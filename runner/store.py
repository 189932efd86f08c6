"""The results folder: append-only Parquet parts, written whole or not at all.

    RESULTS/memstrat.json           schema version; what marks the folder as memstrat's
    RESULTS/run.json                what the latest run asked for: the rows that are current
    RESULTS/tables/<table>/<part>   rows of finished work items, never changed

A part is written under a temporary name and renamed, so a killed run leaves no half part; its name
is the hash of what it holds, so the same rows written twice are one file.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from memstrat.errors import ResultsError
from memstrat.model import digest_of
from memstrat.runner.tables import SCHEMA_VERSION, TABLES, Table

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]
_MARK = "memstrat.json"
_RUN = "run.json"
_PART = ".parquet"
_UNFINISHED = ".unfinished"


class Store:
    """A results folder that is known to be memstrat's, and of this schema."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def create(cls, directory: Path) -> "Store":
        """Open a results folder for writing, and make it where there is none.

        Raises `ResultsError` for a folder that holds something else.
        """
        mark = directory / _MARK
        with _writing(directory):
            if not mark.exists():
                if directory.exists() and _holds_something(directory):
                    raise ResultsError(
                        f"{directory}: is not a memstrat results folder and is not empty; "
                        "name an empty or a new folder with --results"
                    )
                directory.mkdir(parents=True, exist_ok=True)
                _write_whole(mark, json.dumps({"schema": SCHEMA_VERSION}).encode() + b"\n")
        return cls.open(directory)

    @classmethod
    def open(cls, directory: Path) -> "Store":
        """Open an existing results folder. Raises `ResultsError` where it is none, or too old."""
        mark = directory / _MARK
        try:
            schema = json.loads(mark.read_text())["schema"]
        except (FileNotFoundError, NotADirectoryError):
            raise ResultsError(
                f"{directory}: no memstrat results here ({_MARK} is missing); "
                "`memstrat run STUDY` makes them"
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultsError(
                f"{mark}: cannot be read ({error}); use a new results folder"
            ) from None
        if schema != SCHEMA_VERSION:
            raise ResultsError(
                f"{mark}: schema {schema}, but this memstrat reads schema {SCHEMA_VERSION}; "
                "run the study again into a new folder"
            )
        return cls(directory)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one writing process; a second one gets a `ResultsError`."""
        lock = self.directory / ".lock"
        with _writing(lock):
            handle = lock.open("w")
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ResultsError(
                    f"{self.directory}: another memstrat run is writing here; wait for it, "
                    "or name another folder with --results"
                ) from None
            for pattern in (f"*{_UNFINISHED}", f"tables/*/*{_UNFINISHED}"):
                for leftover in self.directory.glob(pattern):
                    leftover.unlink(missing_ok=True)
            yield

    def append(self, table: Table, rows: Sequence[Row]) -> None:
        """Write one part that holds these rows; nothing for no rows."""
        if not rows:
            return
        columns = {c.name: [row.get(c.name) for row in rows] for c in table.columns}
        arrow = pa.table(columns, schema=table.schema)
        name = digest_of([_plain(row) for row in rows])
        folder = self.directory / "tables" / table.name
        sink = pa.BufferOutputStream()
        pq.write_table(arrow, sink, compression="zstd")
        _write_whole(folder / f"{name}{_PART}", sink.getvalue().to_pybytes())

    def read(self, table: Table, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows of a table, as Arrow. Raises `ResultsError` for a part that is none of ours."""
        parts = [
            _read_part(path, table, columns)
            for path in sorted((self.directory / "tables" / table.name).glob(f"*{_PART}"))
        ]
        if not parts:
            empty = table.schema.empty_table()
            return empty if columns is None else empty.select(list(columns))
        return pa.concat_tables(parts)

    def done(self, table: Table, key: Sequence[str] = ("work",)) -> set[tuple[Any, ...]]:
        """The keys of all rows that are already there."""
        stored = self.read(table, key)
        return set(zip(*(stored.column(name).to_pylist() for name in key), strict=True))

    def write_run(self, run: Mapping[str, Any]) -> None:
        """Record what this run asked for, so that a report shows those rows and no older ones."""
        _write_whole(self.directory / _RUN, json.dumps(run, indent=1).encode() + b"\n")

    def read_run(self) -> dict[str, Any]:
        """What the latest run asked for. Raises `ResultsError` where no run got that far."""
        path = self.directory / _RUN
        try:
            run = json.loads(path.read_text())
        except FileNotFoundError:
            raise ResultsError(
                f"{self.directory}: no run has been recorded here; `memstrat run STUDY` does"
            ) from None
        except (OSError, ValueError) as error:
            raise ResultsError(f"{path}: cannot be read ({error})") from None
        if not isinstance(run, dict):
            raise ResultsError(f"{path}: holds {type(run).__name__}, not the record of a run")
        return run

    def frames(self) -> "dict[str, pd.DataFrame]":
        """Every table as a pandas frame, keyed by the table's name."""
        return {table.name: self.read(table).to_pandas() for table in TABLES}


def _read_part(path: Path, table: Table, columns: Sequence[str] | None) -> pa.Table:
    try:
        part = pq.ParquetFile(path)
        found = part.schema_arrow
        if found.remove_metadata() != table.schema.remove_metadata():
            raise ResultsError(f"{path}: its columns are not those of the table {table.name}")
        return part.read(
            columns=None if columns is None else list(columns)
        ).replace_schema_metadata()
    except (pa.ArrowException, OSError) as error:
        raise ResultsError(
            f"{path}: is truncated or no Parquet file ({error}); delete it, and run the study again"
        ) from None


def _holds_something(directory: Path) -> bool:
    """Whether this is a file, or a folder with more in it than a killed run leaves behind."""
    if not directory.is_dir():
        return True
    return any(entry.suffix != _UNFINISHED for entry in directory.iterdir())


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Name `path` where the system refuses to write it."""
    try:
        yield
    except OSError as error:
        raise ResultsError(
            f"{path}: cannot be written: {error.strerror}; "
            "make room or name another folder with --results"
        ) from None


def _write_whole(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f"{path.name}.{os.getpid()}{_UNFINISHED}")
    with _writing(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(content)
            unfinished.replace(path)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise


def _plain(row: Row) -> dict[str, Any]:
    return {key: value.hex() if isinstance(value, bytes) else value for key, value in row.items()}


def rows_where(rows: Iterable[Row], key: str, known: set[tuple[Any, ...]]) -> list[Row]:
    """The rows whose `key` is not known yet, the first of each; `known` learns them."""
    fresh = []
    for row in rows:
        if (row[key],) not in known:
            known.add((row[key],))
            fresh.append(row)
    return fresh
