import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from tests.reports.conftest import make_results
from tests.reports.synthetic import World

from memstrat.reports.csv import csv_frames, write_csv
from memstrat.reports.frames import Results
from memstrat.reports.terminal import print_report

Golden = Callable[[str, str], None]


def printed(results: Results, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_report(results, console)
    assert isinstance(console.file, io.StringIO)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def test_the_terminal_report_reads_as_it_should(results: Results, golden: Golden) -> None:
    golden("terminal.txt", printed(results, 80))


def test_a_narrow_terminal_loses_nothing(results: Results) -> None:
    def letters(text: str) -> str:
        return "".join(sorted(text.replace("─", "").replace(" ", "").replace("\n", "")))

    assert letters(printed(results, 40)) == letters(printed(results, 80))


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_console(results: Results, width: int) -> None:
    assert max(len(line) for line in printed(results, width).splitlines()) <= width


def test_piped_text_holds_no_control_codes(results: Results) -> None:
    assert "\x1b" not in printed(results, 80)


def test_markup_in_names_and_messages_is_printed_as_it_is() -> None:
    results = make_results(World(sizes=[64, 128], hostile="[bold red]x[/bold red]"))
    assert "Failed or skipped: build 1" in printed(results, 80)


def test_a_report_on_nothing_still_says_so() -> None:
    assert "Nothing was compiled" in printed(Results(tables={}), 80)


@pytest.mark.parametrize("name", ["crossovers", "winners", "pairs"])
def test_csv_files_hold_what_they_should(
    results: Results, golden: Golden, tmp_path: Path, name: str
) -> None:
    write_csv(results, tmp_path / "csv")
    golden(f"{name}.csv", (tmp_path / "csv" / f"{name}.csv").read_text(encoding="utf-8"))


def test_every_csv_file_has_plain_columns_and_one_row_per_observation(
    results: Results, tmp_path: Path
) -> None:
    paths = write_csv(results, tmp_path)
    assert [path.stem for path in paths] == [*csv_frames(results)]
    for path in paths:
        frame = pd.read_csv(path, keep_default_na=False)
        assert all(name.replace("_", "").isalnum() for name in frame.columns)
        assert not frame.duplicated().any()


def test_csv_files_of_nothing_hold_their_headings(tmp_path: Path) -> None:
    for path in write_csv(Results(tables={}), tmp_path):
        assert path.read_text(encoding="utf-8").startswith("op,fill,")
