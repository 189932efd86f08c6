"""The matrix: which kernels every variant is asked for, and which cells compare them.

What makes no sense is left out by a rule, and each rule that left something out adds a note.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from memstrat.generators.emit import can_spell
from memstrat.generators.flags import supports_optimisation
from memstrat.generators.reference import reference_variants, supports
from memstrat.generators.study import Study
from memstrat.model import (
    Cell,
    Isa,
    Kernel,
    Op,
    Spelling,
    Strategy,
    StringopAlgorithm,
    Toolchain,
    Variant,
)

MAX_UNIT_KERNELS = 512
"""Kernels in one translation unit: compilers need about a second for so many, so that processes
share the work evenly, and a compiler's crash costs no more than this."""


@dataclass(frozen=True, kw_only=True)
class TranslationUnit:
    """Kernels that one run of a compiler makes for a variant."""

    variant: Variant
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that a study asks for: units to build, cells to measure in, both in order.

    `notes` say what a rule left out, one line each.
    """

    units: tuple[TranslationUnit, ...]
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels of the units, each once, in order."""
        return tuple(sorted({k for unit in self.units for k in unit.kernels}, key=_order))

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All variants of the units, each once, in the order of the study."""
        return tuple({unit.variant.digest: unit.variant for unit in self.units}.values())


def plan_study(study: Study, toolchains: Mapping[str, Toolchain]) -> Plan:
    """The plan of `study` with the compilers that its names stand for.

    A name that `toolchains` lacks is left out: whoever resolves names tells why it failed. Variants
    that come to the same, such as those of `gcc` and `gcc-12` where both are one compiler, are
    planned once, under the name that the study gives first.
    """
    notes: dict[str, None] = {}
    kernels = study_kernels(study, notes)
    units: list[TranslationUnit] = []
    planned: dict[str, Variant] = {}
    for variant in _compiled_variants(study, toolchains, notes):
        first = planned.setdefault(variant.digest, variant)
        if first is not variant:
            notes[_sameness(variant, first)] = None
            continue
        units += _units(variant, [k for k in kernels if covers(variant.strategy, k.op)])
    units += _reference_units(study, kernels)
    cells = {
        Cell(op=k.op, fill=k.fill, size=k.size, scenario=scenario): None
        for scenario in study.measure.scenarios
        for k in kernels
    }
    return Plan(units=tuple(units), cells=tuple(cells), notes=tuple(notes))


def study_kernels(study: Study, notes: dict[str, None]) -> tuple[Kernel, ...]:
    """The kernels of `study`, by op, fill, alignment, spelling, then size. Adds to `notes`."""
    kernels = []
    unspelled: dict[str, list[int]] = {}
    for op in study.ops:
        fills = study.fills if op is Op.MEMSET else (None,)
        for fill, alignment, spelling in product(fills, study.alignments, study.spellings):
            for size in study.all_sizes:
                kernel = Kernel(op=op, fill=fill, size=size, alignment=alignment, spelling=spelling)
                if can_spell(kernel):
                    kernels.append(kernel)
                else:
                    unspelled.setdefault(kernel.name.rpartition("_s")[0], []).append(size)
    for group, sizes in unspelled.items():
        notes[f"{group}: {len(sizes)} of {len(study.all_sizes)} sizes have no struct spelling"] = (
            None
        )
    return tuple(sorted(kernels, key=_order))


def covers(strategy: Strategy, op: Op) -> bool:
    """Whether `strategy` says anything about `op`; what it leaves alone is not compiled again.

    GCC's strategies never govern memmove. The default, and flags alone, concern every op.
    """
    if strategy.limits is not None:
        named = [op for op in Op if getattr(strategy.limits, op.value) is not None]
    elif strategy.memset is not None or strategy.memcpy is not None:
        named = [op for op in (Op.MEMSET, Op.MEMCPY) if getattr(strategy, op.value) is not None]
    else:
        named = list(Op)
    return op in named


def _compiled_variants(
    study: Study, toolchains: Mapping[str, Toolchain], notes: dict[str, None]
) -> Iterator[Variant]:
    strategies = [table.strategy() for table in study.strategies]
    targets = [table.target() for table in study.targets]
    for name in study.toolchains:
        if name not in toolchains:
            continue
        for optimisation, target, strategy in product(study.optimisations, targets, strategies):
            variant = Variant(
                toolchain=toolchains[name],
                optimisation=optimisation,
                target=target,
                strategy=strategy,
                extra_flags=study.flags,
            )
            objection = _objection(variant)
            if objection is None:
                yield variant
            elif objection:
                notes[objection] = None


def _objection(variant: Variant) -> str | None:
    """Why a variant makes no sense; None when it does, empty when there is nothing to tell."""
    toolchain, strategy = variant.toolchain, variant.strategy
    if not strategy.applies_to(toolchain.vendor):
        return ""  # the study's own tables say for whom a strategy is
    if not supports_optimisation(variant.optimisation, toolchain.vendor, toolchain.version):
        return f"{toolchain.name} {toolchain.version} has no -{variant.optimisation}"
    if _needs_vectors(strategy) and variant.target.isa is Isa.GPR:
        return (
            f"strategy {strategy.name} is left out for {variant.target.label}: vector_loop needs "
            "vector registers, and without them GCC takes a left-over rule of its own table"
        )
    return None


def _sameness(variant: Variant, first: Variant) -> str:
    """Why `variant` comes to the same as `first`, which was planned."""
    if variant.toolchain.name != first.toolchain.name:
        return f"{variant.toolchain.name} is the same compiler as {first.toolchain.name}"
    return f"strategy {variant.strategy.name} asks the same as {first.strategy.name}"


def _needs_vectors(strategy: Strategy) -> bool:
    """Whether the last rule, behind which there is no other, is a vector loop."""
    given = [strategy.memset, strategy.memcpy]
    return any(
        asked is not None and asked.rules[-1].algorithm is StringopAlgorithm.VECTOR_LOOP
        for asked in given
    )


def _reference_units(study: Study, kernels: Sequence[Kernel]) -> list[TranslationUnit]:
    """Units of the forms written by hand, as far as the study's ISAs and wishes go.

    A form has no spelling: a study of structs alone gets it for their pointer twins.
    """
    if study.reference is False:
        return []
    twins = {replace(kernel, spelling=Spelling.POINTER): None for kernel in kernels}
    units: list[TranslationUnit] = []
    for variant in reference_variants(table.isa for table in study.targets):
        form = variant.strategy.name
        if study.reference is True or form in study.reference:
            units += _units(variant, [kernel for kernel in twins if supports(form, kernel)])
    return units


def _units(variant: Variant, kernels: Sequence[Kernel]) -> list[TranslationUnit]:
    return [
        TranslationUnit(variant=variant, kernels=tuple(kernels[first : first + MAX_UNIT_KERNELS]))
        for first in range(0, len(kernels), MAX_UNIT_KERNELS)
    ]


def _order(kernel: Kernel) -> tuple[str, str, int, str, int]:
    """Sorts kernels by what they are asked for, sizes last."""
    return (kernel.op, kernel.fill or "", kernel.alignment, kernel.spelling, kernel.size)
