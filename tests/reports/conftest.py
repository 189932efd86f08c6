"""Synthetic results, and golden files with the actual text beside them on a mismatch."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.reports.synthetic import World, make_tables  # noqa: E402

from memstrat.reports.frames import Results  # noqa: E402

GOLDEN = ROOT / "tests" / "golden" / "reports"


@pytest.fixture(scope="session")
def results() -> Results:
    return make_results(World())


def make_results(world: World) -> Results:
    return Results(
        tables=make_tables(world),
        study="rep-vs-unrolled",
        command="memstrat run studies/rep-vs-unrolled.toml",
    )


@pytest.fixture
def golden(tmp_path: Path) -> Callable[[str, str], None]:
    """Compares a text with a golden file; a mismatch leaves the actual text in a file to copy."""

    def check(name: str, actual: str) -> None:
        expected = GOLDEN / name
        beside = tmp_path / name
        beside.write_text(actual, encoding="utf-8")
        assert expected.exists(), f"no golden file {expected}; the actual text is in {beside}"
        assert actual == expected.read_text(encoding="utf-8"), f"differs from {beside}"

    return check
