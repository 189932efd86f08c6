"""Run llvm-mca over many regions in one process, and read what it says.

One process costs as much as a hundred small regions, so regions are batched. llvm-mca 19 and later
print nothing when one line of the input cannot be read, llvm-mca 14 drops the line and goes on; so
its messages are read as well as its output, and the instructions that it counts are compared with
those that it was given.
"""

import json
import re
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from memstrat.runner.processes import Completed, failure_text, run_process
from memstrat.runner.toolchains.discovery import Analyser

_TRIPLE = "x86_64-unknown-linux-gnu"
_MEMORY_BYTES = 8 * 2**30

_ERROR_AT_LINE = re.compile(r"^<stdin>:(\d+):\d+: error: (.*)$", re.MULTILINE)
_UNKNOWN_CPU = re.compile(r"'([^']*)' is not a recognized processor")


@dataclass(frozen=True, kw_only=True)
class Region:
    """Instructions to analyse, AT&T syntax; the name is unique in a batch and has no blanks."""

    name: str
    instructions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CpuModel:
    """A CPU as llvm-mca knows it: its `name`, and a `label` that says whose model stands for it.

    LLVM has no model of its own for every name. The model is told by what the names of its
    resources begin with: `Zn4AGU0`, `Zn4FP0` are those of Zen 4, so `znver5` is `znver5 (Zn4)`.
    """

    name: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What llvm-mca says of a batch.

    `cycles` are those of all iterations of a region by its name; a region that it refuses is in
    `refused` instead, with the reason.
    """

    cycles: dict[str, int]
    refused: dict[str, str]


def analyse(
    regions: tuple[Region, ...], *, iterations: int, analyser: Analyser, cpu: str, timeout_s: float
) -> Analysis | str:
    """Cycles of `iterations` back-to-back runs of each region, none of them empty.

    Regions with an instruction that llvm-mca cannot read are refused, and the rest is analysed
    again. A text says why the process as a whole failed.
    """
    refused: dict[str, str] = {}
    remaining = regions
    while remaining:
        done = _run(_input(remaining), iterations, analyser, cpu, timeout_s)
        unreadable = _unreadable(done.error_text, remaining)
        if not unreadable:
            if not done.succeeded:
                return failure_text(done, lines=4)
            return _read(done, remaining, iterations, refused)
        refused |= unreadable
        remaining = tuple(region for region in remaining if region.name not in refused)
    return Analysis(cycles={}, refused=refused)


def resolve_cpu(analyser: Analyser, cpu: str) -> CpuModel | None:
    """The model that llvm-mca has for `cpu`, which may be `native`; None for a CPU unknown to it.

    None also stands for output that is not an llvm-mca's. An llvm-mca older than the CPU that it
    runs on resolves `native` to `generic`.
    """
    done = _run(_input((Region(name="probe", instructions=("nop",)),)), 1, analyser, cpu, 60)
    if not done.succeeded or _UNKNOWN_CPU.search(done.error_text):
        return None
    try:
        target = json.loads(done.stdout)["TargetInfo"]
        name, resources = str(target["CPUName"]), list(target["Resources"])
    except (ValueError, KeyError, TypeError):
        return None
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*resources, strict=False))
    common = "".join(letters[0] for letters in alike)
    model = re.sub(r"(Port.*|[^A-Za-z0-9]+)$", "", common)
    return CpuModel(name=name, label=f"{name} ({model})" if model else name)


def _run(text: str, iterations: int, analyser: Analyser, cpu: str, timeout_s: float) -> Completed:
    command = (
        *analyser.command,
        *(f"-mtriple={_TRIPLE}", f"-mcpu={cpu}", f"-iterations={iterations}"),
        # Without these two views the output is a thirtieth.
        *("-json", "-resource-pressure=0", "-instruction-info=0", "-"),
    )
    return run_process(
        command, stdin=text.encode(), timeout_s=timeout_s, memory_bytes=_MEMORY_BYTES
    )


def _input(regions: tuple[Region, ...]) -> str:
    lines = []
    for region in regions:
        lines.append(f"# LLVM-MCA-BEGIN {region.name}")
        lines += region.instructions
        lines.append(f"# LLVM-MCA-END {region.name}")
    return "\n".join(lines) + "\n"


def _unreadable(messages: str, regions: tuple[Region, ...]) -> dict[str, str]:
    """The regions in which an instruction could not be read, with that instruction and why."""
    wrong = {int(line): message for line, message in _ERROR_AT_LINE.findall(messages)}
    found: dict[str, str] = {}
    first = 2  # the line of a region's first instruction; lines count from 1
    for region in regions if wrong else ():
        for line, instruction in enumerate(region.instructions, start=first):
            if line in wrong:
                found.setdefault(region.name, f"{instruction!r}: {wrong[line]}")
        first += len(region.instructions) + 2
    return found


def _read(
    done: Completed, regions: tuple[Region, ...], iterations: int, refused: dict[str, str]
) -> Analysis | str:
    try:
        content: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        return f"its output is not JSON: {error}"
    views = {region["Name"]: region["SummaryView"] for region in content["CodeRegions"]}
    cycles: dict[str, int] = {}
    refusals = dict(refused)
    for region in regions:
        view = views.get(region.name)
        counted = 0 if view is None else view["Instructions"]
        if view is None or counted != iterations * len(region.instructions):
            refusals[region.name] = (
                f"llvm-mca counted {counted} instructions instead of "
                f"{iterations * len(region.instructions)}"
            )
        else:
            cycles[region.name] = view["TotalCycles"]
    return Analysis(cycles=cycles, refused=refusals)
