import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.reports.conftest import make_results
from tests.reports.synthetic import World, make_tables

from memstrat.reports.frames import Results
from memstrat.reports.html import code_marks, json_block, render_html, write_html

HOSTILE = "</script><script>alert(1)</script> <img src=x onerror=alert(2)> & \"quoted\" 'text'"
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Outline(HTMLParser):
    """Elements, ids, scripts and whether every tag is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.outside: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in {"src", "href"} and value and not value.startswith("#"):
                self.outside.append(value)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.text.append(data)


def outline(page: str) -> Outline:
    parsed = Outline()
    parsed.feed(page)
    parsed.close()
    return parsed


@pytest.fixture(scope="module")
def page(results: Results) -> str:
    return render_html(results)


@pytest.fixture(scope="module")
def hostile_page() -> str:
    results = make_results(World(sizes=[8, 64, 128, 256], hostile=HOSTILE))
    return render_html(Results(tables=results.tables, study=HOSTILE, command=HOSTILE))


def plots_of(page: str) -> dict[str, dict[str, object]]:
    block = re.search(r'<script type="application/json" id="plots">(.*?)</script>', page, re.DOTALL)
    assert block is not None
    found: dict[str, dict[str, object]] = json.loads(block[1])
    return found


def test_every_tag_is_closed_in_order(page: str) -> None:
    assert outline(page).open == []


def test_the_page_loads_nothing_from_elsewhere(page: str) -> None:
    parsed = outline(page)
    assert parsed.outside == []
    assert "link" not in parsed.tags
    assert "default-src 'none'" in page


def test_the_page_opens_with_the_answer(page: str) -> None:
    text = " ".join(outline(page).text)
    assert text.index("On this CPU") < text.index("Form against form")
    assert "<code>rep stosq</code> beats GPR stores from" in page


def test_every_plot_has_its_place_and_its_data(page: str) -> None:
    plots, ids = plots_of(page), outline(page).ids
    assert len(plots) == 2 * 4 + 1
    for name, spec in plots.items():
        assert name in ids
        columns = spec["datasets"]["rows"]  # type: ignore[index]
        assert len({len(values) for values in columns.values()}) == 1


def test_ids_are_unique(page: str) -> None:
    ids = outline(page).ids
    assert len(ids) == len(set(ids))


def test_every_section_is_there(page: str) -> None:
    sections = ["answer", "memset-zero-8", "memcpy-8", "predicted", "failures", "machine"]
    assert set(sections) | {"reproduce", "glossary"} <= set(outline(page).ids)


def test_an_inert_strategy_is_named(page: str) -> None:
    assert "the strategy had no effect at 8..80" in page


def test_forms_without_a_model_are_not_applicable(page: str) -> None:
    text = " ".join(outline(page).text)
    assert "not applicable: no model of rep or of a call" in text


def test_both_themes_hold_every_colour(page: str) -> None:
    assert page.count("--c-rep-stosq:") == 2
    assert "prefers-color-scheme: dark" in page


def test_the_page_is_small_enough_to_mail(page: str) -> None:
    assert len(page.encode()) < 4_000_000


def test_hostile_text_stays_text(hostile_page: str) -> None:
    parsed = outline(hostile_page)
    assert "img" not in parsed.tags
    assert parsed.tags.count("script") == 3
    assert "".join(parsed.text).count("alert(1)") >= 3


def test_hostile_text_does_not_end_the_data_block() -> None:
    spec = {"datasets": {"rows": [{"label": "</script><!-- <script>"}]}}
    block = json_block({"x": spec})
    assert "<" not in block
    assert json.loads(block)["x"]["datasets"]["rows"]["label"] == ["</script><!-- <script>"]


def test_a_missing_figure_is_null_in_the_data_block() -> None:
    spec = {"datasets": {"rows": [{"error": float("nan")}]}}
    assert json.loads(json_block({"x": spec}))["x"]["datasets"]["rows"]["error"] == [None]


def test_hostile_text_between_backticks_is_escaped_too() -> None:
    assert code_marks("a `<b>` <i>") == "a <code>&lt;b&gt;</code> &lt;i&gt;"


def test_what_was_not_measured_is_said(tmp_path: Path) -> None:
    tables = make_tables(World(sizes=[8, 64]))
    del tables["samples"], tables["estimates"], tables["machine"]
    write_html(Results(tables=tables), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Nothing was measured" in text
    assert "No machine was measured." in text
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_refused_code_is_listed_by_name() -> None:
    tables = make_tables(World(sizes=[8, 64]))
    tables["verifications"].loc[0, ["outcome", "detail"]] = ["wrong", "byte 63 not set"]
    text = render_html(Results(tables=tables))
    assert "verify: wrong" in text
    assert "byte 63 not set" in text
