"""What every stage is given: where results are kept, who does the work, who hears of it."""

import hashlib
from collections.abc import Container, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from memstrat.model import Code, Failure
from memstrat.runner.cache import Cache
from memstrat.runner.listener import Listener
from memstrat.runner.rows import Row, code_from_row, failure_row
from memstrat.runner.store import Store
from memstrat.runner.tables import CODES, FAILURES, KERNELS, LOWERINGS, VARIANTS


@dataclass(frozen=True, kw_only=True)
class Context:
    """Shared by the stages of one run. `failures` collects what is to be told of this run."""

    store: Store
    cache: Cache
    executor: Executor
    jobs: int
    listener: Listener
    failures: list[Row] = field(default_factory=list)

    def fail(self, failures: Iterable[Failure], already_stored: Container[str] = ()) -> None:
        """Write failures down as they happen, so that a killed run has told of them.

        Works in `already_stored` had theirs written down by an earlier run.
        """
        rows = [failure_row(failure) for failure in failures]
        self.failures.extend(rows)
        self.store.append(FAILURES, [row for row in rows if row["work"] not in already_stored])


@dataclass(frozen=True, kw_only=True)
class BuiltWorks:
    """The works of the current units, and of their variants under their current names."""

    units: frozenset[str]
    variants: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Emitted:
    """What the current units lowered to.

    `lowerings` are rows of that table joined with their kernels and variants; `codes` are the codes
    by digest.
    """

    lowerings: list[Row]
    codes: Mapping[str, Code]


def read_emitted(store: Store, built: BuiltWorks) -> Emitted:
    """Read back what the build stage stored for these units, in a fixed order."""
    kernels = {row["kernel"]: row for row in store.read(KERNELS).to_pylist()}
    variants = {
        row["variant"]: row
        for row in store.read(VARIANTS).to_pylist()
        if row["work"] in built.variants
    }
    lowerings = [
        {**kernels[row["kernel"]], **variants[row["variant"]], **row}
        for row in store.read(LOWERINGS).to_pylist()
        if row["work"] in built.units
    ]
    lowerings.sort(key=lambda row: (row["variant"], row["op"], row["size"], row["kernel"]))
    wanted = {row["code"] for row in lowerings}
    codes = {
        row["code"]: code_from_row(row)
        for row in store.read(CODES).to_pylist()
        if row["code"] in wanted
    }
    return Emitted(lowerings=lowerings, codes=codes)


@cache
def version_of(*packages: str) -> str:
    """A hash of the source of the packages that do a piece of work: one of the work's inputs."""
    text = hashlib.sha256()
    for name in packages:
        folder = Path(str(import_module(name).__file__)).parent
        for path in sorted(folder.glob("*.py")):
            text.update(path.read_bytes())
    return text.hexdigest()[:16]


def known_failures(store: Store, works: set[str]) -> list[Row]:
    """Failures that earlier runs wrote down for these units of work, each once."""
    rows = (row for row in store.read(FAILURES).to_pylist() if row["work"] in works)
    return list({tuple(sorted(row.items())): row for row in rows}.values())


def cell_key(row: Mapping[str, Any]) -> tuple[str, str | None, int]:
    """What a kernel's row asks of memory, whatever it promises the compiler: op, fill, size."""
    return (row["op"], row["fill"], row["size"])
