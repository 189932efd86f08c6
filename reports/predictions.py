"""A static analyser's figures beside the measured ones, only where its model applies.

For `rep` and for calls a static model has a placeholder and no figure; those codes are counted as
"not applicable" and appear in no average.
"""

import pandas as pd

from memstrat.reports.frames import CELL, Results, in_order
from memstrat.reports.palette import LIBC_CALL

ROW_COLUMNS = [
    *CELL,
    *(
        "contender",
        "label",
        "code",
        "code_bytes",
        "cycles",
        "low",
        "high",
        "predicted",
        "error_percent",
    ),
]


LEAST_CALLS = 2.0
"""Below twice an empty call the call hides the code, which alone is predicted: no error is told."""


def predicted_rows(results: Results) -> pd.DataFrame:
    """One row per code and cell with both figures; `error_percent` is predicted / measured - 1."""
    predictions = results.table("predictions").drop_duplicates("code", keep="last")
    applicable = predictions[predictions["cycles"].notna()]
    codes = results.emitted.drop_duplicates([*CELL, "code"])
    codes = codes[codes["contender"].map(_has_model).astype(bool)]
    figures = [*CELL, "code", "cycles", "low", "high", "empty_cycles"]
    both = (
        codes[[*CELL, "contender", "label", "code", "code_bytes"]]
        .merge(results.estimates[figures], on=[*CELL, "code"])
        .merge(applicable[["code", "cycles"]].rename(columns={"cycles": "predicted"}), on="code")
    )
    for name in ("cycles", "low", "high", "predicted"):
        both[name] = both[name].astype("float64").round(2)
    measured = both["cycles"].where(both["cycles"] >= LEAST_CALLS * both["empty_cycles"])
    both["error_percent"] = ((both["predicted"] / measured - 1) * 100).round(1)
    return both[ROW_COLUMNS]


def _has_model(contender: str) -> bool:
    return contender != LIBC_CALL and not contender.startswith("rep")


def prediction_summary(results: Results) -> pd.DataFrame:
    """One row per contender: how many codes, the median error and its quartiles, in percent.

    `not_applicable` counts codes without a figure; `reasons` says why, each once.
    """
    rows = predicted_rows(results)
    predictions = results.table("predictions").drop_duplicates("code", keep="last")
    codes = results.emitted.drop_duplicates("code")[["code", "contender"]]
    asked = predictions.merge(codes, on="code")
    modelled = asked["contender"].map(_has_model).astype(bool)
    missing = asked[asked["cycles"].isna() | ~modelled]
    errors = rows.dropna(subset=["error_percent"]).groupby("contender")["error_percent"]
    lower, middle, upper = (errors.quantile(share) for share in (0.25, 0.5, 0.75))
    summary = []
    for label in in_order([*rows["contender"], *missing["contender"]]):
        lacking = missing[missing["contender"] == label]
        has = label in middle.index
        summary.append(
            {
                "contender": label,
                "codes": int((rows["contender"] == label).sum()),
                "median_error": float(middle[label]) if has else None,
                "lower_quartile": float(lower[label]) if has else None,
                "upper_quartile": float(upper[label]) if has else None,
                "not_applicable": len(lacking),
                "reasons": sorted({str(reason) for reason in lacking["reason"] if reason}),
            }
        )
    columns = ["contender", "codes", "median_error", "lower_quartile", "upper_quartile"]
    return pd.DataFrame(summary, columns=[*columns, "not_applicable", "reasons"])


def analyser_text(results: Results) -> str:
    """`llvm-mca 22.1.0, model znver5`, or nothing."""
    found = results.table("predictions")[["analyser", "cpu"]].drop_duplicates()
    return "; ".join(f"{analyser}, model {cpu}" for analyser, cpu in found.itertuples(index=False))
