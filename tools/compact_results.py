"""Make a small copy of a results folder, to be kept in a repository or sent to someone.

.venv/bin/python tools/compact_results.py RESULTS COPY

The copy holds the rows that the latest run asked for and no others, each table as one part,
compressed as far as Parquet allows. Nothing is rounded and no row is sampled, so that every report
says the same of both folders. Reports made from the folder, caches and the folders in the recorded
command are left behind.
"""

import argparse
import hashlib
import json
import shlex
import sys
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from memstrat import load
from memstrat.errors import MemstratError, UsageError
from memstrat.runner.store import Store
from memstrat.runner.tables import FAILURES, TABLES

COMPRESSION_LEVEL = 19
"""zstd's highest that needs no more memory to read."""


def compact(source: Path, target: Path) -> None:
    """Write the compact copy of the results in `source` into the new folder `target`.

    Raises ResultsError where `source` holds no results, and where `target` holds anything else
    than an earlier copy, which is replaced; UsageError where both are one folder.
    """
    if source.resolve() == target.resolve():
        raise UsageError(f"{target}: is the results folder itself; name a new folder for the copy")
    results, store = load(source), Store.open(source)
    Store.create(target)
    for table in TABLES:
        folder = target / "tables" / table.name
        for earlier in folder.glob("*.parquet"):
            earlier.unlink()
        if table is FAILURES:  # current ones stand in run.json
            continue
        current = pa.array(results.tables[table.name]["work"].unique(), type=pa.string())
        stored = store.read(table)
        rows = stored.filter(pc.is_in(stored["work"], value_set=current))
        if rows.num_rows:
            folder.mkdir(parents=True, exist_ok=True)
            _write_part(rows.cast(table.schema), folder)
    run = _without_folders(store.read_run())
    (target / "run.json").write_text(json.dumps(run, separators=(",", ":")) + "\n")


def _write_part(rows: pa.Table, folder: Path) -> None:
    """One part, named by the hash of its bytes."""
    real = [field.name for field in rows.schema if pa.types.is_floating(field.type)]
    dictionary = [name for name in rows.column_names if name not in real]
    repeated = [name for name in real if _repeats(rows[name])]
    sink = pa.BufferOutputStream()
    pq.write_table(
        rows.combine_chunks(),
        sink,
        compression="zstd",
        compression_level=COMPRESSION_LEVEL,
        use_dictionary=dictionary + repeated,
        use_byte_stream_split=[name for name in real if name not in repeated],
        store_schema=True,
    )
    content = sink.getvalue().to_pybytes()
    (folder / f"{hashlib.sha256(content).hexdigest()[:16]}.parquet").write_bytes(content)


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether a column of figures holds few different ones, such as one for a whole cell."""
    return bool(pc.count_distinct(column).as_py() * 4 < len(column))


def _without_folders(run: dict[str, Any]) -> dict[str, Any]:
    """The record of a run whose command names files without their folders."""
    words = [
        PurePath(word).name if PurePath(word).is_absolute() else word
        for word in shlex.split(run["command"])
    ]
    return {**run, "command": shlex.join(words)}


def size_of(directory: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def main() -> int:
    """Make the copy that the command line asks for, and say how large it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path, help="a results folder that `memstrat run` made")
    parser.add_argument("copy", type=Path, help="a new folder, or an earlier copy to replace")
    arguments = parser.parse_args()
    try:
        compact(arguments.results, arguments.copy)
    except MemstratError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"{arguments.copy}: {size_of(arguments.copy) / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
