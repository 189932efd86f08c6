"""Predict: a static analyser's figure for every code to which its model applies."""

from collections.abc import Iterator, Mapping
from concurrent.futures import as_completed

from memstrat.errors import ToolchainError
from memstrat.model import Code, Fill, Kernel, Op, Spelling, Stage, digest_of
from memstrat.runner.inspect.lowerings import executed_path
from memstrat.runner.predict.mca import CpuModel, resolve_cpu
from memstrat.runner.predict.throughput import Prediction, predict
from memstrat.runner.rows import Row
from memstrat.runner.stages.context import Context, Emitted, version_of
from memstrat.runner.tables import PREDICTIONS
from memstrat.runner.toolchains.discovery import Analyser, find_analyser

_PARTS_PER_JOB = 4
"""Work items for each process: enough to share the work evenly, and few, since every one of them
starts the analyser some times."""

_DOERS = ("memstrat.runner.predict", "memstrat.runner.inspect")


def run_predict(emitted: Emitted, context: Context) -> list[str]:
    """Predict what is not predicted yet for this machine's CPU; returns the works of all codes.

    Without a usable llvm-mca nothing is predicted, which is said, and stops nothing.
    """
    try:
        analyser = find_analyser()
        cpu = resolve_cpu(analyser, "native")
    except ToolchainError as error:
        context.listener.warn(f"nothing is predicted: {error}")
        return []
    if cpu is None:
        context.listener.warn(f"nothing is predicted: {analyser.label} has no model of this CPU")
        return []
    tasks = _tasks(emitted, analyser, cpu)
    done = {work for (work,) in context.store.done(PREDICTIONS)} & set(tasks)
    context.listener.begin(Stage.PREDICT, len(tasks), len(done))
    todo = {work: task for work, task in tasks.items() if work not in done}
    started = [
        context.executor.submit(predict_codes, part, analyser, cpu)
        for part in _parts(todo, _lengths(emitted), _PARTS_PER_JOB * context.jobs)
    ]
    for future in as_completed(started):
        rows = future.result()
        context.store.append(PREDICTIONS, rows)
        context.listener.advance(Stage.PREDICT, len(rows))
    context.listener.end(Stage.PREDICT, f"{len(tasks)} codes, {analyser.label}, model {cpu.label}")
    return sorted(tasks)


def _tasks(emitted: Emitted, analyser: Analyser, cpu: CpuModel) -> dict[str, tuple[Code, Kernel]]:
    """Every code once, by the name of its work, with a kernel that it was emitted for."""
    by = [analyser.label, cpu.label, version_of(*_DOERS)]
    rows = {row["code"]: row for row in emitted.lowerings}
    return {
        digest_of([code, row["kernel"], *by]): (emitted.codes[code], _kernel(row))
        for code, row in rows.items()
    }


def _lengths(emitted: Emitted) -> dict[str, int]:
    """Instructions that one call of a code executes, as far as that is known."""
    return {row["code"]: row["executed"] or row["instructions"] for row in emitted.lowerings}


def _parts(
    tasks: Mapping[str, tuple[Code, Kernel]], lengths: Mapping[str, int], parts: int
) -> Iterator[dict[str, tuple[Code, Kernel]]]:
    """The tasks in about so many parts of like length in all, those of long paths first.

    Paths of like length share a process of the analyser, since they share a count of iterations.
    """
    by_work = {work: lengths[code.digest] for work, (code, _) in tasks.items()}
    share = sum(by_work.values()) / parts
    part: dict[str, tuple[Code, Kernel]] = {}
    total = 0
    for work in sorted(tasks, key=lambda work: -by_work[work]):
        part[work] = tasks[work]
        total += by_work[work]
        if total >= share:
            yield part
            part, total = {}, 0
    if part:
        yield part


def _kernel(row: Row) -> Kernel:
    return Kernel(
        op=Op(row["op"]),
        fill=None if row["fill"] is None else Fill(row["fill"]),
        size=row["size"],
        alignment=row["alignment"],
        spelling=Spelling(row["spelling"]),
    )


def predict_codes(
    tasks: dict[str, tuple[Code, Kernel]], analyser: Analyser, cpu: CpuModel
) -> list[Row]:
    """Rows of `predictions` for these codes. Runs in a worker process."""
    paths = {work: executed_path(code, kernel) for work, (code, kernel) in tasks.items()}
    decided = {work: path for work, path in paths.items() if path is not None}
    found = predict(decided, analyser, cpu)
    undecided = "its path cannot be decided"
    return [
        _row(work, code, found.get(work, undecided), analyser, cpu)
        for work, (code, _) in tasks.items()
    ]


def _row(work: str, code: Code, found: Prediction | str, analyser: Analyser, cpu: CpuModel) -> Row:
    return {
        "work": work,
        "code": code.digest,
        "analyser": analyser.label,
        "cpu": cpu.label,
        "cycles": None if isinstance(found, str) else found.cycles,
        "reason": found if isinstance(found, str) else None,
    }
