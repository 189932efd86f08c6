"""The plots: cycles over size, and predicted beside measured, as Vega-Lite specifications.

Colours are CSS variables by default, so that one SVG follows the reader's light or dark theme; give
`colours="light"` for a picture that stands alone (PNG).
"""

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from memstrat.reports.emitted import default_variants
from memstrat.reports.frames import CELL, Results, in_order, on_page
from memstrat.reports.line_labels import spread
from memstrat.reports.palette import BY_LABEL, allowed

HEIGHT = 380
PREDICTED_HEIGHT = 340
CYCLES = "core cycles per call"
LABEL_GAP = 14.0
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")

Colours = Literal["css", "light", "dark"]
Spec = dict[str, Any]
THEME = {
    "light": {"--fg": "#1a1a1a", "--muted": "#5f5f5f", "--grid": "#e4e4e4", "--bg": "#ffffff"},
    "dark": {"--fg": "#e8e8e8", "--muted": "#a3a3a3", "--grid": "#333333", "--bg": "#161616"},
}


def colour(label: str, colours: Colours) -> str:
    """A contender's colour, as a CSS variable or for one theme."""
    contender = BY_LABEL[label]
    return f"var({contender.css})" if colours == "css" else getattr(contender, colours)


def themed(name: str, colours: Colours) -> str:
    """One of THEME's colours, in the same way."""
    return f"var({name})" if colours == "css" else THEME[colours][name]


def curve_rows(results: Results, page: tuple[str, str, int], isa: str) -> pd.DataFrame:
    """What a curve plot draws: figures and texts per size and contender, and drawn heights."""
    chosen = on_page(results.representatives, page)
    chosen = chosen[chosen["contender"].map(lambda label: allowed(label, isa)).astype(bool)]
    return _with_estimates(results, chosen)


def default_rows(results: Results, page: tuple[str, str, int], isa: str) -> pd.DataFrame:
    """The same for what compilers emit at -O2 when asked nothing."""
    rows = _with_estimates(results, default_variants(results, page, isa))
    changed = rows["contender"] != rows.groupby("label")["contender"].shift()
    power = (rows["size"] & (rows["size"] - 1)) == 0
    return rows.assign(marked=changed | power | (rows["size"] == rows["size"].max()))


def _with_estimates(results: Results, rows: pd.DataFrame) -> pd.DataFrame:
    columns = ["size", "contender", "label", "code_bytes", "cycles", "low", "high"]
    estimates = results.estimates[[*CELL, "code", "cycles", "low", "high"]]
    joined = rows.merge(estimates, on=[*CELL, "code"])[columns].sort_values(["label", "size"])
    numbers = joined[["cycles", "low", "high"]].astype("float64")
    return joined.assign(
        cycles=numbers["cycles"].round(2),
        low=numbers["low"].round(2),
        high=numbers["high"].round(2),
        interval=[
            f"{low:.1f} to {high:.1f}"
            for low, high in zip(numbers["low"], numbers["high"], strict=True)
        ],
    )


def curves_plot(
    results: Results, page: tuple[str, str, int], isa: str, colours: Colours = "css"
) -> Spec | None:
    """Cycles over size, one line per contender, compilers' defaults as marks; None without data."""
    rows, defaults = curve_rows(results, page, isa), default_rows(results, page, isa)
    if rows.empty:
        return None
    cycles = _cycles_domain(rows, defaults)
    x = _size_axis((int(rows["size"].min()), int(rows["size"].max())))
    y = _cycles_axis("cycles", cycles)
    labels = in_order(rows["contender"])
    hue = alt.Color(
        "contender:N",
        legend=None,
        scale=alt.Scale(domain=labels, range=[colour(label, colours) for label in labels]),
    )
    edge, inside = _line_ends(rows, cycles)
    layers = [
        *_default_marks(defaults, x, y, colours),
        _empty_call(y, colours),
        _bands(x, hue),
        _lines(x, y, hue, labels),
        *_lone_points(x, y, hue),
        *_line_names(y, _cycles_axis("place", cycles), hue, themed("--bg", colours)),
        _hover_points(x, y, hue),
    ]
    empty = pd.DataFrame({"cycles": [round(float(results.estimates["empty_cycles"].median()), 2)]})
    lone = rows[rows.groupby("contender")["size"].transform("count") == 1]
    data = {"rows": rows, "lone": lone, "defaults": defaults, "edge": edge, "inside": inside}
    # What lies beyond a logarithmic axis would be drawn far below the plot.
    data["empty"] = empty[empty["cycles"] >= cycles[0]]
    chart = alt.layer(*layers).properties(height=HEIGHT, width="container")
    return _finished(chart, data, colours)


def _cycles_domain(rows: pd.DataFrame, defaults: pd.DataFrame) -> tuple[float, float]:
    drawn = pd.concat([rows, defaults])
    return float(drawn["low"].min()) * 0.9, float(drawn["high"].max()) * 1.1


def _cycles_axis(column: str, domain: tuple[float, float]) -> alt.Y:
    return alt.Y(
        f"{column}:Q",
        title=CYCLES,
        scale=alt.Scale(type="log", domain=list(domain), nice=False),
        axis=alt.Axis(values=_ticks(domain), format="~g"),
    )


def _ticks(domain: tuple[float, float]) -> list[float]:
    candidates = [m * 10.0**e for e in range(-2, 8) for m in (1, 2, 5)]
    ticks = [tick for tick in candidates if domain[0] <= tick <= domain[1]]
    return ticks if len(ticks) > 1 else [float(f"{end:.2g}") for end in domain]


def _size_axis(sizes: tuple[int, int]) -> alt.X:
    smallest, largest = sizes
    powers = [1 << bit for bit in range(31) if smallest <= 1 << bit <= largest]
    # The logarithms of one size span nothing: it stands in the middle.
    domain = [smallest, largest] if smallest < largest else [smallest / 2, largest * 2]
    text = (
        "datum.value % 1048576 == 0 ? datum.value / 1048576 + ' MiB' : "
        "datum.value % 1024 == 0 ? datum.value / 1024 + ' KiB' : datum.value + ''"
    )
    return alt.X(
        "size:Q",
        title="bytes",
        scale=alt.Scale(type="log", base=2, domain=domain, nice=False),
        axis=alt.Axis(
            values=powers or [smallest, largest],
            labelExpr=text,
            labelOverlap="greedy",
            labelFlush=False,
        ),
    )


def _bands(x: alt.X, hue: alt.Color) -> Any:
    low, high = alt.Y("low:Q", title=CYCLES), alt.Y2("high:Q")
    return _chart("rows").mark_area(opacity=0.22).encode(x=x, y=low, y2=high, color=hue)


def _lines(x: alt.X, y: alt.Y, hue: alt.Color, labels: Sequence[str]) -> Any:
    dashes = [list(BY_LABEL[label].dash) or [1, 0] for label in labels]
    dash = alt.StrokeDash(
        "contender:N", legend=None, scale=alt.Scale(domain=list(labels), range=dashes)
    )
    return _chart("rows").mark_line(strokeWidth=1.7).encode(x=x, y=y, color=hue, strokeDash=dash)


def _lone_points(x: alt.X, y: alt.Y, hue: alt.Color) -> list[Any]:
    """A form that was measured at one size alone: a line and a band of it would be invisible."""
    low, high = alt.Y("low:Q", title=CYCLES), alt.Y2("high:Q")
    interval = _chart("lone").mark_rule(strokeWidth=4, opacity=0.22)
    points = _chart("lone").mark_point(size=30, filled=True, opacity=1)
    return [interval.encode(x=x, y=low, y2=high, color=hue), points.encode(x=x, y=y, color=hue)]


def _empty_call(y: alt.Y, colours: Colours) -> Any:
    """How long a call takes that does nothing: what is near it hides behind the call."""
    style: dict[str, Any] = {"color": themed("--muted", colours), "opacity": 0.8}
    rule = _chart("empty").mark_rule(strokeDash=[2, 3], **style).encode(y=y)
    text = _chart("empty").mark_text(align="left", dy=9, fontSize=10, **style)
    return rule + text.encode(x=alt.value(4), y=y, text=alt.value("an empty call"))


def _chart(data: str) -> alt.Chart:
    """A chart over one of the specification's own data sets, by name."""
    return alt.Chart(alt.NamedData(name=data))


def _tooltip(what: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip(f"{what}:N", title=" "),
        alt.Tooltip("contender:N", title="form"),
        alt.Tooltip("size:Q", title="bytes"),
        alt.Tooltip("cycles:Q", title="cycles", format=".1f"),
        alt.Tooltip("interval:N", title="interval"),
        alt.Tooltip("code_bytes:Q", title="code bytes"),
    ]


def _hover_points(x: alt.X, y: alt.Y, hue: alt.Color) -> Any:
    nearest = alt.selection_point(
        on="pointerover",
        nearest=True,
        empty=False,
        fields=["contender", "size"],
        clear="pointerout",
    )
    chart = _chart("rows").mark_point(size=45, filled=True, aria=False)
    visible = alt.condition(nearest, alt.value(1), alt.value(0))
    return chart.encode(x=x, y=y, color=hue, opacity=visible, tooltip=_tooltip("label")).add_params(
        nearest
    )


def _default_marks(defaults: pd.DataFrame, x: alt.X, y: alt.Y, colours: Colours) -> list[Any]:
    """What compilers emit unasked: a broad pale line each, hollow marks at `marked` sizes."""
    labels = sorted(defaults["label"].unique())
    if not labels:
        return []
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(labels))]
    shape = alt.Shape("label:N", legend=None, scale=alt.Scale(domain=labels, range=shapes))
    foreground = themed("--fg", colours)
    line = _chart("defaults").mark_line(strokeWidth=7, opacity=0.13, color=foreground)
    marks = _chart("defaults").mark_point(
        size=34, filled=False, strokeWidth=1.1, opacity=0.9, color=foreground
    )
    return [
        line.encode(x=x, y=y, detail="label:N"),
        marks.encode(x=x, y=y, shape=shape, tooltip=_tooltip("label")).transform_filter(
            "datum.marked"
        ),
    ]


def default_marks_legend(
    results: Results, page: tuple[str, str, int], isa: str
) -> list[tuple[str, str]]:
    """The (shape, variant's label) of the marks of a plot, in the order in which they are drawn."""
    labels = sorted(default_rows(results, page, isa)["label"].unique())
    return [(SHAPES[place % len(SHAPES)], label) for place, label in enumerate(labels)]


def predicted_plot(rows: pd.DataFrame, colours: Colours = "css") -> Spec | None:
    """Predicted over measured cycles, one point per code, from `predictions.predicted_rows`.

    The line is where the two would be equal. None without a prediction that applies.
    """
    if rows.empty:
        return None
    columns = ["size", "contender", "label", "code_bytes", "cycles", "predicted", "error_percent"]
    drawn = rows[columns]
    heights = drawn[["cycles", "predicted"]]
    domain = float(heights.min().min()) * 0.9, float(heights.max().max()) * 1.1
    scale = alt.Scale(type="log", domain=list(domain), nice=False)
    axis = alt.Axis(values=_ticks(domain), format="~g", labelOverlap="greedy")
    labels = in_order(drawn["contender"])
    hues = alt.Scale(domain=labels, range=[colour(label, colours) for label in labels])
    x = alt.X("cycles:Q", title="measured, core cycles per call", scale=scale, axis=axis)
    y = alt.Y("predicted:Q", title="predicted", scale=scale, axis=axis)
    diagonal = _chart("diagonal").mark_line(strokeWidth=1, color=themed("--muted", colours))
    points = _chart("rows").mark_point(size=14, filled=True, opacity=0.6, aria=False)
    tooltip = [
        *_tooltip("label")[:4],
        alt.Tooltip("predicted:Q", title="predicted", format=".1f"),
        alt.Tooltip("error_percent:Q", title="error, %", format="+.0f"),
    ]
    hue = alt.Color("contender:N", legend=None, scale=hues)
    layers = alt.layer(
        diagonal.encode(x=x, y=y), points.encode(x=x, y=y, color=hue, tooltip=tooltip)
    ).properties(height=PREDICTED_HEIGHT, width="container")
    equal = pd.DataFrame({"cycles": domain, "predicted": domain})
    spec = _finished(layers, {"rows": drawn, "diagonal": equal}, colours)
    return {**spec, "padding": {**spec["padding"], "right": 12}}


def _line_ends(
    rows: pd.DataFrame, domain: tuple[float, float]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The lines' right ends: at the axis's end, each with a free `place`; and before it."""
    ends = rows.loc[rows.groupby("contender")["size"].idxmax(), ["contender", "size", "cycles"]]
    at_edge = ends["size"] == rows["size"].max()
    edge, inside = ends[at_edge], ends[~at_edge]
    top, span = np.log(domain[1]), np.log(domain[1] / domain[0])
    pixels = (top - np.log(edge["cycles"].to_numpy(dtype=np.float64))) / span * HEIGHT
    places = spread(pixels, LABEL_GAP, 4, HEIGHT - 4)
    return edge.assign(place=np.exp(top - places / HEIGHT * span).round(3)), inside


def _line_names(y: alt.Y, place: alt.Y, hue: alt.Color, background: str) -> list[Any]:
    """Each line's name: beyond the axis for those that reach its end, else at their last point."""
    edge, inside = _chart("edge").encode(color=hue), _chart("inside").encode(color=hue)
    style: dict[str, Any] = {"align": "left", "baseline": "middle", "fontSize": 11, "clip": False}
    return [
        edge.mark_rule(strokeWidth=1, opacity=0.6, clip=False).encode(
            x=alt.value(alt.expr("width + 2")),
            x2=alt.value(alt.expr("width + 12")),
            y=y,
            y2=alt.Y2("place:Q"),
        ),
        edge.mark_text(**style).encode(
            x=alt.value(alt.expr("width + 15")), y=place, text="contender:N"
        ),
        _chart("inside")
        .mark_text(dx=5, stroke=background, strokeWidth=4, strokeJoin="round", **style)
        .encode(x="size:Q", y=y, text="contender:N"),
        inside.mark_text(dx=5, **style).encode(x="size:Q", y=y, text="contender:N"),
    ]


def _finished(chart: Any, data: dict[str, pd.DataFrame], colours: Colours) -> Spec:
    muted, grid, text = (themed(name, colours) for name in ("--muted", "--grid", "--fg"))
    spec: Spec = chart.to_dict(validate=False)
    spec["datasets"] = {name: rows.to_dict("records") for name, rows in data.items()}
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    spec["padding"] = {"left": 4, "top": 8, "bottom": 4, "right": 8}
    spec["background"] = "transparent" if colours == "css" else THEME[colours]["--bg"]
    spec["config"] = {
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": {
            "labelColor": muted,
            "titleColor": text,
            "gridColor": grid,
            "domainColor": grid,
            "tickColor": grid,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
        },
    }
    return spec
