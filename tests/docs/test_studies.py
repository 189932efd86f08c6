"""docs/studies.md says what study files are: every field, examples that parse, flags that hold."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from memstrat.generators.flags import flags_refusal
from memstrat.generators.reference import REFERENCE_FORMS
from memstrat.generators.study import parse_study, study_from_document, study_schema
from memstrat.model import Fill, Isa, Op, Optimisation, Scenario, Spelling, StringopAlgorithm

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^##+ ([^\n]+)\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL))
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
SECTION_OF = {
    "memstrat study": "Study",
    "SizeTable": "Sizes",
    "TargetTable": "Targets",
    "StrategyTable": "Strategies",
    "LimitsTable": "Limits",
    "MeasureTable": "Measure",
}
BASE = {"name": "example", "ops": ["memset"], "sizes": [64], "toolchains": ["gcc"]}


def tables() -> list[dict[str, Any]]:
    """Every table of a study file, as the schema describes it."""
    schema = study_schema()
    return [schema, *(part for part in schema["$defs"].values() if "properties" in part)]


def rows(section: str) -> list[list[str]]:
    """The cells of a section's table, its head left out."""
    lines = [line for line in SECTIONS[section].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def spans(text: str) -> list[str]:
    """What stands in backticks, blocks of code left out."""
    return re.findall(
        r"`([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    )


def test_every_table_of_the_schema_has_a_section() -> None:
    assert {table["title"] for table in tables()} == set(SECTION_OF)
    assert set(SECTION_OF.values()) <= set(SECTIONS)


@pytest.mark.parametrize("table", tables(), ids=lambda table: str(table["title"]))
def test_every_field_has_a_row(table: dict[str, Any]) -> None:
    described = [row[0].strip("`") for row in rows(SECTION_OF[table["title"]])]
    assert described == list(table["properties"])


@pytest.mark.parametrize("table", tables(), ids=lambda table: str(table["title"]))
def test_required_fields_are_called_required(table: dict[str, Any]) -> None:
    described = {row[0].strip("`"): row[2] for row in rows(SECTION_OF[table["title"]])}
    required = [field for field, default in described.items() if default == "required"]
    assert required == table.get("required", [])


@pytest.mark.parametrize("names", [Op, Fill, Spelling, Isa, Optimisation, Scenario])
def test_every_value_is_named(names: type[Op]) -> None:
    found = {
        word for section in ("Study", "Targets", "Measure") for word in spans(SECTIONS[section])
    }
    assert {name.value for name in names} <= found


def test_every_algorithm_and_reference_form_is_named() -> None:
    assert {name.value for name in StringopAlgorithm} <= set(spans(SECTIONS["Strategies"]))
    assert set(REFERENCE_FORMS) == {
        name for row in rows("Reference forms") for name in spans(row[0])
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.split()[0])
def test_every_example_is_a_study_or_a_part_of_one(example: str) -> None:
    document = tomllib.loads(example)
    assert document
    if "name" in document:
        parse_study(example, "docs/studies.md")
    else:
        study_from_document({**BASE, **document}, "docs/studies.md")


@pytest.mark.parametrize("section", sorted(set(SECTION_OF.values())))
def test_every_example_of_a_field_is_a_value_of_it(section: str) -> None:
    for field, _, _, *examples in rows(section):
        for example in examples:
            if spans(example) and example != '`"..."`':
                value = tomllib.loads(f"x = {spans(example)[0]}")["x"]
                study_from_document(
                    in_a_study(section, field.strip("`"), value), f"{section} {field}"
                )


def in_a_study(section: str, field: str, value: Any) -> dict[str, Any]:
    """A study in which a field of a section's table has this value."""
    put = {field: value}
    match section:
        case "Sizes":
            return {**BASE, "sizes": [{"start": 1, "stop": 4096, **put}]}
        case "Targets":
            return {**BASE, "targets": [{"isa": "avx512", **put}]}
        case "Strategies":
            asked = {"name": "mine", "memset": "libcall:-1:noalign"}
            return {
                **BASE,
                "strategies": [{"name": "mine", **put} if field != "name" else asked | put],
            }
        case "Limits":
            return {**BASE, "strategies": [{"name": "mine", "limits": put}]}
        case "Measure":
            return {**BASE, "measure": put}
        case _:
            return {**BASE, **put}


def test_the_flags_that_are_called_allowed_are() -> None:
    allowed = spans(TEXT.partition("Allowed are")[2].partition("The whole list")[0])
    assert len(allowed) > 15
    for flags in allowed:
        assert flags_refusal(flags.split()) is None, flags


def test_the_flags_that_are_called_refused_are() -> None:
    refused = spans(TEXT.partition("Refused are")[2])
    assert len(refused) > 10
    for flags in refused:
        assert flags_refusal(flags.split()) is not None, flags


def test_links_lead_to_sections() -> None:
    anchors = {title.lower().replace(" ", "-") for title in SECTIONS}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) <= anchors
