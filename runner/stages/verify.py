"""Verify: every distinct code against every contract that it was emitted for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memstrat.model import Failure, Fill, Isa, Op, Stage, digest_of
from memstrat.runner.native.verify import Obligation, Outcome, verify_codes
from memstrat.runner.rows import Row
from memstrat.runner.stages.context import Context, Emitted, cell_key
from memstrat.runner.tables import VERIFICATIONS

_CHUNK = 1000
"""Contracts between two parts: a second of work, which is what a killed run loses."""

_FAILED = frozenset({Outcome.WRONG, Outcome.CRASHED, Outcome.HUNG})


@dataclass(frozen=True, kw_only=True)
class Verified:
    """The works of all contracts, and the codes that may be measured in a cell.

    `passed` holds (code, (op, fill, size)) where all contracts that the code has there passed.
    `skipped` counts contracts that this CPU cannot run.
    """

    works: list[str]
    passed: frozenset[tuple[str, tuple[str, str | None, int]]]
    skipped: int


def run_verify(emitted: Emitted, context: Context, *, harness: Path, isa: Isa) -> Verified:
    """Verify what is not verified yet on a machine like this one, which runs code up to `isa`."""
    lowerings = _obliging(emitted, harness.name, isa)
    done = {work for (work,) in context.store.done(VERIFICATIONS)} & set(lowerings)
    context.listener.begin(Stage.VERIFY, len(lowerings), len(done))
    todo = [work for work in lowerings if work not in done]
    for first in range(0, len(todo), _CHUNK):
        chunk = todo[first : first + _CHUNK]
        obligations = [_obligation(lowerings[work], emitted) for work in chunk]
        context.store.append(VERIFICATIONS, _verify(obligations, chunk, harness))
        context.listener.advance(Stage.VERIFY, len(chunk))
    rows = {
        row["work"]: row
        for row in context.store.read(VERIFICATIONS).to_pylist()
        if row["work"] in lowerings
    }
    context.fail(_failures(rows, emitted), already_stored=done)
    verified = _judge(rows)
    context.listener.end(Stage.VERIFY, _summary(rows, verified))
    return verified


def _obliging(emitted: Emitted, harness: str, isa: Isa) -> dict[str, Row]:
    """A lowering for each distinct work: the code, what it must do, and who checks it where."""
    return {
        digest_of([row["code"], *cell_key(row), row["alignment"], harness, isa]): row
        for row in emitted.lowerings
    }


def _obligation(row: Row, emitted: Emitted) -> Obligation:
    return Obligation(
        code=emitted.codes[row["code"]],
        op=Op(row["op"]),
        fill=None if row["fill"] is None else Fill(row["fill"]),
        size=row["size"],
        alignment=row["alignment"],
    )


def _verify(obligations: Sequence[Obligation], works: Sequence[str], harness: Path) -> list[Row]:
    with TemporaryDirectory(prefix="memstrat-") as folder:
        verifications = verify_codes(obligations, harness=harness, pack=Path(folder, "pack"))
    return [{**v.row(), "work": work} for v, work in zip(verifications, works, strict=True)]


def _judge(rows: dict[str, Row]) -> Verified:
    refused = {
        (row["code"], cell_key(row)) for row in rows.values() if row["outcome"] != Outcome.PASSED
    }
    everything = {(row["code"], cell_key(row)) for row in rows.values()}
    return Verified(
        works=sorted(rows),
        passed=frozenset(everything - refused),
        skipped=sum(row["outcome"] == Outcome.SKIPPED for row in rows.values()),
    )


def _failures(rows: dict[str, Row], emitted: Emitted) -> list[Failure]:
    """One failure per lowering whose code failed, for each variant shares the blame by name."""
    bad: dict[Any, Row] = {
        (row["code"], cell_key(row), row["alignment"]): row
        for row in rows.values()
        if row["outcome"] in _FAILED
    }
    return [
        Failure(
            stage=Stage.VERIFY,
            work=row["work"],
            subject=f"{lowering['label']} {lowering['kernel']}",
            reason=f"{row['outcome']}: {row['detail']}",
        )
        for lowering in emitted.lowerings
        if (row := bad.get((lowering["code"], cell_key(lowering), lowering["alignment"])))
    ]


def _summary(rows: dict[str, Row], verified: Verified) -> str:
    failed = sum(row["outcome"] in _FAILED for row in rows.values())
    text = f"{len(rows) - failed - verified.skipped} of {len(rows)} contracts hold"
    if failed:
        text += f", {failed} do not"
    if verified.skipped:
        text += f", {verified.skipped} cannot run on this CPU"
    return text
