"""What a notebook asks of results: plain frames, charts of a fixed width, errors in words."""

import subprocess
import sys

import pytest
from tests.reports.synthetic import World, make_tables

import memstrat
from memstrat.errors import UsageError
from memstrat.reports.emitted import emitted_rows
from memstrat.reports.frames import Results
from memstrat.reports.interactive import EMITTED_COLUMNS


def test_emitted_has_a_row_for_each_range_of_one_form(results: Results) -> None:
    frame = memstrat.emitted(results)
    assert list(frame.columns) == EMITTED_COLUMNS
    gcc = frame[
        (frame["label"] == "gcc -O2 sse2 default")
        & (frame["op"] == "memset")
        & (frame["contender"] == "rep stosq")
    ]
    assert gcc[["first_size", "last_size", "form"]].to_numpy().tolist() == [[88, 8192, "rep_8byte"]]


def test_emitted_says_what_the_report_says(results: Results) -> None:
    frame = memstrat.emitted(results)
    for page in results.pages:
        of_page = frame[(frame["op"] == page[0]) & (frame["fill"] == page[1])]
        stretches = sum(len(row.stretches) for row in emitted_rows(results, page))
        assert len(of_page) == stretches > 0


def test_emitted_names_the_flags_that_concern_the_op(results: Results) -> None:
    frame = memstrat.emitted(results)
    asked = frame[(frame["strategy"] == "libcall") & (frame["op"] == "memcpy")]["asked"]
    assert set(asked) == {"-mmemcpy-strategy=libcall:-1:noalign"}


def test_a_plot_draws_the_forms_that_the_isa_allows(results: Results) -> None:
    spec = memstrat.plot(results, "memset", "gpr").to_dict()
    drawn = {row["contender"] for row in spec["datasets"]["rows"]}
    assert {"rep stosq", "GPR stores", "libc call"} <= drawn
    assert "SSE stores" not in drawn
    assert isinstance(spec["width"], int)


def test_a_plot_takes_the_widest_isa_unless_told(results: Results) -> None:
    spec = memstrat.plot(results, "memcpy").to_dict()
    assert "AVX-512 stores" in {row["contender"] for row in spec["datasets"]["rows"]}


def test_the_plot_of_predictions_has_a_legend(results: Results) -> None:
    spec = memstrat.plot_predicted(results).to_dict()
    hues = [layer["encoding"]["color"] for layer in spec["layer"] if "color" in layer["encoding"]]
    assert hues
    assert all("legend" not in hue for hue in hues)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"op": "memmove"}, r"have no memmove; they have \(op, fill, alignment\) memset zero 8"),
        ({"op": "memset", "fill": "variable"}, "have no memset variable; they have"),
        ({"op": "memset", "alignment": 16}, "have no memset 16; they have"),
        ({"op": "memset", "isa": "amx"}, "isa 'amx' is not in these results; they have gpr, sse2"),
    ],
)
def test_a_page_that_is_not_there_is_named(
    results: Results, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        memstrat.plot(results, **arguments)  # type: ignore[arg-type]


def test_results_without_a_measurement_cannot_be_drawn() -> None:
    tables = make_tables(World(sizes=[8, 16]))
    for name in ("samples", "estimates", "machine"):
        tables[name] = tables[name].iloc[:0]
    with pytest.raises(UsageError, match="nothing to draw"):
        memstrat.plot(Results(tables=tables), "memset")


def test_results_show_themselves_in_one_line(results: Results) -> None:
    shown = repr(results)
    assert shown.startswith("<results of rep-vs-unrolled: ")
    assert f"{len(results.tables['estimates'])} estimates" in shown
    assert "\n" not in shown


def test_frames_can_be_changed_without_changing_what_is_told_next(results: Results) -> None:
    for function in (memstrat.crossovers, memstrat.winners, memstrat.default_costs):
        first = function(results)
        first["op"] = "changed"
        assert "changed" not in set(function(results)["op"])


def test_every_public_name_is_there_and_listed() -> None:
    assert set(dir(memstrat)) == set(memstrat.__all__)
    for name in memstrat.__all__:
        assert getattr(memstrat, name) is not None
    with pytest.raises(AttributeError, match="'memstrat' has no attribute 'crossover'"):
        memstrat.crossover  # noqa: B018


def test_importing_memstrat_imports_nothing_heavy() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import memstrat, sys; print('pandas' in sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert told.stdout.strip() == "False"
