"""Measure: every cell in several processes, and estimates over these processes."""

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from memstrat.model import Cell, Failure, Stage, digest_of
from memstrat.runner.native.estimate import cells_in_doubt, estimate_rows
from memstrat.runner.native.machine import Machine, machine_row
from memstrat.runner.native.measure import (
    CellFailure,
    CellSample,
    Conditions,
    HarnessMeasurer,
    MeasureProtocol,
    Measurer,
    measure_failures,
    sample_rows,
    sample_work,
)
from memstrat.runner.native.pack import PackContents, write_pack
from memstrat.runner.rows import Row
from memstrat.runner.stages.cells import contents_of
from memstrat.runner.stages.context import (
    Context,
    Emitted,
    cell_key,
    known_failures,
    version_of,
)
from memstrat.runner.stages.verify import Verified
from memstrat.runner.tables import ESTIMATES, MACHINE, SAMPLES

ESCALATION = (4, 6)
"""Processes added, time after time, to cells in doubt: 5 -> 9 -> 15 is the protocol's rule 6."""

_DOER = "memstrat.runner.native"
"""What turns samples into estimates: a change of it makes the work another work."""

_PART_CELLS = 40
"""Cells between two parts: about two seconds of measuring, which is what a killed run loses."""


@dataclass(frozen=True, kw_only=True)
class MeasureRequest:
    """Which machine measures, by what harness, on which CPU, in how many processes, how long."""

    machine: Machine
    harness: Path
    cpu: int
    processes: int
    max_seconds: float | None = None
    protocol: MeasureProtocol = field(default_factory=MeasureProtocol)
    seed: int = field(default_factory=lambda: secrets.randbits(32))


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The works of the cells and of their estimates. No estimate: nothing was measured."""

    cells: list[str]
    estimates: list[str]


def run_measure(
    request: MeasureRequest, emitted: Emitted, verified: Verified, context: Context
) -> Measured:
    """Measure the cells that are not measured yet, alone on one CPU, and estimate all of them."""
    contents = contents_of(emitted, verified)
    cells = [packed.cell for packed in contents.cells]
    works = [cell_work(request, contents, i) for i in range(len(cells))]
    done = {work for (work,) in context.store.done(SAMPLES)}
    context.failures.extend(known_failures(context.store, done & set(works)))
    with TemporaryDirectory(prefix="memstrat-") as folder:
        pack = Path(folder, "pack")
        write_pack(pack, request.harness, contents)
        measurer = HarnessMeasurer(
            pack=pack,
            contents=contents,
            cpu=request.cpu,
            seed=request.seed,
            protocol=request.protocol,
        )
        session = Session(request, dict(zip(cells, works, strict=True)), measurer, context)
        session.run()
    rows = session.estimates()
    known = context.store.done(ESTIMATES)
    context.store.append(ESTIMATES, [row for row in rows if (row["work"],) not in known])
    context.listener.end(Stage.MEASURE, _summary(rows, len(works)))
    return Measured(cells=works, estimates=sorted({row["work"] for row in rows}))


def cell_work(request: MeasureRequest, contents: PackContents, cell: int) -> str:
    """The name of a cell's work, the same for all of its processes."""
    protocol = request.protocol
    machine = digest_of([request.machine.digest, request.harness.name])
    return sample_work(contents, cell, machine=machine, process=0, protocol=protocol)


class Session:
    """One spell of measuring: passes over the cells, one process each, until none is in doubt.

    `cells` are those of the measurer's pack, in its order, with the names of their works.
    """

    def __init__(
        self,
        request: MeasureRequest,
        cells: Mapping[Cell, str],
        measurer: Measurer,
        context: Context,
    ) -> None:
        self._request = request
        self._measurer = measurer
        self._context = context
        self._cells, self._works = list(cells), list(cells.values())
        self._index = {cell: i for i, cell in enumerate(self._cells)}
        self._done = context.store.done(SAMPLES, ("work", "process"))
        self._conditions: list[Conditions] = []
        self._samples: list[Row] = []
        self._estimates: list[Row] = []
        self._deadline = float("inf")
        if request.max_seconds is not None:
            self._deadline = time.monotonic() + request.max_seconds

    def run(self) -> None:
        """Measure what is missing, then again what is in doubt."""
        cells = list(range(len(self._cells)))
        passes: list[tuple[int, int]] = []
        processes = 0
        for added in (self._request.processes, *ESCALATION):
            passes += [(i, p) for p in range(processes, processes + added) for i in cells]
            processes += added
            todo = [(i, p) for i, p in passes if (self._works[i], p) not in self._done]
            self._context.listener.begin(Stage.MEASURE, len(passes), len(passes) - len(todo))
            for process in range(processes):
                self._measure([i for i, p in todo if p == process], process)
            self._estimate()
            cells = self._in_doubt()
            if not cells or time.monotonic() > self._deadline:
                break
        self._write_machine()
        self._tell_missing(passes)

    def estimates(self) -> list[Row]:
        """Rows of `estimates` of all cells, over all processes that measured them."""
        named = zip(self._cells, self._works, strict=True)
        works = {cell_key(_columns(cell)): work for cell, work in named}
        return [
            {**row, "work": digest_of([works[cell_key(row)], row["settled"], version_of(_DOER)])}
            for row in self._estimates
        ]

    def _measure(self, cells: Sequence[int], process: int) -> None:
        """One process over these cells; a part of samples every few cells."""
        rows: list[Row] = []
        unwritten = 0
        if not cells or time.monotonic() > self._deadline:
            return
        with closing(self._measurer.measure(cells, process=process)) as findings:
            for finding in findings:
                if isinstance(finding, Conditions):
                    self._conditions.append(finding)
                    continue
                rows += self._taken(finding)
                unwritten += 1
                self._context.listener.advance(Stage.MEASURE, 1)
                if unwritten == _PART_CELLS:
                    self._context.store.append(SAMPLES, rows)
                    rows, unwritten = [], 0
                if time.monotonic() > self._deadline:
                    break
        self._context.store.append(SAMPLES, rows)

    def _taken(self, finding: CellSample | CellFailure) -> list[Row]:
        """Rows of `samples` of one cell; what failed in it is written down."""
        work = self._works[self._index[finding.cell]]
        if isinstance(finding, CellFailure):
            # The next run tries it again, and tells again whether it fails.
            again = digest_of([work, finding.process])
            self._context.fail(measure_failures(finding, work=again))
            return []
        self._context.fail(measure_failures(finding, work=work))
        self._done.add((work, finding.process))
        return sample_rows(finding, work=work, machine=self._request.machine.digest)

    def _estimate(self) -> None:
        """Read what is stored of these cells, by this run and earlier ones, and estimate it."""
        current = set(self._works)
        stored = self._context.store.read(SAMPLES).to_pylist()
        self._samples = [row for row in stored if row["work"] in current]
        self._estimates = estimate_rows(self._samples)

    def _in_doubt(self) -> list[int]:
        """Cells whose control is off or whose estimators disagree, so far."""
        doubted = {key[1:4] for key in cells_in_doubt(self._estimates)}
        return [i for i, cell in enumerate(self._cells) if cell_key(_columns(cell)) in doubted]

    def _write_machine(self) -> None:
        """The machine and its state while it measured, where nobody wrote that down before.

        An earlier run may have been killed, and a process cut short, before they told their state.
        """
        clocks = [row["ticks_per_cycle"] for row in self._samples]
        known = self._context.store.done(MACHINE, ("machine",))
        if self._conditions or (clocks and (self._request.machine.digest,) not in known):
            row = machine_row(
                self._request.machine, ticks_per_cycle=clocks, conditions=self._conditions
            )
            self._context.store.append(MACHINE, [row])

    def _tell_missing(self, passes: Sequence[tuple[int, int]]) -> None:
        missing = {i for i, p in passes if (self._works[i], p) not in self._done}
        reason = f"not finished within {self._request.max_seconds} s: measure.max_seconds"
        if missing and time.monotonic() > self._deadline:
            self._context.fail(
                Failure(
                    stage=Stage.MEASURE,
                    work=digest_of([self._works[i], reason]),
                    subject=self._cells[i].name,
                    reason=reason,
                )
                for i in sorted(missing)
            )


def _columns(cell: Cell) -> Row:
    fill = None if cell.fill is None else cell.fill.value
    return {"op": cell.op.value, "fill": fill, "size": cell.size}


def _summary(estimates: Sequence[Row], cells: int) -> str:
    estimated = {cell_key(row) for row in estimates}
    doubted = {cell_key(row) for row in estimates if row["warnings"]}
    text = f"{len(estimates)} codes in {len(estimated)} of {cells} cells"
    return f"{text}, {len(doubted)} of them with warnings" if doubted else text
