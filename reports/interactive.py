"""What a notebook asks of results beyond the reports' own frames: emitted forms, and charts.

Every function takes results and names a page in words (`op`, `fill`, `alignment`, `isa`); what is
not named is the first that the study has.
"""

from typing import Any

import altair as alt
import pandas as pd

from memstrat.errors import UsageError
from memstrat.reports.emitted import asked_of, compilers_only, stretches_of
from memstrat.reports.frames import PAGE, Results
from memstrat.reports.plots import Spec, curves_plot, predicted_plot
from memstrat.reports.predictions import predicted_rows
from memstrat.reports.winners import isas_of

WIDTH = 720
"""Pixels of a chart between its axes."""

EMITTED_COLUMNS = [
    *(*PAGE, "isa", "label", "strategy", "asked", "spelling"),
    *("first_size", "last_size", "form", "contender"),
]


def emitted(results: Results) -> pd.DataFrame:
    """One row per variant and range of sizes with one form: what compilers emitted for what.

    Columns: `op`, `fill` (empty for copies), `alignment`, `isa`, `label` (the variant), `strategy`,
    `asked` (the flags that concern the op), `spelling`, `first_size` and `last_size` in bytes, the
    `form`, and its `contender`, the name under which it competes. `results.emitted` has a row per
    size.
    """
    keys = [*PAGE, "isa", "label", "strategy", "asked", "spelling"]
    rows = []
    for names, group in compilers_only(results).groupby(keys, sort=False):
        for stretch in stretches_of(group.sort_values("size")):
            found = (stretch.first_size, stretch.last_size, stretch.form, stretch.contender)
            rows.append((*names, *found))
    frame = pd.DataFrame(rows, columns=EMITTED_COLUMNS)
    asked = zip(frame["op"], frame["asked"], strict=True)
    frame["asked"] = [asked_of(op, flags) for op, flags in asked]
    return frame.sort_values([*keys[:5], "spelling", "first_size"], ignore_index=True)


def plot(
    results: Results,
    op: str = "memset",
    isa: str | None = None,
    *,
    fill: str | None = None,
    alignment: int | None = None,
) -> Any:
    """An altair chart: core cycles per call over size, one line per form that `isa` allows.

    Hollow marks are what compilers emit at -O2 when asked nothing; a dotted rule is an empty call.
    Without `isa`, the widest that the study was built for. Raises UsageError where the study has no
    such page, or nothing was measured.
    """
    page = page_of(results, op, fill, alignment)
    isas = isas_of(results, page)
    if isa is not None and isa not in isas:
        raise UsageError(f"isa {isa!r} is not in these results; they have {', '.join(isas)}")
    return _chart(curves_plot(results, page, isa or isas[-1], "light"))


def plot_predicted(results: Results) -> Any:
    """An altair chart: predicted over measured cycles, one point per code that has both.

    Codes that hide behind the call have no error and are left out. Raises UsageError where no
    prediction applies.
    """
    rows = predicted_rows(results).dropna(subset=["error_percent"])
    return _chart(_with_legend(predicted_plot(rows, "light")))


def page_of(
    results: Results, op: str, fill: str | None = None, alignment: int | None = None
) -> tuple[str, str, int]:
    """The first page of `op` with this fill and alignment, where given. Raises UsageError."""
    for page in results.pages:
        if page[0] == op and fill in (None, page[1]) and alignment in (None, page[2]):
            return page
    asked = " ".join(str(part) for part in (op, fill, alignment) if part is not None)
    known = ", ".join(" ".join(str(part) for part in page if part != "") for page in results.pages)
    raise UsageError(
        f"these results have no {asked}; they have (op, fill, alignment) {known or 'none'}"
    )


def _with_legend(spec: Spec | None) -> Spec | None:
    """The colours' legend, which a page writes itself and a chart alone needs."""
    for layer in () if spec is None else spec["layer"]:
        layer["encoding"].get("color", {}).pop("legend", None)
    return spec


def _chart(spec: Spec | None) -> Any:
    """A chart of a fixed width: a notebook's cells have none to fill."""
    if spec is None:
        raise UsageError("there is nothing to draw: these results hold no such measurement")
    fixed = {name: part for name, part in spec.items() if name != "autosize"}
    return alt.LayerChart.from_dict({**fixed, "width": WIDTH}, validate=False)
