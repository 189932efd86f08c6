"""Measure cells: what one process of the harness found, and its rows in the table of samples.

One process is one sample of layout, so everything here is per process;
`runner/native/estimate.py` goes over processes. Measuring stands behind `Measurer`, so that all
that follows is tested without a clock.
"""

import random
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Protocol

from memstrat.errors import HarnessError
from memstrat.model import Cell, Failure, Stage, digest_of
from memstrat.runner.native.harness import HarnessEndedError, Record, harness_records, index_ranges
from memstrat.runner.native.pack import PackContents
from memstrat.runner.rows import Row

MEASURE_VERSION = 1
"""Part of the identity of every sample; raise it whenever the harness measures otherwise."""

SILENCE_S = 60.0
"""A harness that prints nothing for so long is ended; one cell takes well below a second."""

_CELLS_PER_RUN = 5000
"""Keeps the command line short."""


@dataclass(frozen=True, kw_only=True)
class MeasureProtocol:
    """How one process measures one cell.

    A cell ends after `max_rounds` rounds, or after `budget_us` microseconds and at least
    `min_rounds` rounds. A batch of the fastest code lasts at least `batch_ns` nanoseconds and
    `batch_steps` steps of the time-stamp counter. With these defaults, on a loaded Zen 5, medians
    of seven processes repeated within 0.3 % for most codes; a longer budget bought nothing.
    """

    min_rounds: int = 100
    max_rounds: int = 500
    budget_us: int = 25_000
    batch_ns: int = 2000
    batch_steps: int = 200

    def arguments(self) -> list[str]:
        """As options of the harness."""
        return [
            *("--min-rounds", str(self.min_rounds)),
            *("--max-rounds", str(self.max_rounds)),
            *("--budget-us", str(self.budget_us)),
            *("--batch-ns", str(self.batch_ns)),
            *("--batch-steps", str(self.batch_steps)),
        ]


@dataclass(frozen=True, kw_only=True)
class CodeSample:
    """One code in one cell: `ticks` per call, the mean of the fastest 5 % of `batches`.

    `paired_ratio` is the median over rounds of its ticks / the baseline's. `twin` marks the
    baseline's byte-identical copy.
    """

    code: str
    twin: bool
    ticks: float
    paired_ratio: float
    batches: int
    calls: int


@dataclass(frozen=True, kw_only=True)
class CellSample:
    """What one process found in one cell.

    `ticks_per_cycle` is the duration of one dependent addition, `empty_ticks` that of a call that
    does nothing; `switches` counts involuntary context switches. `dropped` gives the reason for
    each code that crashed, hung or cannot run here.
    """

    cell: Cell
    process: int
    codes: tuple[CodeSample, ...]
    ticks_per_cycle: float
    empty_ticks: float
    switches: int
    dropped: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class CellFailure:
    """A cell that this process could not measure, and why."""

    cell: Cell
    process: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What the machine was like while one process measured.

    `stolen` and `elapsed` are CPU time that the hypervisor kept and that passed in all, in the
    system's ticks, over all CPUs. `switches` counts involuntary context switches.
    """

    process: int
    tsc_hz: float
    tsc_step: int
    load: float
    switches: int
    stolen: int
    elapsed: int


Finding = CellSample | CellFailure | Conditions


class Measurer(Protocol):
    """Whoever measures cells of a pack: the harness, or a mock that returns given times."""

    def measure(self, cells: Sequence[int], *, process: int) -> Generator[Finding, None, None]:
        """Measure these cells (indices) once, in one process and any order; results stream."""
        ...


@dataclass(frozen=True, kw_only=True)
class HarnessMeasurer:
    """Measures with the harness in `pack`, whose contents are `contents`, pinned to `cpu`."""

    pack: Path
    contents: PackContents
    cpu: int
    seed: int = 1
    protocol: MeasureProtocol = MeasureProtocol()

    def measure(self, cells: Sequence[int], *, process: int) -> Generator[Finding, None, None]:
        """See `Measurer`. A cell in which the process dies fails alone; the others go on."""
        shuffled = list(cells)
        random.Random(f"{self.seed} {process}").shuffle(shuffled)
        for first in range(0, len(shuffled), _CELLS_PER_RUN):
            pending = shuffled[first : first + _CELLS_PER_RUN]
            while pending:
                parser = _Parser(contents=self.contents, process=process)
                try:
                    with closing(self._records(pending, process)) as records:
                        for record in records:
                            yield from parser.take(record)
                    break
                except HarnessEndedError as error:
                    if parser.cell is None:
                        raise
                    failed = self.contents.cells[parser.cell].cell
                    yield CellFailure(cell=failed, process=process, reason=str(error))
                    pending = pending[pending.index(parser.cell) + 1 :]

    def _records(self, pending: Sequence[int], process: int) -> Generator[Record, None, None]:
        # Another layout after a crash: what is left must not depend on what crashed.
        seed = int(digest_of([self.seed, process, len(pending)]), 16)
        arguments = [
            "measure",
            *("--seed", str(seed)),
            *("--cpu", str(self.cpu)),
            *("--indices", index_ranges(pending)),
            *self.protocol.arguments(),
        ]
        return harness_records(self.pack, arguments, silence_s=SILENCE_S)


@dataclass(frozen=True, kw_only=True)
class MockMeasurer:
    """Returns given times: `cycles(cell, code, process)` is what a call takes, all ticks one cycle.

    The baseline's twin takes as long as the baseline.
    """

    contents: PackContents
    cycles: Callable[[Cell, str, int], float]
    empty_cycles: float = 1.0

    def measure(self, cells: Sequence[int], *, process: int) -> Generator[Finding, None, None]:
        """See `Measurer`."""
        for index in cells:
            packed = self.contents.cells[index]
            digests = [self.contents.codes[code].digest for code in packed.codes]
            baseline = self.contents.codes[packed.baseline].digest
            ticks = {digest: self.cycles(packed.cell, digest, process) for digest in digests}
            yield CellSample(
                cell=packed.cell,
                process=process,
                codes=tuple(
                    CodeSample(
                        code=digest,
                        twin=twin,
                        ticks=ticks[digest],
                        paired_ratio=ticks[digest] / ticks[baseline],
                        batches=500,
                        calls=100,
                    )
                    for digest, twin in [*((d, False) for d in digests), (baseline, True)]
                ),
                ticks_per_cycle=1.0,
                empty_ticks=self.empty_cycles,
                switches=0,
                dropped={},
            )


def sample_work(
    contents: PackContents, cell: int, *, machine: str, process: int, protocol: MeasureProtocol
) -> str:
    """Identity of the samples of one cell in one process: every code in it, where, and how.

    All codes of a cell are compared with one another, so one more code is another piece of work.
    """
    packed = contents.cells[cell]
    return digest_of(
        {
            "version": MEASURE_VERSION,
            "machine": machine,
            "cell": packed.cell.name,
            "codes": sorted(contents.codes[code].digest for code in packed.codes),
            "baseline": contents.codes[packed.baseline].digest,
            "process": process,
            "protocol": astuple(protocol),
        }
    )


def sample_rows(sample: CellSample, *, work: str, machine: str) -> list[Row]:
    """Rows of `samples`: cycles = ticks / ticks per cycle.

    An empty call is told beside the figures and not subtracted: a few stores hide behind the call,
    and what is left of them would be noise.
    """
    cell = sample.cell
    return [
        {
            "work": work,
            "machine": machine,
            "op": cell.op.value,
            "fill": None if cell.fill is None else cell.fill.value,
            "size": cell.size,
            "scenario": cell.scenario.value,
            "code": code.code,
            "twin": code.twin,
            "process": sample.process,
            "cycles": code.ticks / sample.ticks_per_cycle,
            "empty_cycles": sample.empty_ticks / sample.ticks_per_cycle,
            "paired_ratio": code.paired_ratio,
            "ticks_per_cycle": sample.ticks_per_cycle,
            "batches": code.batches,
            "calls": code.calls,
        }
        for code in sample.codes
    ]


def measure_failures(finding: CellSample | CellFailure, *, work: str) -> list[Failure]:
    """What a finding says was not measured: a code each, or the whole cell."""
    if isinstance(finding, CellFailure):
        subject = f"{finding.cell.name}, process {finding.process}"
        return [Failure(stage=Stage.MEASURE, work=work, subject=subject, reason=finding.reason)]
    return [
        Failure(
            stage=Stage.MEASURE,
            work=work,
            subject=f"{finding.cell.name}, code {code}, process {finding.process}",
            reason=reason,
        )
        for code, reason in finding.dropped.items()
    ]


class _Parser:
    """Turns the harness's lines into findings; remembers which cell is being measured."""

    def __init__(self, *, contents: PackContents, process: int) -> None:
        self.cell: int | None = None
        self._contents = contents
        self._process = process
        self._codes: list[CodeSample] = []
        self._dropped: dict[str, str] = {}
        self._begin: Record | None = None

    def take(self, record: Record) -> Iterator[Finding]:
        """The findings that this line completes: one or none."""
        match record["record"]:
            case "begin":
                self._begin = record
            case "cell":
                self.cell, self._codes, self._dropped = record["cell"], [], {}
            case "dropped":
                self._dropped[self._digest(record)] = record["reason"]
            case "sample":
                self._codes.append(self._code_sample(record))
            case "cell_end":
                yield self._cell_finding(record)
            case "end":
                yield self._conditions(record)
            case unknown:
                raise HarnessError(f"the harness printed an unknown record {unknown!r}")

    def _digest(self, record: Record) -> str:
        return self._contents.codes[record["code"]].digest

    def _code_sample(self, record: Record) -> CodeSample:
        return CodeSample(
            code=self._digest(record),
            twin=record["twin"],
            ticks=record["ticks"],
            paired_ratio=record["paired_ratio"],
            batches=record["batches"],
            calls=record["calls"],
        )

    def _cell_finding(self, record: Record) -> CellSample | CellFailure:
        cell = self._contents.cells[record["cell"]].cell
        if "reason" in record:
            reasons = [record["reason"], *(f"{c}: {why}" for c, why in self._dropped.items())]
            return CellFailure(cell=cell, process=self._process, reason="; ".join(reasons))
        return CellSample(
            cell=cell,
            process=self._process,
            codes=tuple(self._codes),
            ticks_per_cycle=record["add_ticks"],
            empty_ticks=record["empty_ticks"],
            switches=record["switches"],
            dropped=self._dropped,
        )

    def _conditions(self, end: Record) -> Conditions:
        begin = self._begin or end
        return Conditions(
            process=self._process,
            tsc_hz=end["tsc_hz"],
            tsc_step=end["tsc_step"],
            load=begin["load"],
            switches=end["switches"] - begin["switches"],
            stolen=end["cpu_time_stolen"] - begin["cpu_time_stolen"],
            elapsed=end["cpu_time"] - begin["cpu_time"],
        )
