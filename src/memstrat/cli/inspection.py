"""The work behind `memstrat inspect`: ask, compile, decode, and print ranges of sizes."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from memstrat.errors import NothingDoneError
from memstrat.generators.plan import Plan, TranslationUnit, plan_study
from memstrat.generators.study import Study, study_from_options
from memstrat.model import Failure, Lowering, Variant
from memstrat.runner.cache import Cache, default_cache_directory
from memstrat.runner.compile.expand_dump import parse_expand_dump
from memstrat.runner.compile.units import BuildResult, Limits, build_unit
from memstrat.runner.inspect.decode import disassemble
from memstrat.runner.inspect.form_ranges import COLUMNS, FormRange, form_ranges, range_rows
from memstrat.runner.inspect.lowerings import inspect_object
from memstrat.runner.toolchains.configuration import load_configuration, parse_toolchain_options
from memstrat.runner.toolchains.discovery import resolve

JSON_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Question:
    """The options of the command; `commands` are NAME=COMMAND texts."""

    toolchains: tuple[str, ...]
    sizes: str
    ops: tuple[str, ...]
    fills: tuple[str, ...]
    isas: tuple[str, ...]
    alignments: tuple[int, ...]
    spellings: tuple[str, ...]
    optimisations: tuple[str, ...]
    march: str | None
    mtune: str | None
    memset_strategy: str | None
    memcpy_strategy: str | None
    max_stores: int | None
    flags: tuple[str, ...]
    commands: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class VariantAnswer:
    """What one variant emits: its lowerings, and `problems` by kernel where there is none."""

    variant: Variant
    lowerings: tuple[Lowering, ...]
    problems: tuple[str, ...]

    @property
    def ranges(self) -> list[FormRange]:
        """Runs of sizes that are lowered alike."""
        return form_ranges(self.lowerings)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What all variants emit, in the order of the question, and what the plan left out."""

    variants: tuple[VariantAnswer, ...]
    notes: tuple[str, ...]


def answer(question: Question) -> Answer:
    """Compile and decode. Raises MemstratError; NothingDoneError where nothing could be decoded."""
    commands = {**load_configuration(), **parse_toolchain_options(question.commands)}
    plan = plan_study(_study(question), resolve(question.toolchains, commands))
    found = Answer(variants=tuple(_answers(plan)), notes=plan.notes)
    if not any(each.lowerings for each in found.variants):
        problems = [text for each in found.variants for text in each.problems]
        raise NothingDoneError("\n  ".join(["nothing could be compiled and inspected", *problems]))
    return found


def _study(question: Question) -> Study:
    targets = [
        {"isa": isa, **_present(march=question.march, mtune=question.mtune)}
        for isa in question.isas
    ]
    limits = dict.fromkeys(("memset", "memcpy", "memmove"), question.max_stores)
    strategy = _present(
        memset=question.memset_strategy,
        memcpy=question.memcpy_strategy,
        limits=None if question.max_stores is None else limits,
    )
    return study_from_options(
        sizes=question.sizes,
        ops=question.ops,
        isas=targets,
        toolchains=question.toolchains,
        fills=list(question.fills),
        alignments=list(question.alignments),
        spellings=list(question.spellings),
        optimisations=list(question.optimisations),
        flags=list(question.flags),
        strategies=[{"name": "as-asked" if strategy else "default", **strategy}],
    )


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _answers(plan: Plan) -> Iterator[VariantAnswer]:
    cache = Cache(directory=default_cache_directory())

    def build(unit: TranslationUnit) -> BuildResult:
        return build_unit(unit, cache=cache, limits=Limits())

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as threads:
        results = list(threads.map(build, plan.units))
    for variant in plan.variants:
        yield _answer(variant, [r for r in results if r.unit.variant.digest == variant.digest])


def _answer(variant: Variant, results: list[BuildResult]) -> VariantAnswer:
    lowerings: list[Lowering] = []
    problems = [_told(failure) for result in results for failure in result.failures]
    for part in (part for result in results for part in result.parts):
        selected = parse_expand_dump(part.built.dump)
        found = inspect_object(part.built.object, part.kernels, selected)
        lowerings += found.lowerings
        problems += [f"{variant.label} {kernel.name}: {why}" for kernel, why in found.problems]
    return VariantAnswer(variant=variant, lowerings=tuple(lowerings), problems=tuple(problems))


def _told(failure: Failure) -> str:
    return f"{failure.subject}: {failure.reason}"


def print_answer(found: Answer, *, assembly: bool, as_json: bool) -> None:
    """Tables for people, or one JSON document."""
    if as_json:
        print(json.dumps(_document(found, assembly=assembly), indent=2))
        return
    from rich.console import Console

    from memstrat.cli.console import OutputConsole

    console, errors = OutputConsole(highlight=False), Console(stderr=True, highlight=False)
    for each in found.variants:
        _print_variant(console, each)
        if assembly:
            _print_assembly(console, each)
        for problem in each.problems:
            errors.print(f"memstrat: {problem}", markup=False, soft_wrap=True)
    for note in found.notes:
        errors.print(f"memstrat: {note}", markup=False, soft_wrap=True)


def _print_variant(console: Any, each: VariantAnswer) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    toolchain = each.variant.toolchain
    title = f"{each.variant.label}  ({toolchain.vendor} {toolchain.version})"
    if each.variant.strategy.asked != "default":
        title += f"\n{each.variant.strategy.asked}"
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for column in COLUMNS:
        table.add_column(column)
    previous = ""
    for kernel, *others in range_rows(each.ranges):
        table.add_row("" if kernel == previous else kernel, *others)
        previous = kernel
    console.print(table)


def _print_assembly(console: Any, each: VariantAnswer) -> None:
    for lowering in each.lowerings:
        said = f"; GCC selected {', '.join(lowering.selected)}" if lowering.selected else ""
        console.print(
            f"{lowering.kernel.name}: {lowering.form}{said}", markup=False, soft_wrap=True
        )
        for line in disassemble(lowering.code).splitlines():
            console.print(f"    {line}", markup=False, soft_wrap=True)


def _document(found: Answer, *, assembly: bool) -> dict[str, Any]:
    return {
        "version": JSON_VERSION,
        "notes": list(found.notes),
        "variants": [
            {
                "label": each.variant.label,
                "toolchain": asdict(each.variant.toolchain),
                "asked": each.variant.strategy.asked,
                "ranges": [_range_document(each_range) for each_range in each.ranges],
                "kernels": [_lowering_document(low, assembly=assembly) for low in each.lowerings],
                "problems": list(each.problems),
            }
            for each in found.variants
        ],
    }


def _range_document(found: FormRange) -> dict[str, Any]:
    document = asdict(found)
    group = document.pop("group")
    return {**dict(zip(("op", "fill", "alignment", "spelling"), group, strict=True)), **document}


def _lowering_document(lowering: Lowering, *, assembly: bool) -> dict[str, Any]:
    document = {
        "kernel": lowering.kernel.name,
        "size": lowering.kernel.size,
        "form": lowering.form,
        "widest_store": lowering.widest_store,
        "code": lowering.code.digest,
        "code_bytes": len(lowering.code.text),
        "executed": lowering.executed,
        "stores": lowering.stores,
        "callee": lowering.callee,
        "selected": list(lowering.selected),
    }
    return {**document, "assembly": disassemble(lowering.code)} if assembly else document
