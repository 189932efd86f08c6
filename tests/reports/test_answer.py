from collections.abc import Callable

from tests.reports.synthetic import MEMSET, World, make_tables

from memstrat.reports.answer import answer
from memstrat.reports.frames import Results

Golden = Callable[[str, str], None]


def test_the_answer_reads_as_it_should(results: Results, golden: Golden) -> None:
    golden("answer.txt", "\n".join(answer(results)) + "\n")


def test_without_measuring_the_answer_says_so_and_still_tells_what_is_emitted() -> None:
    tables = make_tables(World(sizes=[8, 64, 128, 256]))
    del tables["samples"], tables["estimates"]
    first, *others = answer(Results(tables=tables))
    assert first.startswith("Nothing was measured")
    assert "memset 0: `rep stosq`: gcc 12.2's default emits it from 128 bytes on" in others[0]


def test_without_anything_the_answer_says_so() -> None:
    assert answer(Results(tables={}))[0].startswith("Nothing was compiled")


def test_a_run_that_cannot_tell_says_why() -> None:
    tables = make_tables(World(ops=(MEMSET,), processes=3, sizes=[8, 64, 128, 256, 1024]))
    text = answer(Results(tables=tables))[0]
    assert "nowhere with certainty (undecided at 5 of 5 sizes: fewer than 5 processes)" in text


def test_forms_that_lead_everywhere_are_said_to() -> None:
    tables = make_tables(World(ops=(MEMSET,), isas=("gpr",), sizes=[1024, 2048, 4096, 8192]))
    assert "GPR stores at every size from 1 KiB to 8 KiB" in answer(Results(tables=tables))[0]


def test_an_answer_from_a_busy_machine_opens_with_a_caution() -> None:
    tables = make_tables(World())
    assert not answer(Results(tables=tables))[0].startswith("Read this with caution")
    doubted = tables["estimates"]["size"] <= 256
    tables["estimates"]["warnings"] = [["slow state"] if low else [] for low in doubted]
    opening = answer(Results(tables=tables))[0]
    assert opening.startswith("Read this with caution: 64 of 160 cells were measured in doubt")
    assert "quieter machine" in opening
    tables["estimates"]["warnings"] = [["wide interval"] for _ in doubted]
    assert not answer(Results(tables=tables))[0].startswith("Read this with caution")


def test_compilers_of_one_version_are_told_apart_by_name() -> None:
    tables = make_tables(World(ops=(MEMSET,), isas=("gpr",), sizes=[64, 128, 256]))
    variants = tables["variants"]
    ours = variants["toolchain"] != "reference"
    tables["variants"] = variants.assign(
        vendor=variants["vendor"].where(~ours, "gcc"),
        version=variants["version"].where(~ours, "12.2.0"),
    )
    names = sorted(set(variants["toolchain"][ours]))
    assert len(names) == 2
    text = " ".join(answer(Results(tables=tables)))
    assert "gcc 12.2's" not in text
    assert f"gcc 12.2 ({names[-1]})'s default" in text
