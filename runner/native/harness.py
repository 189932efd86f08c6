"""The native harness from Python: compile it once per host, run it, read what it says line by line.

A harness streams its results, so that whatever it found before it was killed is kept. That is why
it does not run through `run_process`, which waits for the end.
"""

import hashlib
import json
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO, Any, cast

from memstrat.errors import HarnessError
from memstrat.runner.native.pack import write_executable
from memstrat.runner.processes import child_environment, failure_text, printable, run_process

COMPILE_FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror")
"""How the harness is compiled; its own speed outside of timed code does not matter."""

COMPILE_TIMEOUT_S = 120.0

_HOST_COMPILERS = ("cc", "gcc", "clang")

Record = dict[str, Any]
"""One line of a harness: `record` names its kind."""


class HarnessEndedError(HarnessError):
    """A harness process that ended otherwise than by finishing its work."""


def build_harness(
    cache_directory: Path,
    *,
    compiler: Sequence[str] | None = None,
    extra_flags: Sequence[str] = (),
) -> Path:
    """The harness executable for this host, compiled unless `cache_directory` already has it.

    Without a `compiler` the first of cc, gcc and clang on PATH compiles it. Its name holds the hash
    of the sources, the flags, and what the compiler says of itself. Raises HarnessError with the
    compiler's own words where that does not work, OSError where `cache_directory` cannot be
    written.
    """
    compiler = compiler or [next(filter(shutil.which, _HOST_COMPILERS), _HOST_COMPILERS[0])]
    if shutil.which(compiler[0]) is None:
        raise HarnessError(
            f"no C compiler {compiler[0]!r} on PATH: measuring needs one; install gcc or clang, "
            "or leave measuring out with --no-measure"
        )
    with as_file(files("memstrat.kernels").joinpath("harness")) as folder:
        sources = sorted(path for path in folder.iterdir() if path.suffix in (".c", ".h", ".S"))
        words = [*compiler, *COMPILE_FLAGS, *extra_flags]
        target = cache_directory / f"harness-{_identity(sources, words, compiler)}"
        if not target.exists():
            _compile(words, [path for path in sources if path.suffix != ".h"], target)
    return target


def harness_records(
    pack: Path, arguments: Sequence[str], *, silence_s: float
) -> Generator[Record, None, None]:
    """Run a pack with `arguments` and yield its lines as they come.

    Raises HarnessEndedError at the end where the process was killed, failed, or printed nothing for
    `silence_s` seconds. Closing the iterator early ends the process.
    """
    with ExitStack() as stack:
        errors = stack.enter_context(tempfile.TemporaryFile())
        try:
            process = subprocess.Popen(
                [str(pack.absolute()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env=child_environment(),
            )
        except OSError as error:
            raise HarnessError(f"{pack} cannot be started: {error.strerror or error}") from error
        stack.enter_context(process)
        stack.callback(process.kill)
        for line in _lines(cast("IO[bytes]", process.stdout), silence_s):
            yield json.loads(line)
        returncode = process.wait()
        if returncode != 0:
            raise HarnessEndedError(_ending(returncode, errors))


def machine_record(harness: Path) -> Record:
    """What the harness says of the machine it runs on: its `machine` record."""
    records = list(harness_records(harness, ["machine"], silence_s=30.0))
    if len(records) != 1:
        raise HarnessError(f"{harness} said {len(records)} things of the machine, not one")
    return records[0]


def index_ranges(indices: Sequence[int]) -> str:
    """`0-9,12` for the harness's `--indices`; the order is kept."""
    ranges: list[list[int]] = []
    for index in indices:
        if ranges and index == ranges[-1][1] + 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def _identity(sources: Sequence[Path], words: Sequence[str], compiler: Sequence[str]) -> str:
    version = run_process([*compiler, "--version"], timeout_s=COMPILE_TIMEOUT_S)
    digest = hashlib.sha256("\0".join(words).encode() + version.stdout)
    for path in sources:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _compile(words: Sequence[str], sources: Sequence[Path], target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "harness"
        command = [*words, *map(str, sources), "-lm", "-o", str(made)]
        completed = run_process(command, timeout_s=COMPILE_TIMEOUT_S)
        if not completed.succeeded:
            raise HarnessError(f"the harness does not compile here\n{failure_text(completed)}")
        write_executable(target, made.read_bytes())


def _lines(stream: IO[bytes], silence_s: float) -> Iterator[bytes]:
    """Whole lines as they come; an unfinished last line is dropped."""
    unread = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            deadline = time.monotonic() + silence_s
            if not selector.select(deadline - time.monotonic()):
                raise HarnessEndedError(f"it said nothing for {silence_s:g} s")
            chunk = stream.read1(1 << 16)  # type: ignore[attr-defined]
            if not chunk:
                return
            *whole, unread = (unread + chunk).split(b"\n")
            yield from whole


def _ending(returncode: int, errors: IO[bytes]) -> str:
    errors.seek(0)
    said = printable(errors.read(4096).decode(errors="replace").strip())
    how = f"killed by signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
    return f"the harness ended early ({how})" + (f": {said}" if said else "")
