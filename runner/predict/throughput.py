"""What llvm-mca predicts for the executed path of a code, where its model applies.

Throughput is the slope between two counts of iterations, which takes the filling of the pipeline
out: cycles per call = (T2 - T1) / (n2 - n1). The counts are small, because the time of an analysis
grows with instructions x iterations: from some 512 instructions on, slopes of kernels differ from
those between 500 and 1000 iterations by less than 2 % (llvm-mca 22; models Zen 4, SKX, SPR).

The figure is that of the code alone: the call and the return that a measured figure includes cost
nothing here.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from memstrat.runner.isolate import isolate
from memstrat.runner.predict.mca import CpuModel, Region, analyse
from memstrat.runner.toolchains.discovery import Analyser

_SETTLED_INSTRUCTIONS = 512
_LEAST_ITERATIONS = 2

_BATCH_INSTRUCTIONS = 1_000_000
"""Simulated instructions of one process: about a second."""

_BATCH_REGIONS = 400

_PROCESS_S = 60.0
_ISOLATE_S = 60.0

_RETURN = re.compile(r"(?:rep[a-z]*\s+|bnd\s+)?ret[a-z]*\b.*")
_OPERANDS = re.compile(r",(?![^(]*\))")
_ARGUMENTS = {"%rdi": r"%(?:rdi|edi|di|dil)", "%rsi": r"%(?:rsi|esi|si|sil)"}
_CALLER_HOLDS = {"%rdi": "%rbx", "%rsi": "%rbp"}
_ONLY_READ = ("cmp", "test", "push")
_WRITE_TWO = ("mulx", "xchg", "xadd")


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Cycles per call, by which analyser, and the CPU model that it used: `znver5 (Zn4)`."""

    cycles: float
    analyser: str
    cpu: str


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Regions that one process analyses, and the lower of the two counts of iterations."""

    regions: tuple[Region, ...]
    iterations: int


def predict(
    paths: Mapping[str, tuple[str, ...]], analyser: Analyser, cpu: CpuModel
) -> dict[str, Prediction | str]:
    """Cycles per call for each executed path, by its name, or why there is no figure."""
    found: dict[str, Prediction | str] = {}
    regions: list[Region] = []
    for name, path in paths.items():
        if reason := not_applicable(path):
            found[name] = reason
        else:
            regions.append(Region(name=name, instructions=region_of(path)))
    for batch in batches_of(regions):
        found |= predict_batch(batch, analyser, cpu)
    return found


def not_applicable(path: tuple[str, ...]) -> str | None:
    """Why llvm-mca's model does not apply to an executed path, or None."""
    for instruction in path:
        if instruction.startswith("rep") and not _RETURN.fullmatch(instruction):
            return "not applicable: llvm-mca takes `rep` for one instruction, whatever its count"
        if instruction.startswith("call"):
            return "not applicable: llvm-mca does not model what is called"
    if path and path[-1].startswith("jmp"):
        return "not applicable: llvm-mca does not model the function that is jumped to"
    return None


def region_of(path: tuple[str, ...]) -> tuple[str, ...]:
    """What is analysed for a path: the return left out, and arguments set anew in every call.

    llvm-mca runs a region again and again. Where a kernel changes an argument's register, each run
    would wait for the one before, as no caller's calls do; so a copy from a register that kernels
    leave alone stands before it. It costs one place in dispatch and no latency.
    """
    work = tuple(each for each in path if not _RETURN.fullmatch(each))
    fresh = tuple(
        f"mov {_CALLER_HOLDS[register]},{register}"
        for register, pattern in _ARGUMENTS.items()
        if any(_writes(each, pattern) for each in work)
    )
    return fresh + work


def batches_of(regions: Iterable[Region]) -> list[Batch]:
    """Regions by their count of iterations, in batches of about a second, the long ones first."""
    by_iterations: dict[int, list[Region]] = {}
    for region in sorted(regions, key=lambda each: -len(each.instructions)):
        by_iterations.setdefault(_iterations(len(region.instructions)), []).append(region)
    batches = []
    for iterations, alike in by_iterations.items():
        some: list[Region] = []
        size = 0
        for region in alike:
            cost = 3 * iterations * len(region.instructions)
            if some and (size + cost > _BATCH_INSTRUCTIONS or len(some) >= _BATCH_REGIONS):
                batches.append(Batch(regions=tuple(some), iterations=iterations))
                some, size = [], 0
            some.append(region)
            size += cost
        batches.append(Batch(regions=tuple(some), iterations=iterations))
    return batches


def predict_batch(batch: Batch, analyser: Analyser, cpu: CpuModel) -> dict[str, Prediction | str]:
    """Predict the regions of one batch. A region that makes the process fail loses only itself."""

    def attempt(regions: tuple[Region, ...], timeout_s: float | None) -> _Slopes | str:
        return _slopes(regions, batch.iterations, analyser, cpu.name, timeout_s or _PROCESS_S)

    regions = tuple(each for each in batch.regions if each.instructions)
    isolated = isolate(regions, attempt, budget_s=_ISOLATE_S)
    reasons = {each.name: blamed.reason for blamed in isolated.failures for each in blamed.items}
    slopes = {each.name: 0.0 for each in batch.regions if not each.instructions}
    for part in isolated.parts:
        reasons |= part.result.refused
        slopes |= part.result.cycles
    refused = {name: f"{analyser.label}: {why}" for name, why in reasons.items()}
    predicted = {
        name: Prediction(cycles=cycles, analyser=analyser.label, cpu=cpu.label)
        for name, cycles in slopes.items()
    }
    return {**refused, **predicted}


@dataclass(frozen=True, kw_only=True)
class _Slopes:
    """Cycles per iteration by region, and what was refused."""

    cycles: dict[str, float]
    refused: dict[str, str]


def _slopes(
    regions: tuple[Region, ...], iterations: int, analyser: Analyser, cpu: str, timeout_s: float
) -> _Slopes | str:
    few = analyse(regions, iterations=iterations, analyser=analyser, cpu=cpu, timeout_s=timeout_s)
    if isinstance(few, str):
        return few
    readable = tuple(each for each in regions if each.name not in few.refused)
    many = analyse(
        readable, iterations=2 * iterations, analyser=analyser, cpu=cpu, timeout_s=timeout_s
    )
    if isinstance(many, str):
        return many
    cycles = {
        name: (many.cycles[name] - few.cycles[name]) / iterations
        for name in few.cycles.keys() & many.cycles.keys()
    }
    return _Slopes(cycles=cycles, refused=few.refused | many.refused)


def _iterations(instructions: int) -> int:
    """The lower count for a region of this length: a power of two, so that many share one."""
    wanted = -(-_SETTLED_INSTRUCTIONS // max(1, instructions))
    return max(_LEAST_ITERATIONS, 1 << (wanted - 1).bit_length())


@lru_cache(maxsize=1 << 16)
def _writes(instruction: str, register: str) -> bool:
    """Whether an instruction writes a register of this pattern by name."""
    mnemonic, _, rest = instruction.strip().partition(" ")
    if mnemonic.startswith(_ONLY_READ):
        return False
    operands = [operand.strip() for operand in _OPERANDS.split(rest)]
    written = operands if mnemonic.startswith(_WRITE_TWO) else operands[-1:]
    return any(re.fullmatch(register, operand) for operand in written)
