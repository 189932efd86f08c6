"""A study from its plan to stored tables: the stages in their order, and the record of the run."""

import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memstrat.errors import NothingDoneError, UsageError
from memstrat.generators.plan import Plan, plan_study
from memstrat.generators.study import Study
from memstrat.runner.cache import Cache, default_cache_directory
from memstrat.runner.compile.units import Limits
from memstrat.runner.listener import Listener
from memstrat.runner.native.harness import build_harness, machine_record
from memstrat.runner.native.machine import machine_from_record
from memstrat.runner.stages.build import run_build
from memstrat.runner.stages.context import Context, Emitted, read_emitted
from memstrat.runner.stages.measure import MeasureRequest, run_measure
from memstrat.runner.stages.predict import run_predict
from memstrat.runner.stages.verify import run_verify
from memstrat.runner.store import Store
from memstrat.runner.toolchains.discovery import resolve
from memstrat.runner.workers import worker_pool

_NOTHING_RUN: dict[str, list[str]] = {"verifications": [], "cells": [], "estimates": []}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be done: a study, where its results go, and by what means.

    `commands` are the user's own meanings of toolchain names; `cpu` measures (None: memstrat
    chooses); `jobs` processes build and predict.
    """

    study: Study
    directory: Path
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cpu: int | None = None
    jobs: int = 1
    measure: bool = True
    limits: Limits = field(default_factory=Limits)
    command: str = "memstrat run STUDY.toml"


def run_pipeline(request: Request, listener: Listener, executor: Executor | None = None) -> None:
    """Carry the request out, keeping what earlier runs finished, and record what is current.

    `executor` does the work of building and predicting; a pool of `jobs` processes by default.
    Raises MemstratError: for what the user got wrong before anything runs, and NothingDoneError
    where nothing could be compiled, verified or measured. What was emitted and predicted is
    recorded also where nothing was measured.
    """
    cpu = _cpu(request) if request.measure else None
    toolchains = resolve(request.study.toolchains, request.commands)
    plan = plan_study(request.study, toolchains)
    for note in plan.notes:
        listener.warn(note)
    store = Store.create(request.directory)
    with store.locked(), nullcontext(executor) if executor else worker_pool(request.jobs) as works:
        context = Context(
            store=store,
            cache=Cache(directory=default_cache_directory()),
            executor=works,
            jobs=request.jobs,
            listener=listener,
        )
        run = _carry_out(request, plan, context, cpu)
        store.write_run(run)
    if cpu is not None and not run["works"]["estimates"]:
        nothing = _nothing("verified and measured on this CPU", request, context)
        told = f"`memstrat report {request.directory}` shows what was emitted and predicted"
        raise NothingDoneError(f"{nothing}\n{told}")


def _carry_out(request: Request, plan: Plan, context: Context, cpu: int | None) -> dict[str, Any]:
    """Run the stages; returns the record of the run, which says what is current.

    Nothing is run on this machine where `cpu` is None.
    """
    seconds: dict[str, float] = {}
    with _timed(seconds, "build"):
        built = run_build(plan.units, context, request.limits)
        emitted = read_emitted(context.store, built)
    if not emitted.lowerings:
        raise NothingDoneError(_nothing("compiled and inspected", request, context))
    with _timed(seconds, "predict"):
        predictions = run_predict(emitted, context)
    works = {
        "units": sorted(built.units),
        "variants": sorted(built.variants),
        "predictions": predictions,
    }
    if cpu is not None:
        works |= _run_codes(request, emitted, context, cpu, seconds)
    else:
        context.listener.warn("nothing is verified or measured: --no-measure")
    return {
        "study": request.study.name,
        "title": request.study.title,
        "command": request.command,
        "works": {**_NOTHING_RUN, **works},
        "failures": context.failures,
        "notes": list(plan.notes),
        "seconds": {stage: round(value, 3) for stage, value in seconds.items()},
    }


def _run_codes(
    request: Request, emitted: Emitted, context: Context, cpu: int, seconds: dict[str, float]
) -> dict[str, list[str]]:
    """Verify and measure on this machine; returns the works of what is current."""
    with _harness(context.cache) as harness:
        machine = machine_from_record(machine_record(harness))
        with _timed(seconds, "verify"):
            verified = run_verify(emitted, context, harness=harness, isa=machine.isa)
        if not verified.passed:
            return {"verifications": verified.works}
        settings = request.study.measure
        with _timed(seconds, "measure"):
            measured = run_measure(
                MeasureRequest(
                    machine=machine,
                    harness=harness,
                    cpu=cpu,
                    processes=settings.processes,
                    max_seconds=settings.max_seconds,
                ),
                emitted,
                verified,
                context,
            )
    return {
        "verifications": verified.works,
        "cells": measured.cells,
        "estimates": measured.estimates,
    }


@contextmanager
def _harness(cache: Cache) -> Iterator[Path]:
    """The harness: kept in the cache's folder, or for this run where that cannot be written."""
    with ExitStack() as stack:
        try:
            harness = build_harness(cache.directory)
        except OSError:
            folder = stack.enter_context(TemporaryDirectory(prefix="memstrat-"))
            harness = build_harness(Path(folder))
        yield harness


def _cpu(request: Request) -> int:
    """The CPU that measures: as asked, else the last, since the first serves most interrupts."""
    allowed = sorted(os.sched_getaffinity(0))
    wanted = request.study.measure.cpu if request.cpu is None else request.cpu
    if wanted is None:
        return allowed[-1]
    if wanted not in allowed:
        raise UsageError(
            f"CPU {wanted} is not one that this process may run on; "
            f"choose from {', '.join(map(str, allowed))}"
        )
    return wanted


def _nothing(done: str, request: Request, context: Context, most: int = 5) -> str:
    reasons = [f"  {row['subject']}: {row['reason']}" for row in context.failures[:most]]
    if len(context.failures) > most:
        reasons.append(f"  and {len(context.failures) - most} more failures")
    return "\n".join([f"study {request.study.name}: nothing could be {done}", *reasons])


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    started = time.monotonic()
    try:
        yield
    finally:
        seconds[stage] = time.monotonic() - started
