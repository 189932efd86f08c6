"""Verify codes: run each against its contract, in child processes of the harness."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from memstrat.errors import HarnessError
from memstrat.model import Code, Fill, Kernel, Op, digest_of
from memstrat.runner.native.harness import Record, harness_records
from memstrat.runner.native.pack import Contract, PackContents, unplaceable, write_pack
from memstrat.runner.rows import Row

LIMIT_MS = 2000
"""CPU time that one code may use for one contract, thousands of calls at most; five times as much
wall time."""


class Outcome(StrEnum):
    """What became of a code under its contract. Only a code that passed may be measured."""

    PASSED = "passed"
    WRONG = "wrong"
    CRASHED = "crashed"
    HUNG = "hung"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class Obligation:
    """A code, and what a kernel asks of it. Kernels that ask the same share an obligation."""

    code: Code
    op: Op
    fill: Fill | None
    size: int
    alignment: int

    @classmethod
    def of(cls, kernel: Kernel, code: Code) -> "Obligation":
        """What `kernel` asks of the code that was emitted for it."""
        return cls(
            code=code,
            op=kernel.op,
            fill=kernel.fill,
            size=kernel.size,
            alignment=kernel.alignment,
        )

    @property
    def work(self) -> str:
        """Identity: the code's bytes and the contract."""
        return digest_of([self.code.digest, self.op, self.fill, self.size, self.alignment])


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The outcome for one obligation; `detail` says what went wrong or why it was skipped."""

    obligation: Obligation
    outcome: Outcome
    detail: str | None = None

    def row(self) -> Row:
        """A row of `verifications`."""
        obligation = self.obligation
        return {
            "work": obligation.work,
            "code": obligation.code.digest,
            "op": obligation.op.value,
            "fill": None if obligation.fill is None else obligation.fill.value,
            "size": obligation.size,
            "alignment": obligation.alignment,
            "outcome": self.outcome.value,
            "detail": self.detail,
        }


def verify_codes(
    obligations: Iterable[Obligation],
    *,
    harness: Path,
    pack: Path,
    seed: int = 1,
    limit_ms: int = LIMIT_MS,
) -> list[Verification]:
    """Run every code against its contract; the results stand in the order of `obligations`.

    `pack` is where the pack of all these codes is written. A code that is wrong, crashes or hangs
    costs its own result alone. Raises HarnessError where the harness itself cannot work.
    """
    asked = list(obligations)
    refused = {
        obligation.work: Verification(
            obligation=obligation, outcome=Outcome.SKIPPED, detail=f"not run: {reason}"
        )
        for obligation in asked
        if (reason := unplaceable(obligation.code)) is not None
    }
    runnable = [obligation for obligation in asked if obligation.work not in refused]
    found = dict(refused)
    if runnable:
        write_pack(pack, harness, _contents(runnable))
        arguments = ["verify", "--seed", str(seed), "--limit-ms", str(limit_ms)]
        silence_s = 30.0 + 10 * limit_ms / 1000
        for record in harness_records(pack, arguments, silence_s=silence_s):
            verification = _verification(runnable, record)
            found[verification.obligation.work] = verification
    if missing := [obligation for obligation in asked if obligation.work not in found]:
        raise HarnessError(f"the harness gave no verdict on {len(missing)} codes")
    return [found[obligation.work] for obligation in asked]


def _contents(obligations: Sequence[Obligation]) -> PackContents:
    codes = {obligation.code.digest: obligation.code for obligation in obligations}
    index = {digest: i for i, digest in enumerate(codes)}
    contracts = tuple(
        Contract(
            code=index[obligation.code.digest],
            op=obligation.op,
            fill=obligation.fill,
            size=obligation.size,
            alignment=obligation.alignment,
        )
        for obligation in obligations
    )
    return PackContents(codes=tuple(codes.values()), contracts=contracts)


def _verification(obligations: Sequence[Obligation], record: Record) -> Verification:
    return Verification(
        obligation=obligations[record["contract"]],
        outcome=Outcome(record["outcome"]),
        detail=record.get("detail"),
    )
