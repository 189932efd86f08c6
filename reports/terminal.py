"""The report in a terminal: the answer, the winners, form against form.

Nothing depends on colour, and nothing is wider than the console (80 columns are enough), so that
the same text can be piped, mailed and compared.
"""

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memstrat.model import Isa
from memstrat.reports.answer import answers
from memstrat.reports.emitted import emitted_rows
from memstrat.reports.frames import Results
from memstrat.reports.page import page_title, pair_rows, winner_rows
from memstrat.reports.winners import isas_of
from memstrat.reports.words import ISA_NAMES

Page = tuple[str, str, int]

USUAL_WIDTH = 72
"""Characters in a line that no table needs more of to be read with ease."""


def print_report(results: Results, console: Console) -> None:
    """Print the answer, then for each op the winning forms by ISA and the crossovers by pair."""
    several = len({page[2] for page in results.pages}) > 1
    for heading, sentences in answers(results):
        if heading:
            console.print(f"\n[bold]{escape(heading)}[/bold]", highlight=False)
        for sentence in sentences:
            console.print(Padding(Text(sentence), (0, 0, 0, 2)), highlight=False)
    for page in results.pages:
        title = page_title(page, several_alignments=several)
        _print_table(
            console, winners_table(results, page, f"{title}: fastest form by size in bytes")
        )
        _print_table(console, pairs_table(results, page, f"{title}: crossovers, form against form"))
        _print_table(console, emitted_table(results, page, f"{title}: emitted by default"))
    for detail, count in skipped_counts(results):
        console.print(
            f"\nNot run here: {count} of the emitted codes ({escape(detail)}).", highlight=False
        )
    failures = results.table("failures")
    if len(failures):
        stages = ", ".join(
            f"{stage} {count}" for stage, count in failures["stage"].value_counts().items()
        )
        console.print(
            f"\nFailed or skipped: {escape(stages)}; the HTML report says why.", highlight=False
        )


def skipped_counts(results: Results) -> list[tuple[str, int]]:
    """Why codes were not run on this machine, such as `this CPU has no avx512`, and how many."""
    verifications = results.table("verifications")
    skipped = verifications[verifications["outcome"] == "skipped"].drop_duplicates(["code"])
    return [(str(why), int(count)) for why, count in skipped["detail"].value_counts().items()]


def _print_table(console: Console, table: Table) -> None:
    if table.row_count:
        if console.width < USUAL_WIDTH:
            for column in table.columns:  # else those that may wrap would vanish
                column.no_wrap, column.overflow = False, "fold"
        console.print()
        console.print(table, highlight=False)


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=Text(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
    )
    for name in columns:
        number = name in {"bytes", "most behind"}
        whole = number or name == "starts in"
        table.add_column(name, justify="right" if number else "left", no_wrap=whole)
    return table


def winners_table(results: Results, page: Page, title: str) -> Table:
    """Which form wins from where to where, per ISA; the interval is that of the first size."""
    found = {isa: winner_rows(results, page, isa) for isa in isas_of(results, page)}
    ties = any(row.also for rows in found.values() for row in rows)
    columns = ["registers", "bytes", "starts in", "fastest", "as fast", "most behind"]
    table = _table(title, *(name for name in columns if ties or name != "as fast"))
    for isa, rows in found.items():
        name = "GPR only" if isa == Isa.GPR.value else ISA_NAMES[Isa(isa)]
        for row in rows:
            also = [row.also] if ties else []
            table.add_row(name, row.sizes, Text(row.interval), row.form, *also, row.worst)
            name = ""
        if not name:
            table.add_section()
    return table


def pairs_table(results: Results, page: Page, title: str) -> Table:
    """`rep` and calls against stores: who is faster from where on, with intervals."""
    table = _table(title, "pair", "faster")
    for row in pair_rows(results, page):
        if row.main:
            table.add_row(f"{row.first} / {row.second}", Text(row.text))
    return table


def emitted_table(results: Results, page: Page, title: str) -> Table:
    """What the compilers' defaults emit."""
    table = _table(title, "variant", "form by size in bytes")
    for row in emitted_rows(results, page):
        if row.is_default:
            table.add_row(Text(row.label), Text(row.text))
    return table
