"""What compilers emitted, from where to where, beside what they were asked; and what it costs.

Works on exact facts (forms and code bytes need no interval) except for the cost of the defaults,
which compares measured codes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
import pandas as pd

from memstrat.model import DEFAULT_STRATEGY, Isa, Op, Optimisation, Vendor
from memstrat.reports.frames import PAGE, Results, on_page
from memstrat.reports.palette import LIBC_CALL, allowed
from memstrat.reports.words import ISA_NAMES

Answer = TypeVar("Answer")


@dataclass(frozen=True, kw_only=True)
class Emitted:
    """A stretch of the size grid over which a variant emitted one contender's form."""

    first_size: int
    last_size: int
    form: str
    contender: str

    def __str__(self) -> str:
        return f"{range_text(self.first_size, self.last_size)} {self.form}"


@dataclass(frozen=True, kw_only=True)
class EmittedRow:
    """One variant on one page: what was asked and what came out.

    `inert` holds the sizes, as ranges, at which a strategy changed nothing: the code is the very
    code of the same compiler's default. It is empty for the default itself.
    """

    label: str
    asked: str
    isa: str
    spelling: str
    is_default: bool
    stretches: tuple[Emitted, ...]
    inert: tuple[tuple[int, int], ...]
    sizes: int
    inert_sizes: int

    @property
    def text(self) -> str:
        """`8..80 straight, 88..8192 rep_8byte`."""
        sizes = [(s.first_size, s.last_size, s.form) for s in self.stretches]
        merged: list[tuple[int, int, str]] = []
        for low, high, form in sizes:
            start = merged.pop()[0] if merged and merged[-1][2] == form else low
            merged.append((start, high, form))
        return ", ".join(f"{range_text(low, high)} {form}" for low, high, form in merged)

    @property
    def inert_text(self) -> str:
        """Where the strategy had no effect: `8..256`, `every size`; empty if it had everywhere."""
        if self.inert_sizes == self.sizes:
            return "every size"
        return ", ".join(range_text(first, last) for first, last in self.inert)


def range_text(first: int, last: int) -> str:
    """`8..80`, or `8`."""
    return str(first) if first == last else f"{first}..{last}"


def compilers_only(results: Results) -> pd.DataFrame:
    """`Results.emitted` without the reference forms."""
    emitted = results.emitted
    return emitted[emitted["vendor"] != Vendor.REFERENCE.value]


def emitted_rows(results: Results, page: tuple[str, str, int]) -> list[EmittedRow]:
    """What every compiler's variant emitted on a page: by ISA, toolchain, level; defaults first."""
    if results.emitted.empty:
        return []
    frame = on_page(_with_defaults(results), page)
    order = ["isa_width", "toolchain", "optimisation", "asked_first", "label", "spelling"]
    rows = []
    for _, group in frame.sort_values([*order, "size"]).groupby(
        ["isa_width", "toolchain", "optimisation", "asked_first", "variant", "spelling"], sort=True
    ):
        first = group.iloc[0]
        grid = group["size"].tolist()
        same = (group["code"] == group["default_code"]).tolist()
        is_default = first["strategy"] == DEFAULT_STRATEGY.name
        inert = [] if is_default else [*_stretches(grid, same)]
        rows.append(
            EmittedRow(
                label=str(first["label"]),
                asked=asked_of(page[0], str(first["asked"])),
                isa=str(first["isa"]),
                spelling=str(first["spelling"]),
                is_default=is_default,
                stretches=stretches_of(group),
                inert=tuple((low, high) for low, high, holds in inert if holds),
                sizes=len(grid),
                inert_sizes=0 if is_default else sum(same),
            )
        )
    return rows


def asked_of(op: str, asked: str) -> str:
    """The flags of `asked` that concern this op; `default` where none does."""
    other_flags = {
        f"-{flag}"
        for other in Op
        if other != op
        for flag in (f"m{other}-strategy", f"max-store-{other}")
    }
    kept = [word for word in asked.split() if word.partition("=")[0] not in other_flags]
    return " ".join(kept) or "default"


def stretches_of(frame: pd.DataFrame) -> tuple[Emitted, ...]:
    """Run lengths of one variant's rows, sorted by size, over (form, contender)."""
    answers = [*zip(frame["form"].tolist(), frame["contender"].tolist(), strict=True)]
    return tuple(
        Emitted(first_size=low, last_size=high, form=form, contender=contender)
        for low, high, (form, contender) in _stretches(frame["size"].tolist(), answers)
    )


def _stretches(sizes: list[int], answers: list[Answer]) -> Iterator[tuple[int, int, Answer]]:
    start = 0
    for place in range(1, len(sizes) + 1):
        if place == len(sizes) or answers[place] != answers[start]:
            yield sizes[start], sizes[place - 1], answers[start]
            start = place


@lru_cache(maxsize=4)
def _with_defaults(results: Results) -> pd.DataFrame:
    """Compilers' lowerings with `default_code`: what the same compiler emits when asked nothing."""
    frame = compilers_only(results).copy()
    frame["isa_width"] = frame["isa"].map({isa: place for place, isa in enumerate(ISA_NAMES)})
    frame["asked_first"] = (frame["strategy"] != DEFAULT_STRATEGY.name).astype(int)
    labels = zip(frame["label"], frame["strategy"], strict=True)
    frame["default_label"] = [_default_label(label, strategy) for label, strategy in labels]
    defaults = frame[frame["strategy"] == DEFAULT_STRATEGY.name].drop_duplicates(
        ["kernel", "label"]
    )
    named = defaults[["kernel", "label", "code"]].rename(
        columns={"label": "default_label", "code": "default_code"}
    )
    return frame.merge(named, on=["kernel", "default_label"], how="left")


def _default_label(label: str, strategy: str) -> str:
    """The label of the same variant asking nothing: only extra flags follow a strategy's name."""
    before, _, after = label.rpartition(f" {strategy}")
    return f"{before} {DEFAULT_STRATEGY.name}{after}"


def default_variants(results: Results, page: tuple[str, str, int], isa: str) -> pd.DataFrame:
    """What compilers emit at -O2 for this ISA when asked nothing, pointer spelling first."""
    frame = on_page(compilers_only(results), page)
    frame = frame[
        (frame["isa"] == isa)
        & (frame["strategy"] == DEFAULT_STRATEGY.name)
        & (frame["optimisation"] == Optimisation.O2.value)
    ]
    return frame.sort_values(["toolchain", "label", "spelling", "size"]).drop_duplicates(
        ["label", "size"]
    )


COST_COLUMNS = [
    *(*PAGE, "size", "label", "toolchain", "isa", "contender", "code"),
    *("ratio", "cycles", "best", "best_cycles"),
]


def default_costs(results: Results) -> pd.DataFrame:
    """What each default costs against the best contender of its ISA, per measured size.

    `ratio` is cycles of the emitted code over those of `best`, the median over processes.
    With general registers only, the libc call is not among the best: libc uses vector registers.
    """
    return _default_costs(results).copy()


@lru_cache(maxsize=4)
def _default_costs(results: Results) -> pd.DataFrame:
    frames = [_page_costs(results, page) for page in results.pages]
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        return pd.DataFrame(columns=COST_COLUMNS)
    return pd.concat(frames, ignore_index=True)


def _page_costs(results: Results, page: tuple[str, str, int]) -> pd.DataFrame:
    samples = _samples(results, page)
    cycles = results.estimates
    cycles = cycles[(cycles["op"] == page[0]) & (cycles["fill"] == page[1])]
    cycles = cycles[["size", "code", "cycles"]]
    emitted = pd.concat([default_variants(results, page, isa) for isa in ISA_NAMES])
    paired = (
        emitted[["size", "label", "toolchain", "isa", "contender", "code"]]
        .merge(_best(results, page, samples), on=["isa", "size"])
        .merge(samples, on=["size", "code"])
        .merge(_as_best(samples), on=["size", "best_code"])
    )
    paired = paired[paired["process"] == paired["best_process"]].copy()
    if paired.empty:
        return pd.DataFrame(columns=COST_COLUMNS)
    paired["log_ratio"] = np.log(paired["cycles"] / paired["best_cycles"])
    middle = paired.groupby(["label", "size"])["log_ratio"].median().reset_index()
    middle["ratio"] = np.exp(middle["log_ratio"])
    return (
        paired.drop(columns=["cycles", "best_cycles"])
        .drop_duplicates(["label", "size"])
        .merge(middle[["label", "size", "ratio"]], on=["label", "size"])
        .merge(cycles, on=["size", "code"], how="left")
        .merge(_as_best(cycles), on=["size", "best_code"], how="left")
        .assign(op=page[0], fill=page[1], alignment=page[2])[COST_COLUMNS]
    )


def _as_best(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.add_prefix("best_").rename(columns={"best_size": "size"})


def _samples(results: Results, page: tuple[str, str, int]) -> pd.DataFrame:
    samples = results.samples
    wanted = (
        (samples["op"] == page[0]) & (samples["fill"] == page[1]) & ~samples["twin"].astype(bool)
    )
    return samples[wanted][["size", "code", "process", "cycles"]]


def _best(results: Results, page: tuple[str, str, int], samples: pd.DataFrame) -> pd.DataFrame:
    """The fastest contender per ISA and size: isa, size, best, best_code."""
    typical = samples.groupby(["size", "code"])["cycles"].median().reset_index()
    chosen = on_page(results.representatives, page)[["size", "contender", "code"]]
    ranked = chosen.merge(typical, on=["size", "code"]).sort_values("cycles", kind="stable")
    named = ranked[["size", "contender", "code"]].set_axis(["size", "best", "best_code"], axis=1)
    frames = []
    for isa in ISA_NAMES:
        competes = named["best"].map(lambda label, isa=isa: allowed(label, isa)).astype(bool)
        if isa is Isa.GPR:
            competes &= named["best"] != LIBC_CALL
        frames.append(named[competes].drop_duplicates("size").assign(isa=isa.value))
    return pd.concat(frames, ignore_index=True)
