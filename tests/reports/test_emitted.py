import pytest

from memstrat.reports.emitted import asked_of, default_costs, emitted_rows
from memstrat.reports.frames import Results

PAGE = ("memset", "zero", 8)


def row(results: Results, label: str):  # type: ignore[no-untyped-def]  # noqa: ANN201
    return next(row for row in emitted_rows(results, PAGE) if row.label == label)


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("gcc -O2 sse2 default", "8..80 straight, 88..8192 rep_8byte"),
        ("gcc -O2 gpr default", "8..40 straight, 48..8192 rep_8byte"),
        ("clang-19 -O2 avx2 default", "8..512 straight, 544..8192 libcall"),
    ],
)
def test_ranges_say_what_was_emitted(results: Results, label: str, text: str) -> None:
    assert row(results, label).text == text


def test_a_strategy_is_inert_where_the_code_is_that_of_the_default(results: Results) -> None:
    assert row(results, "gcc -O2 sse2 libcall").inert_text == "8..80"
    assert row(results, "gcc -O2 gpr unrolled256").inert_text == "8..40"


def test_a_default_is_never_called_inert(results: Results) -> None:
    assert all(not row.inert_text for row in emitted_rows(results, PAGE) if row.is_default)


def test_narrow_registers_come_first_and_defaults_before_strategies(results: Results) -> None:
    labels = [row.label for row in emitted_rows(results, PAGE)]
    assert labels[:4] == [
        "clang-19 -O2 gpr default",
        "gcc -O2 gpr default",
        "gcc -O2 gpr libcall",
        "gcc -O2 gpr unrolled256",
    ]


def test_the_cost_of_a_default_is_against_the_best_form_of_its_registers(results: Results) -> None:
    costs = default_costs(results)
    mine = costs[(costs["label"] == "gcc -O2 sse2 default") & (costs["op"] == "memset")]
    worst = mine.sort_values("ratio").iloc[-1]
    assert worst["size"] == 128
    assert worst["best"] == "SSE stores"
    assert worst["ratio"] == pytest.approx((29 + 4) / (4 + 4), rel=0.02)


def test_a_default_that_emits_the_best_form_costs_nothing(results: Results) -> None:
    costs = default_costs(results)
    mine = costs[(costs["label"] == "clang-19 -O2 avx512 default") & (costs["size"] == 512)]
    assert mine["ratio"].iloc[0] == pytest.approx(1, abs=0.02)


def test_nothing_emitted_gives_no_rows() -> None:
    assert emitted_rows(Results(tables={}), PAGE) == []
    assert default_costs(Results(tables={})).empty


def test_only_the_flags_of_an_op_are_shown_beside_it() -> None:
    asked = "-mmemset-strategy=loop:-1:align -mmemcpy-strategy=libcall:-1:noalign -mno-red-zone"
    assert asked_of("memset", asked) == "-mmemset-strategy=loop:-1:align -mno-red-zone"
    assert asked_of("memcpy", "-max-store-memset=64") == "default"
    assert asked_of("memmove", "default") == "default"
