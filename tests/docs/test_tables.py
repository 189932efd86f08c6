from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from memstrat.runner.tables import TABLES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tables.md"


def test_the_page_is_current(load_tool: Callable[[str], ModuleType]) -> None:
    assert PAGE.read_text() == load_tool("describe_tables").page(), "run tools/describe_tables.py"


def test_every_column_has_a_row() -> None:
    sections = PAGE.read_text().split("\n## ")[1:]
    assert [section.split("\n")[0] for section in sections] == [table.name for table in TABLES]
    for section, table in zip(sections, TABLES, strict=True):
        named = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
        assert named == [column.name for column in table.columns]
