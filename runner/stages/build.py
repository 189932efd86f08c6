"""Build and inspect: every unit of the plan to rows of lowerings and codes."""

from collections.abc import Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace

from memstrat.generators.flags import variant_flags
from memstrat.generators.plan import TranslationUnit
from memstrat.model import Failure, Stage, Variant, Vendor, digest_of
from memstrat.runner.cache import Cache
from memstrat.runner.compile.expand_dump import parse_expand_dump
from memstrat.runner.compile.units import BuiltPart, Limits, assembler, build_unit, source_of
from memstrat.runner.inspect.decode import disassemble
from memstrat.runner.inspect.lowerings import inspect_object
from memstrat.runner.rows import Row, code_row, kernel_row, lowering_row, variant_row
from memstrat.runner.stages.context import BuiltWorks, Context, known_failures, version_of
from memstrat.runner.store import Store, rows_where
from memstrat.runner.tables import CODES, KERNELS, LOWERINGS, VARIANTS

_DOERS = ("memstrat.runner.compile", "memstrat.runner.inspect")
"""What turns a unit into rows: a change of it makes the work another work."""


@dataclass(frozen=True, kw_only=True)
class UnitRows:
    """What came of one unit. `codes` may hold codes that other units emitted, too."""

    lowerings: list[Row]
    codes: list[Row]
    failures: list[Failure]


def unit_work(unit: TranslationUnit) -> str:
    """The name of a unit's work: all that decides its rows."""
    return digest_of(
        {
            "variant": unit.variant.digest,
            "flags": _flags(unit.variant),
            "source": source_of(unit.variant, unit.kernels),
            "assembler": assembler().version,
            "memstrat": version_of(*_DOERS),
        }
    )


def build_and_inspect(
    unit: TranslationUnit, work: str, *, cache: Cache, limits: Limits
) -> UnitRows:
    """Build one unit and decode what came out. Runs in a worker process."""
    built = build_unit(unit, cache=cache, limits=limits)
    lowerings: list[Row] = []
    codes: dict[str, Row] = {}
    failures = [replace(failure, work=work) for failure in built.failures]
    for part in built.parts:
        _inspect(part, unit.variant, work, lowerings, codes, failures)
    return UnitRows(lowerings=lowerings, codes=list(codes.values()), failures=failures)


def _inspect(
    part: BuiltPart,
    variant: Variant,
    work: str,
    lowerings: list[Row],
    codes: dict[str, Row],
    failures: list[Failure],
) -> None:
    selected = parse_expand_dump(part.built.dump)
    found = inspect_object(part.built.object, part.kernels, selected)
    for lowering in found.lowerings:
        lowerings.append(row := lowering_row(work, variant, lowering))
        if row["code"] not in codes:
            codes[row["code"]] = code_row(lowering.code, disassemble(lowering.code))
    failures += [
        Failure(
            stage=Stage.INSPECT, work=work, subject=f"{variant.label} {kernel.name}", reason=reason
        )
        for kernel, reason in found.problems
    ]


def run_build(units: Sequence[TranslationUnit], context: Context, limits: Limits) -> BuiltWorks:
    """Build and inspect what is not stored yet. Returns the works of all units and variants.

    A unit that gave no lowering at all is tried again by the next run; one that gave some is done,
    and its failures are those that were written down with it.
    """
    store, listener = context.store, context.listener
    works = {unit_work(unit): unit for unit in units}
    done = {work for (work,) in store.done(LOWERINGS)} & set(works)
    context.failures.extend(_renamed(known_failures(store, done), works, store))
    listener.begin(Stage.BUILD, len(works), len(done))
    variants = _store_names(context, units)
    known_codes = store.done(CODES, ("code",))
    started = {
        context.executor.submit(
            build_and_inspect, unit, work, cache=context.cache, limits=limits
        ): unit
        for work, unit in works.items()
        if work not in done
    }
    for future in as_completed(started):
        rows = future.result()
        context.fail(rows.failures)
        store.append(CODES, rows_where(rows.codes, "code", known_codes))
        store.append(LOWERINGS, rows.lowerings)
        listener.advance(Stage.BUILD, 1)
    listener.end(Stage.BUILD, f"{len(works)} translation units")
    return BuiltWorks(units=frozenset(works), variants=variants)


def _renamed(
    failures: Sequence[Row], works: Mapping[str, TranslationUnit], store: Store
) -> list[Row]:
    """These rows of `failures` with their variants under the names that the study has for them."""
    labels: dict[str, list[str]] = {}
    for row in store.read(VARIANTS).to_pylist():
        labels.setdefault(row["variant"], []).append(row["label"])
    return [
        {**row, "subject": _renamed_subject(row["subject"], works[row["work"]].variant, labels)}
        for row in failures
    ]


def _renamed_subject(subject: str, variant: Variant, labels: Mapping[str, Sequence[str]]) -> str:
    """`gcc -O2 sse2 mine memset_zero_a8_s8` with today's label before the kernel's name."""
    label, _, kernel = subject.rpartition(" ")
    known = labels.get(variant.digest, ())
    if subject in known:
        return variant.label
    return f"{variant.label} {kernel}" if label in known else subject


def _store_names(context: Context, units: Sequence[TranslationUnit]) -> frozenset[str]:
    """Write the rows of kernels and variants that are not there yet; the works of the variants."""
    kernels = {kernel.name: kernel for unit in units for kernel in unit.kernels}
    variants = {unit.variant.label: unit.variant for unit in units}
    known = context.store.done(KERNELS, ("kernel",))
    context.store.append(KERNELS, rows_where(map(kernel_row, kernels.values()), "kernel", known))
    known = context.store.done(VARIANTS)
    rows = [variant_row(variant, _flags(variant)) for variant in variants.values()]
    context.store.append(VARIANTS, rows_where(rows, "work", known))
    return frozenset(row["work"] for row in rows)


def _flags(variant: Variant) -> tuple[str, ...]:
    return () if variant.toolchain.vendor is Vendor.REFERENCE else variant_flags(variant)
