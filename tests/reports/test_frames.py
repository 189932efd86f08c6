import pandas as pd
import pytest
from tests.reports.synthetic import MEMSET, SIZES, World, make_tables

from memstrat.reports.curves import curves_of
from memstrat.reports.frames import Results
from memstrat.reports.palette import BY_LABEL, CONTENDERS, contender_label


@pytest.mark.parametrize(
    ("form", "widest", "op", "label"),
    [
        ("rep_byte", 1, "memset", "rep stosb"),
        ("rep_4byte", 4, "memcpy", "rep movsl"),
        ("rep_8byte", 8, "memmove", "rep movsq"),
        ("straight", 2, "memset", "GPR stores"),
        ("straight", 64, "memcpy", "AVX-512 stores"),
        ("loop", 8, "memset", "GPR loop"),
        ("unrolled_loop", 8, "memset", "unrolled GPR loop"),
        ("unrolled_loop", 16, "memset", "SSE loop"),
        ("vector_loop", 32, "memcpy", "AVX2 loop"),
        ("libcall", 0, "memset", "libc call"),
    ],
)
def test_a_lowering_competes_under_its_name(form: str, widest: int, op: str, label: str) -> None:
    assert contender_label(form, widest, op) == label
    assert label in BY_LABEL


def test_contenders_that_can_meet_on_a_page_do_not_look_alike() -> None:
    for op in ("stos", "movs"):
        shown = [c for c in CONTENDERS if not c.label.startswith("rep") or op in c.label]
        assert len({(c.light, c.dash) for c in shown}) == len(shown)
        assert len({(c.dark, c.dash) for c in shown}) == len(shown)


def luminance(colour: str) -> float:
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("theme", "page"), [("light", "#ffffff"), ("dark", "#161616")])
def test_every_colour_can_be_read_as_text_on_its_page(theme: str, page: str) -> None:
    for contender in CONTENDERS:
        levels = sorted([luminance(getattr(contender, theme)), luminance(page)])
        assert (levels[1] + 0.05) / (levels[0] + 0.05) >= 3, contender.label


def test_a_form_written_by_hand_stands_for_its_contender_where_there_is_one(
    results: Results,
) -> None:
    chosen = results.representatives
    straight = chosen[chosen["contender"].str.endswith("stores")]
    assert straight["label"].str.startswith("reference").mean() > 0.9
    loops = chosen[chosen["contender"].str.endswith("loop")]
    assert not loops["label"].str.startswith("reference").any()


def test_where_there_is_none_the_fastest_compiler_code_does() -> None:
    tables = make_tables(World(ops=(MEMSET,), isas=("gpr",), sizes=[64]))
    results = Results(tables=tables)
    emitted = results.emitted
    loop = emitted[emitted["contender"] == "unrolled GPR loop"].iloc[0]
    rival = tables["lowerings"][tables["lowerings"]["code"] == loop["code"]].assign(
        code="rival",
        variant=emitted.loc[emitted["label"] == "clang-19 -O2 gpr default", "variant"].iloc[0],
    )
    kept = tables["lowerings"][tables["lowerings"]["variant"] != rival["variant"].iloc[0]]
    tables["lowerings"] = pd.concat([kept, rival])
    own = tables["samples"][tables["samples"]["code"] == loop["code"]]
    faster = own.assign(code="rival", cycles=own["cycles"] * 0.9)
    tables["samples"] = pd.concat([tables["samples"], faster])
    chosen = Results(tables=tables).representatives
    assert chosen.loc[chosen["contender"] == "unrolled GPR loop", "code"].tolist() == ["rival"]


def test_pages_come_in_one_order_memset_first(results: Results) -> None:
    assert results.pages == [("memset", "zero", 8), ("memcpy", "", 8)]


def test_curves_hold_every_contender_at_its_sizes(results: Results) -> None:
    curves = curves_of(results, ("memset", "zero", 8))
    assert curves.sizes.tolist() == SIZES
    assert curves.log_cycles.shape == (len(SIZES), len(curves.labels), 7)
    assert curves.control.max() < 0.01


def test_a_copy_read_back_with_a_missing_fill_is_the_same_page() -> None:
    tables = make_tables(World(sizes=[64]))
    tables["kernels"]["fill"] = tables["kernels"]["fill"].where(
        tables["kernels"]["fill"].notna(), float("nan")
    )
    assert ("memcpy", "", 8) in Results(tables=tables).pages


def test_only_the_machine_with_the_most_samples_is_read() -> None:
    tables = make_tables(World(sizes=[64]))
    foreign = tables["samples"].head(3).assign(machine="m2", cycles=1e9)
    tables["samples"] = pd.concat([tables["samples"], foreign])
    assert Results(tables=tables).samples["cycles"].max() < 1e6


def test_a_row_that_was_stored_twice_counts_once() -> None:
    tables = make_tables(World(sizes=[64]))
    once = len(Results(tables=tables).samples)
    tables["samples"] = pd.concat([tables["samples"]] * 2)
    assert len(Results(tables=tables).samples) == once
