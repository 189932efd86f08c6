"""The sentences that a report opens with, computed from what was measured and emitted.

Nothing here is known beforehand: each clause comes from `pair_ranges`, `crossovers` and the
lowerings of the compilers' defaults, or says why there is none.
"""

from collections import Counter, defaultdict

import pandas as pd

from memstrat.doubts import Doubt
from memstrat.model import DEFAULT_STRATEGY, Isa, Optimisation
from memstrat.reports.crossovers import comparisons, crossovers, pair_ranges
from memstrat.reports.emitted import compilers_only, default_costs
from memstrat.reports.frames import CELL, Results, in_order, on_page, rows_of
from memstrat.reports.palette import LIBC_CALL
from memstrat.reports.statistics import Verdict
from memstrat.reports.words import (
    ISA_NAMES,
    bytes_text,
    cycles_text,
    joined,
    operation_text,
    size_text,
)

OPPONENTS = ("GPR stores", "SSE stores", "AVX2 stores", "AVX-512 stores", LIBC_CALL)
DECIDED_SHARE = 0.5
"""Below this share of sizes with a verdict, a pair is reported as not decided."""

CAUTION_SHARE = 0.1
"""Above this share of cells in doubt the answer opens with a caution."""

Page = tuple[str, str, int]
Ranges = list[tuple[int, int]]


def answer(results: Results) -> list[str]:
    """A few sentences for each op and fill; `rep` forms stand in backticks.

    Of several alignments the least is told; the tables hold the others.
    """
    return [
        f"{heading}: {sentence}" if heading else sentence
        for heading, sentences in answers(results)
        for sentence in sentences
    ]


def answers(results: Results) -> list[tuple[str, list[str]]]:
    """The same, as (op and fill, its sentences); the heading of what concerns all is empty."""
    if results.emitted.empty:
        return [
            ("", ["Nothing was compiled, so there is nothing to compare; the failures say why."])
        ]
    pages = _main_pages(results.pages)
    if results.samples.empty:
        nothing = "Nothing was measured, so no form can be called faster here."
        emitted = [(operation_text(*page[:2]), _emitted_sentences(results, page)) for page in pages]
        return [("", [nothing]), *emitted]
    caution = _caution(results)
    told = [(operation_text(*page[:2]), _sentences(results, page)) for page in pages]
    heading, (first, *others) = told[0]
    opened = (heading, [f"On this CPU ({cpu_text(results)}), {first}", *others])
    others_told = [(about, list(map(_capitalised, sentences))) for about, sentences in told[1:]]
    return [*([("", [caution])] if caution else []), opened, *others_told]


def _capitalised(sentence: str) -> str:
    """Names of compilers keep their small letters."""
    return f"No{sentence[2:]}" if sentence.startswith("no ") else sentence


def _caution(results: Results) -> str:
    """That many cells were measured in doubt, the commonest doubt first; empty where few were."""
    warnings = results.estimates[[*CELL, "warnings"]].explode("warnings")
    doubts = {doubt.value: doubt for doubt in Doubt if doubt.concerns_cell}
    found = warnings[warnings["warnings"].isin(doubts)].drop_duplicates()
    cells, doubted = len(warnings[CELL].drop_duplicates()), len(found[CELL].drop_duplicates())
    if doubted <= CAUTION_SHARE * cells:
        return ""
    worst = doubts[found["warnings"].value_counts().index[0]]
    return (
        f"Read this with caution: {doubted} of {cells} cells were measured in doubt "
        f"({worst}: {worst.meaning}); {worst.remedy}."
    )


def cpu_text(results: Results) -> str:
    """`AMD EPYC, family 26 model 2`: a brand name as hypervisors give it says too little."""
    machine = results.machine
    name = str(machine.get("cpu", "")).strip() or "unnamed"
    return f"{name}, family {machine['family']} model {machine['model']}" if machine else name


def _main_pages(pages: list[Page]) -> list[Page]:
    told: dict[tuple[str, str], Page] = {}
    for page in pages:
        told.setdefault(page[:2], page)
    return [*told.values()]


def _sentences(results: Results, page: Page) -> list[str]:
    reps = [f"{_beats(results, page, rep)}." for rep in _reps(results, page)]
    return [*(reps or ["no `rep` form was measured."]), *_cost_sentences(results, page)]


def _reps(results: Results, page: Page) -> list[str]:
    """The page's measured `rep` forms, widest element first."""
    chosen = on_page(results.representatives, page)["contender"]
    return in_order(label for label in chosen.unique() if label.startswith("rep"))[::-1]


def _beats(results: Results, page: Page, rep: str) -> str:
    """`rep stosq` beats GPR stores from 768 [736, 800] bytes on; gcc 12.2's default emits it."""
    phrases: dict[str, list[str]] = defaultdict(list)
    present = set(on_page(results.representatives, page)["contender"])
    for opponent in OPPONENTS:
        if opponent in present:
            phrases[against(results, page, rep, opponent)].append(_named(opponent))
    clauses = [f"{joined(_shortened(names))} {phrase}" for phrase, names in phrases.items()]
    verb = (
        f"`{rep}` beats {_listed(clauses)}"
        if clauses
        else f"`{rep}` has nothing to be compared with"
    )
    return f"{verb}; {_who_emits(results, page, rep)}"


def _listed(clauses: list[str]) -> str:
    return f"{', '.join(clauses[:-1])}, and {clauses[-1]}" if len(clauses) > 1 else clauses[0]


def _named(contender: str) -> str:
    if contender == LIBC_CALL:
        return "the libc call"
    return f"`{contender}`" if contender.startswith("rep") else contender


def _shortened(names: list[str]) -> list[str]:
    """GPR, SSE and AVX2 stores: `stores` once, after the last of them."""
    stores = [name for name in names if name.endswith(" stores")]
    return [
        name.removesuffix(" stores") if name in stores[:-1] and len(stores) == len(names) else name
        for name in names
    ]


def against(results: Results, page: Page, form: str, opponent: str) -> str:
    """Where one contender beats another: `from 768 [736, 800] bytes on`, `nowhere up to 8 KiB`."""
    pair = {form, opponent}
    ranges = _of_pair(on_page(pair_ranges(results), page), pair, "first_form", "second_form")
    if ranges.empty:
        return "at no size in common"
    verdicts = _of_pair(on_page(comparisons(results), page), pair, "first_form", "second_form")
    undecided = verdicts[verdicts["verdict"] == Verdict.INCONCLUSIVE.value]
    if len(undecided) > (1 - DECIDED_SHARE) * len(verdicts):
        reason = undecided["reason"].value_counts().index[0]
        share = f"{len(undecided)} of {len(verdicts)} sizes"
        return f"nowhere with certainty (undecided at {share}: {reason})"
    first, last = int(ranges["first_size"].min()), int(ranges["last_size"].max())
    wins = [
        _range_text(results, page, (form, opponent), (int(low), int(high)), (first, last))
        for low, high in ranges[ranges["faster"] == form][["first_size", "last_size"]].itertuples(
            index=False
        )
    ]
    equal = ranges[(ranges["faster"] == Verdict.EQUAL.value) & (ranges["last_size"] == last)]
    tail = (
        ""
        if equal.empty
        else f" (about equal from {bytes_text(int(equal['first_size'].iloc[0]))} on)"
    )
    return (joined(wins) or f"nowhere up to {bytes_text(last)}") + tail


def _of_pair(frame: pd.DataFrame, pair: set[str], first: str, second: str) -> pd.DataFrame:
    return frame[frame[first].isin(pair) & frame[second].isin(pair)]


def _range_text(
    results: Results,
    page: Page,
    forms: tuple[str, str],
    won: tuple[int, int],
    grid: tuple[int, int],
) -> str:
    if grid[0] == grid[1]:
        return f"at {bytes_text(grid[0])}, the only size in common"
    if won == grid:
        return f"at every size from {size_text(grid[0])} to {bytes_text(grid[1])}"
    if won[0] == grid[0]:
        return f"up to {bytes_text(won[1])}"
    found = on_page(crossovers(results), page)
    found = found[
        (found["to_form"] == forms[0])
        & (found["from_form"] == forms[1])
        & (found["size"] == won[0])
    ]
    interval = "".join(
        f" [{low}, {high}]" for low, high in zip(found["low"], found["high"], strict=True)
    )
    start = f"from {size_text(won[0])}{interval}"
    unit = "" if not interval and size_text(won[0]).endswith("iB") else " bytes"
    return f"{start}{unit} on" if won[1] == grid[1] else f"{start} to {bytes_text(won[1])}"


def _defaults(results: Results, page: Page) -> pd.DataFrame:
    frame = on_page(compilers_only(results), page)
    frame = frame[
        (frame["strategy"] == DEFAULT_STRATEGY.name)
        & (frame["optimisation"] == Optimisation.O2.value)
        & frame["march"].isna()
        & frame["mtune"].isna()
    ]
    return frame.sort_values(["toolchain", "isa", "size"]).drop_duplicates(
        ["toolchain", "isa", "size"]
    )


def toolchain_texts(results: Results) -> dict[str, str]:
    """What to call each toolchain: `gcc 12.2`, its vendor and the version's two leading numbers.

    Toolchains that share these have their names beside: `gcc 12.2 (patched)`.
    """
    columns = ["toolchain", "vendor", "version"]
    rows = results.table("variants")[columns].drop_duplicates("toolchain")
    texts = {
        str(row.toolchain): f"{row.vendor} {'.'.join(str(row.version).split('.')[:2])}"
        for row in rows_of(rows)
    }
    shared = Counter(texts.values())
    return {name: f"{text} ({name})" if shared[text] > 1 else text for name, text in texts.items()}


def _who_emits(results: Results, page: Page, contender: str) -> str:
    """`gcc 12.2's default emits it from 88 bytes to 8 KiB (SSE2)`, for every default that does."""
    told: dict[tuple[str, str], list[str]] = defaultdict(list)
    frame = _defaults(results, page)
    names = toolchain_texts(results)
    for (toolchain, isa), rows in frame.groupby(["toolchain", "isa"], sort=False):
        where = _emitted_where(rows, contender)
        if where:
            told[names[str(toolchain)], where].append(str(isa))
    if frame.empty:
        return "no compiler's default was built"
    if not told:
        return "no default at -O2 emits it"
    by_tool: dict[str, list[str]] = defaultdict(list)
    for (tool, where), isas in told.items():
        ordered = sorted(map(Isa, isas), key=lambda isa: isa.widest_store)
        by_tool[tool].append(f"{where} ({joined([ISA_NAMES[isa] for isa in ordered])})")
    return ", ".join(
        f"{tool}'s default emits it {joined(clauses)}" for tool, clauses in by_tool.items()
    )


def _emitted_where(rows: pd.DataFrame, contender: str) -> str:
    ranges: Ranges = []
    previous = None
    for size, found in zip(rows["size"], rows["contender"], strict=True):
        if found == contender:
            ranges = [*ranges[:-1], (ranges[-1][0], size)] if previous else [*ranges, (size, size)]
        previous = found == contender
    last = int(rows["size"].max())
    return joined([_plain_range(low, high, last) for low, high in ranges])


def _plain_range(low: int, high: int, last: int) -> str:
    if low == high:
        return f"at {bytes_text(low)}"
    if high == last:
        return f"from {bytes_text(low)} on"
    return f"from {size_text(low)} to {bytes_text(high)}"


def _emitted_sentences(results: Results, page: Page) -> list[str]:
    found = on_page(results.emitted, page)["contender"].unique()
    reps = in_order(label for label in found if label.startswith("rep"))[::-1]
    told = [f"`{rep}`: {_who_emits(results, page, rep)}." for rep in reps]
    return told or ["Nothing emits a `rep` form here."]


def _cost_sentences(results: Results, page: Page) -> list[str]:
    """What each default costs at its worst size, where that is more than 5 %."""
    costs = on_page(default_costs(results), page)
    names = toolchain_texts(results)
    told = []
    for isa in (Isa.GPR, Isa.SSE2):
        rows = costs[(costs["isa"] == isa.value) & (costs["ratio"] > 1.05)]
        worst = rows.loc[rows.groupby("label")["ratio"].idxmax()].sort_values(
            "ratio", ascending=False
        )
        clauses = [
            f"{names[row.toolchain]}'s default takes"
            f" {cycles_text(row.cycles)} cycles at {bytes_text(row.size)},"
            f" {_named(row.best)} {cycles_text(row.best_cycles)}"
            for row in rows_of(worst)
        ]
        if clauses:
            told.append(f"Worst sizes with {ISA_NAMES[isa]}: {'; '.join(clauses)}.")
    return told
