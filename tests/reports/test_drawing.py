"""What the plots are made of: names that do not collide, words, and specifications Vega accepts."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st
from tests.reports.conftest import make_results
from tests.reports.synthetic import World

from memstrat.reports.frames import Results
from memstrat.reports.line_labels import spread
from memstrat.reports.page import axis_ticks, page_section
from memstrat.reports.plots import curves_plot, predicted_plot
from memstrat.reports.predictions import predicted_rows, prediction_summary
from memstrat.reports.words import bytes_text, cycles_text, joined, operation_text, size_text

PAGE = ("memset", "zero", 8)


@given(st.lists(st.floats(0, 380), min_size=1, max_size=16))
def test_names_never_overlap_and_keep_their_order(wanted: list[float]) -> None:
    places = spread(np.array(wanted), 14, 0, 380)
    ordered = np.sort(places)
    assert np.all(np.diff(ordered) >= 14 - 1e-6)
    assert np.all((places >= -1e-6) & (places <= 380 + 1e-6))
    ranks = np.argsort(wanted, kind="stable")
    assert np.all(np.diff(places[ranks]) > 0)


def test_names_that_do_not_collide_stay_where_they_are() -> None:
    wanted = np.array([300.0, 10.0, 100.0])
    np.testing.assert_allclose(spread(wanted, 14, 0, 380), wanted)


@pytest.mark.parametrize("isa", ["gpr", "avx512"])
def test_vega_lite_accepts_the_plots(results: Results, isa: str) -> None:
    spec = curves_plot(results, PAGE, isa, colours="light")
    assert spec is not None
    svg = vl_convert.vegalite_to_svg({**spec, "width": 500})
    assert "GPR stores" in svg
    assert ("AVX-512 stores" in svg) == (isa == "avx512")
    assert "var(--" not in svg


def test_vega_lite_accepts_the_predictions(results: Results) -> None:
    spec = predicted_plot(predicted_rows(results))
    assert spec is not None
    assert "var(--c-gpr-stores)" in vl_convert.vegalite_to_svg({**spec, "width": 400})


def test_a_plot_of_nothing_is_none() -> None:
    assert curves_plot(Results(tables={}), PAGE, "gpr") is None
    assert predicted_plot(predicted_rows(Results(tables={}))) is None


def test_a_figure_for_rep_or_a_call_is_never_shown(results: Results, tmp_path: Path) -> None:
    predictions = results.table("predictions").assign(cycles=5.0, reason=None)
    told = Results(tables={**results.tables, "predictions": predictions})
    assert not predicted_rows(told)["contender"].str.startswith("rep").any()
    summary = prediction_summary(told).set_index("contender")
    assert summary["not_applicable"].to_dict()["rep stosq"] > 0
    assert summary["codes"].to_dict()["libc call"] == 0


def test_the_bars_of_a_map_fill_its_axis(results: Results) -> None:
    for _, lines in page_section(results, PAGE).maps:
        for line in lines:
            edges = [0.0, *np.cumsum([segment.width for segment in line.segments])]
            assert edges[-1] == pytest.approx(100, abs=0.1)
            starts = [segment.left for segment in line.segments]
            assert starts == pytest.approx(edges[:-1], abs=0.1)


def test_a_map_of_one_size_has_an_axis() -> None:
    ((left, text),) = axis_ticks([64])
    assert text == "64"
    assert 0 <= left < 100


def test_the_axis_of_a_wide_map_has_room_for_its_labels() -> None:
    ticks = axis_ticks([1, 8, 1 << 20])
    assert ticks[0][0] == 0
    assert min(after[0] - before[0] for before, after in pairwise(ticks)) > 8


@pytest.fixture(scope="module")
def of_one_size() -> Results:
    return make_results(World(sizes=[4104]))


def test_a_map_of_one_size_is_one_bar(of_one_size: Results) -> None:
    for _, lines in page_section(of_one_size, PAGE).maps:
        for line in lines:
            (segment,) = line.segments
            assert segment.left == 0
            assert segment.width == pytest.approx(100)


def test_a_plot_of_one_size_is_as_high_as_any_other(of_one_size: Results) -> None:
    """An empty call takes far less than 4 KiB do: it must not stretch the plot down to itself."""
    spec = curves_plot(of_one_size, PAGE, "gpr", colours="light")
    assert spec is not None
    svg = vl_convert.vegalite_to_svg({**spec, "width": 500})
    height = re.search(r'height="([0-9.]+)"', svg)
    assert height is not None
    assert float(height[1]) < 600
    assert ">4104<" in svg
    assert "NaN" not in svg


def test_a_form_of_one_size_is_a_point_on_its_plot(of_one_size: Results) -> None:
    spec = curves_plot(of_one_size, PAGE, "gpr")
    assert spec is not None
    assert {row["contender"] for row in spec["datasets"]["lone"]} >= {"rep stosq", "libc call"}


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (768, "768"),
        (1000, "1000"),
        (1024, "1 KiB"),
        (1152, "1152"),
        (8192, "8 KiB"),
        (3 << 20, "3 MiB"),
    ],
)
def test_sizes_are_named_in_whole_units(size: int, text: str) -> None:
    assert size_text(size) == text
    assert bytes_text(size) == (text if "iB" in text else f"{text} bytes")


def test_cycles_are_named_with_the_digits_they_have() -> None:
    assert [cycles_text(c) for c in (4.04, 99.9, 99.96, 1234.5)] == ["4.0", "99.9", "100", "1234"]


def test_lists_and_operations_read_as_english() -> None:
    assert [joined(["a", "b", "c"][:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert operation_text("memset", "constant") == "memset 0x5a"
    assert operation_text("memcpy", "") == "memcpy"
