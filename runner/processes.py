"""Run a child process within limits: the one place of memstrat that starts other programs.

A child gets a session of its own, so that what it starts in turn (a compiler driver's cc1) ends
with it. Its output is read as it comes and bounded, so that a program that prints without end costs
no memory here. Limits are set by a shell that then becomes the program: nothing runs between fork
and exec in this process, which may have threads.
"""

import os
import re
import resource
import selectors
import shutil
import signal
import subprocess
import textwrap
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, cast

OUTPUT_BYTES = 64 * 1024 * 1024
"""Most bytes that a child may print, stdout and stderr each, unless the caller says otherwise."""

_CHUNK = 1 << 16

_GRACE_S = 2.0
"""How long to wait for the pipes of a child that has ended; a process that left the session may
hold them for ever."""

_CPU_S_PER_WALL_S = 8
"""CPU time allowed per second of wall time: it ends a child whose own parent was killed."""

_IGNORED_VARIABLES = frozenset(
    {
        # They make gcc write files of its own, or clang rewrite its arguments.
        "DEPENDENCIES_OUTPUT",
        "SUNPRO_DEPENDENCIES",
        "CCC_OVERRIDE_OPTIONS",
        "CCC_ADD_ARGS",
        "GCC_COMPARE_DEBUG",
        # Replaced by LC_ALL.
        "LANGUAGE",
    }
)

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
"""Control and operating-system sequences of ECMA-48, such as colours, titles and links."""

_CONTROL = re.compile(r"[^\n\t\x20-\x7e\xa0-\U0010ffff]")

_OUT_OF_MEMORY = re.compile(
    rb"out of memory|cannot allocate memory|virtual memory exhausted|bad_alloc|MemoryError"
    rb"|memory exhausted|failed to map segment",
    re.IGNORECASE,
)


class Outcome(StrEnum):
    """How a child process ended. `EXITED` says nothing about its exit code."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    TOO_MUCH_OUTPUT = "too much output"
    NOT_STARTED = "not started"


@dataclass(frozen=True, kw_only=True)
class Completed:
    """A child process that has ended, with what it printed.

    `returncode` is minus the signal's number for a child that a signal ended, and None for one that
    never started. `detail` is what happened to it in a few words. `seconds` is wall time.
    """

    command: tuple[str, ...]
    returncode: int | None
    stdout: bytes
    stderr: bytes
    outcome: Outcome
    detail: str
    seconds: float

    @property
    def succeeded(self) -> bool:
        """Whether it ran to its end by itself and exited with 0."""
        return self.outcome is Outcome.EXITED and self.returncode == 0

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are not UTF-8 are replaced."""
        return self.stdout.decode(errors="replace")

    @property
    def error_text(self) -> str:
        """Standard error as text; bytes that are not UTF-8 are replaced."""
        return self.stderr.decode(errors="replace")


def run_process(
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    timeout_s: float,
    memory_bytes: int | None = None,
    output_bytes: int = OUTPUT_BYTES,
    environment: Mapping[str, str] | None = None,
    nice: int = 0,
) -> Completed:
    """Run `command`, feed it `stdin`, and wait for it and all it started for at most `timeout_s`.

    `memory_bytes` bounds the address space of each process of the child's family. `output_bytes`
    bounds stdout and stderr each. `environment` is added to this process's own, in which LC_ALL is
    C. Whatever goes wrong with the child is told by the result; only mistakes of the caller raise.
    """
    words = tuple(command)
    started = time.monotonic()
    program = shutil.which(words[0])
    if program is None:
        return _not_started(words, f"no program {words[0]!r} that could be run was found")
    try:
        process = subprocess.Popen(
            [*_limiting_prefix(timeout_s, memory_bytes, nice), program, *words[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=child_environment(environment),
        )
    except OSError as error:
        return _not_started(words, f"could not be started: {error.strerror or error}")
    with process:
        try:
            exchange = _Exchange(process, stdin, output_bytes)
            stopped = exchange.run(started + timeout_s)
        finally:
            _kill_family(process)
    seconds = time.monotonic() - started
    stdout, stderr = bytes(exchange.stdout), bytes(exchange.stderr)
    outcome, detail = _judge(stopped, process.returncode, stderr, timeout_s, memory_bytes)
    return Completed(
        command=words,
        returncode=process.returncode,
        stdout=stdout,
        stderr=stderr,
        outcome=outcome,
        detail=detail,
        seconds=seconds,
    )


def child_environment(additions: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment as a child gets it: messages in English, no compiler overrides."""
    kept = {name: value for name, value in os.environ.items() if name not in _IGNORED_VARIABLES}
    return {**kept, "LC_ALL": "C", **(additions or {})}


def failure_text(completed: Completed, *, lines: int = 20, width: int = 300) -> str:
    """What went wrong, for people: the command, how it ended, and its last lines, indented.

    At most `lines` lines of output, each cut at `width` characters.
    """
    command = _cut(" ".join(completed.command), width)
    output = printable(completed.error_text.strip() or completed.text.strip())
    shown = [_cut(line, width) for line in output.splitlines()]
    if len(shown) > lines:
        shown = [f"... {len(shown) - lines} more lines", *shown[-lines:]]
    return "\n".join(
        [f"{command}: {completed.detail}", textwrap.indent("\n".join(shown), "    ")]
    ).rstrip()


def printable(text: str) -> str:
    """`text` without what would steer a terminal: colours and other sequences, control characters.

    Line ends and tabs stay.
    """
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _SEQUENCE.sub("", text))


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 3] + "..."


def _limiting_prefix(timeout_s: float, memory_bytes: int | None, nice: int) -> list[str]:
    """A shell's words that set the limits and then become the program that follows them."""
    cpu_s = _within(resource.RLIMIT_CPU, int(timeout_s * _CPU_S_PER_WALL_S) + 1)
    limits = ["ulimit -c 0", f"ulimit -t {cpu_s}"]
    if memory_bytes is not None:
        limits.append(f"ulimit -v {max(1, _within(resource.RLIMIT_AS, memory_bytes) // 1024)}")
    become = f'exec nice -n {nice} "$@"' if nice else 'exec "$@"'
    return ["/bin/sh", "-c", "; ".join([*limits, become]), "sh"]


def _within(kind: int, wanted: int) -> int:
    """`wanted`, or this process's own limit of that kind where that is lower."""
    _, highest = resource.getrlimit(kind)
    return wanted if highest == resource.RLIM_INFINITY else min(wanted, highest)


def _not_started(command: tuple[str, ...], detail: str) -> Completed:
    return Completed(
        command=command,
        returncode=None,
        stdout=b"",
        stderr=b"",
        outcome=Outcome.NOT_STARTED,
        detail=detail,
        seconds=0.0,
    )


def _kill_family(process: subprocess.Popen[bytes]) -> None:
    """End every process of the child's session that is still there.

    The child has not been waited for, so its number still names its own process group and no other.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _judge(
    stopped: Outcome | None,
    returncode: int,
    stderr: bytes,
    timeout_s: float,
    memory_bytes: int | None,
) -> tuple[Outcome, str]:
    """The outcome of a child that has ended, and how to say it."""
    if stopped is Outcome.TIMED_OUT:
        return stopped, f"still running after {timeout_s:g} s, ended"
    if stopped is not None:
        return stopped, "printed more than is accepted, ended"
    if returncode != 0 and memory_bytes is not None and _OUT_OF_MEMORY.search(stderr):
        return Outcome.OUT_OF_MEMORY, f"ran out of its {memory_bytes / 2**20:.0f} MiB of memory"
    if returncode < 0:
        return Outcome.SIGNALLED, f"ended by {_signal_name(-returncode)}"
    return Outcome.EXITED, f"exit code {returncode}"


def _signal_name(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


class _Exchange:
    """The conversation with one child: writes its stdin, reads its stdout and stderr, waits for it.

    Owns nothing: the caller closes the pipes and reaps the child.
    """

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, output_bytes: int) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._process = process
        pipes = (process.stdin, process.stdout, process.stderr)
        self._input, out, err = (cast("IO[bytes]", pipe) for pipe in pipes)
        self._stores = {out: self.stdout, err: self.stderr}
        self._unsent = memoryview(stdin)
        self._output_bytes = output_bytes

    def run(self, deadline: float) -> Outcome | None:
        """Talk until the child has ended and its pipes are empty, or until a limit is reached.

        Returns the limit that was reached, or None.
        """
        child = os.pidfd_open(self._process.pid)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(child, selectors.EVENT_READ, None)
                for pipe, store in self._stores.items():
                    os.set_blocking(pipe.fileno(), False)
                    selector.register(pipe, selectors.EVENT_READ, store)
                self._register_stdin(selector)
                return self._talk(selector, child, deadline)
        finally:
            os.close(child)

    def _register_stdin(self, selector: selectors.BaseSelector) -> None:
        if self._unsent:
            os.set_blocking(self._input.fileno(), False)
            selector.register(self._input, selectors.EVENT_WRITE, None)
        else:
            self._input.close()

    def _talk(
        self, selector: selectors.BaseSelector, child: int, deadline: float
    ) -> Outcome | None:
        ended = False
        while selector.get_map():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return None if ended else Outcome.TIMED_OUT
            for key, _ in selector.select(remaining):
                if key.fd == child:
                    ended = True
                    selector.unregister(child)
                    # What it leaves behind may hold the pipes open; what it printed is in them.
                    _kill_family(self._process)
                    deadline = min(deadline, time.monotonic() + _GRACE_S)
                elif key.data is None:
                    self._send(selector, key.fd)
                elif not self._receive(selector, key):
                    return Outcome.TOO_MUCH_OUTPUT
        return None

    def _send(self, selector: selectors.BaseSelector, fd: int) -> None:
        """Write what the pipe takes; a child that does not read its input is no error."""
        try:
            self._unsent = self._unsent[os.write(fd, self._unsent[:_CHUNK]) :]
        except BrokenPipeError:
            self._unsent = self._unsent[:0]
        if not self._unsent:
            selector.unregister(self._input)
            self._input.close()

    def _receive(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> bool:
        """Read what there is; False when the child has printed too much."""
        chunk = os.read(key.fd, _CHUNK)
        if not chunk:
            selector.unregister(key.fileobj)
            return True
        store: bytearray = key.data
        store += chunk[: self._output_bytes - len(store)]
        return len(store) < self._output_bytes
