"""Write docs/tables.md from runner/tables.py.

.venv/bin/python tools/describe_tables.py
"""

from pathlib import Path

import pyarrow as pa

from memstrat.runner.tables import SCHEMA_VERSION, TABLES, Column, Table

PAGE = Path(__file__).parents[1] / "docs" / "tables.md"

OPENING = """\
# Tables of a results folder

<!-- Made from runner/tables.py by tools/describe_tables.py; change it there. -->

    RESULTS/memstrat.json             the schema's version, here {version}
    RESULTS/run.json                  what the latest run asked for: the rows that are current
    RESULTS/tables/TABLE/*.parquet    parts: rows of finished work, never changed

Tables are tidy: one row per observation, plain column names. Sizes are bytes; a time's unit stands
in its column's note. A folder keeps the rows of earlier runs; `memstrat.load` and all reports read
those that the latest run asked for. In Python:

```python
results = memstrat.load("results/rep-vs-unrolled")
results.table("estimates")  # a pandas frame; the `fill` of a copy is "" here, not missing
```

Reading the parts without memstrat gives all rows, those of earlier runs among them. Current are
those whose `work` is listed in `run.json` under `works` (`units`: lowerings, `cells`: samples), and
what these refer to by name. Types and notes also stand in the parts' own schema.

How the tables join:

| from | by | to |
|---|---|---|
| `lowerings` | `kernel` | `kernels` |
| `lowerings` | `variant` | `variants` |
| `lowerings`, `predictions` | `code` | `codes` |
| `lowerings` joined with `kernels` | `op`, `fill`, `size`, `code` | `estimates`, `samples` |
| `estimates`, `samples` | `machine` | `machine` |

Codes are measured, not variants: where several variants emit the same machine code for a kernel,
they share a row of `estimates`.

A type that ends in `?` may be missing (null).
"""


def page() -> str:
    """The whole page."""
    return "\n".join([OPENING.format(version=SCHEMA_VERSION), *map(_table, TABLES)])


def _table(table: Table) -> str:
    head = "| column | type | meaning |\n|---|---|---|\n"
    return f"## {table.name}\n\nOne row: {table.row}.\n\n{head}{''.join(map(_row, table.columns))}"


def _row(column: Column) -> str:
    optional = "?" if column.nullable else ""
    note = column.note.replace("|", "\\|")
    return f"| `{column.name}` | {_type(column.type)}{optional} | {note} |\n"


def _type(kind: pa.DataType) -> str:
    return f"list of {kind.value_type}" if pa.types.is_list(kind) else str(kind)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
    print(PAGE)
