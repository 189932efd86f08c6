"""Predict: a static analyser's figure for every code to which its model applies."""

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

_CHUNK = 60
"""Codes of one work item: about a second, and enough for a process of the analyser to pay."""

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
    todo = sorted(
        (work for work in tasks if work not in done), key=lambda w: -len(tasks[w][0].text)
    )
    started = [
        context.executor.submit(predict_codes, {w: tasks[w] for w in chunk}, analyser, cpu)
        for chunk in (todo[first : first + _CHUNK] for first in range(0, len(todo), _CHUNK))
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
