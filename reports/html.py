"""One self-contained HTML file: no network, light and dark, readable on a phone.

Everything that comes from outside (study names, labels, compiler messages) is text to the template,
which escapes it; the plots' data stand in a JSON block in which no `<` survives.
"""

import json
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup, escape

from memstrat.doubts import Doubt
from memstrat.model import digest_of
from memstrat.reports.answer import answers
from memstrat.reports.frames import Results
from memstrat.reports.page import page_section
from memstrat.reports.palette import CONTENDERS
from memstrat.reports.plots import THEME, Spec, predicted_plot
from memstrat.reports.predictions import analyser_text, predicted_rows, prediction_summary
from memstrat.runner.cache import Cache, default_cache_directory

TEMPLATE = "report/report.html.j2"
UNMEASURED = ("skipped", "wrong", "crashed", "hung")


def write_html(results: Results, path: Path) -> None:
    """Write the report to `path`, whole or not at all."""
    text = render_html(results)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def render_html(results: Results) -> str:
    """The report as one string."""
    context = _context(results)
    context["vega"] = Markup(vega_bundle())  # noqa: S704 (vl-convert's own text)
    return _environment().get_template(TEMPLATE).render(context)


def _context(results: Results) -> dict[str, Any]:
    """What the template is given, but for the script of Vega."""
    sections = [page_section(results, page) for page in results.pages]
    predicted = predicted_plot(predicted_rows(results))
    plots = {name: spec for section in sections for name, spec in section.plots.items()}
    if predicted is not None:
        plots["plot-predicted"] = predicted
    return {
        "code_marks": code_marks,
        "study": results.study,
        "title": results.title,
        "command": results.command,
        "version": memstrat_version(),
        "answers": answers(results),
        "sections": sections,
        "predicted": predicted is not None,
        "prediction_summary": prediction_summary(results).astype(object).to_dict("records"),
        "analyser": analyser_text(results),
        "machine": machine_rows(results),
        "toolchains": toolchain_rows(results),
        "failures": failure_rows(results),
        "warnings": warning_counts(results),
        "contenders": CONTENDERS,
        "theme": THEME,
        "plots_json": Markup(json_block(plots)),  # noqa: S704 (no `<` left)
    }


def memstrat_version() -> str:
    """The installed version, or nothing where memstrat is not installed."""
    try:
        return version("memstrat")
    except PackageNotFoundError:
        return ""


def _environment() -> jinja2.Environment:
    folder = files("memstrat.templates")
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(
            lambda name: folder.joinpath(name).read_text(encoding="utf-8")
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def code_marks(sentence: str) -> Markup:
    """A sentence with what stands in backticks as code; everything in it is escaped."""
    parts = sentence.split("`")
    marked = [
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    ]
    return Markup().join(marked)


def json_block(plots: dict[str, Spec]) -> str:
    """The plots' specifications as JSON for a `<script>` block, data by column to save space."""
    compact = {name: {**spec, "datasets": _by_column(spec)} for name, spec in plots.items()}
    text = json.dumps(compact, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _by_column(spec: Spec) -> dict[str, dict[str, list[Any]]]:
    return {
        name: {
            column: [_json_value(row[column]) for row in rows]
            for column in (rows[0] if rows else ())
        }
        for name, rows in spec["datasets"].items()
    }


def _json_value(value: object) -> object:
    """NaN, which JSON does not know, as null."""
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124


def vega_bundle() -> str:
    """Vega, Vega-Lite and vega-embed as one script, of the version that Altair writes for.

    Bundling takes more than a second, so it is done once per version.
    """
    import altair as alt  # noqa: PLC0415 (both take a while to load)
    import vl_convert  # noqa: PLC0415

    release = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    cache = Cache(directory=default_cache_directory())
    key = digest_of({"vega-lite": release, "vl-convert": version("vl-convert-python")})
    script = (cache.get("vega", key) or b"").decode()
    if not script:
        script = vl_convert.javascript_bundle(vl_version=release)  # type: ignore[call-arg]
        cache.put("vega", key, script.encode())
    return script.replace("</script", "<\\/script")


def machine_rows(results: Results) -> list[tuple[str, str]]:
    """What the machine is and what state it was in, as (name, text)."""
    told = results.machine
    if not told:
        return []
    ids = f"family {told['family']}, model {told['model']}, stepping {told['stepping']}"
    return [
        ("CPU", f"{told['cpu']} ({told['vendor']}, {ids})"),
        ("microcode", str(told["microcode"])),
        ("features", " ".join(told["features"])),
        ("widest ISA measured", str(told["isa"])),
        (
            "core clock",
            f"{told['core_ghz_low']:.2f} to {told['core_ghz_high']:.2f} GHz while measuring",
        ),
        (
            "time-stamp counter",
            f"{told['tsc_ghz']:.3f} GHz, smallest step {told['tsc_step']} ticks",
        ),
        ("processors", str(told["processors"])),
        ("operating system", str(told["kernel_release"])),
        ("virtualisation", _or_none(told["virtualisation"])),
        ("libc", str(told["libc"])),
        ("GLIBC_TUNABLES", _or_none(told["tunables"])),
        ("load when it began", f"{told['load']:.2f}"),
        ("stolen CPU time", f"{told['steal']:.2%}"),
        ("involuntary switches", str(told["involuntary_switches"])),
    ]


def _or_none(value: object) -> str:
    return "none" if value is None or value is pd.NA or value != value else str(value)  # noqa: PLR0124 (NaN)


def toolchain_rows(results: Results) -> list[dict[str, str]]:
    """Every compiler that was asked: name, version, target, digest."""
    variants = results.table("variants")
    columns = ["toolchain", "vendor", "version", "toolchain_target", "toolchain_digest"]
    found = variants[variants["vendor"] != "reference"][columns].drop_duplicates()
    return found.sort_values("toolchain").astype(str).to_dict("records")  # type: ignore[return-value]


def failure_rows(results: Results) -> list[dict[str, object]]:
    """What failed or was skipped, equal reasons together: stage, subject, reason, count."""
    failures = results.table("failures")[["stage", "subject", "reason"]]
    verifications = results.table("verifications")
    refused = verifications[verifications["outcome"].isin(UNMEASURED)]
    labels = (
        results.emitted.drop_duplicates("code").set_index("code")["label"] if len(refused) else None
    )
    unmeasured = pd.DataFrame(
        {
            "stage": "verify: " + refused["outcome"].astype(str),
            "subject": []
            if labels is None
            else refused["code"].map(labels).fillna(refused["code"]),
            "reason": refused["detail"].fillna(""),
        }
    )
    rows = pd.concat([failures, unmeasured], ignore_index=True).astype(object)
    if rows.empty:
        return []
    grouped = (
        rows.groupby(["stage", "subject", "reason"], sort=False).size().reset_index(name="count")
    )
    return grouped.to_dict("records")  # type: ignore[return-value]


def warning_counts(results: Results) -> list[tuple[str, int]]:
    """The warnings of the estimates with their meaning, and how many figures carry each."""
    estimates = results.estimates
    if estimates.empty:
        return []
    told = estimates["warnings"].explode().dropna()
    return [(_explained(str(text)), int(count)) for text, count in told.value_counts().items()]


def _explained(warning: str) -> str:
    doubt = next((doubt for doubt in Doubt if doubt.value == warning), None)
    return warning if doubt is None else f"{doubt}: {doubt.meaning}; {doubt.remedy}"
