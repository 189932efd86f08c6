import os
import signal
import sys
import threading
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrat.runner.processes import Outcome, failure_text, printable, run_process

SH = "/bin/sh"


def shell(text: str) -> tuple[str, ...]:
    return (SH, "-c", text)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until_gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


def test_passes_input_and_tells_outputs_apart() -> None:
    done = run_process(shell("cat; echo problem >&2; exit 3"), stdin=b"text\0", timeout_s=20)
    assert (done.stdout, done.stderr, done.returncode) == (b"text\0", b"problem\n", 3)
    assert done.outcome is Outcome.EXITED
    assert not done.succeeded


def test_carries_more_than_a_pipe_holds_in_both_directions() -> None:
    text = os.urandom(3 << 20)
    done = run_process(("cat",), stdin=text, timeout_s=20)
    assert done.succeeded
    assert done.stdout == text


def test_a_child_that_does_not_read_its_input_is_no_error() -> None:
    done = run_process(("true",), stdin=bytes(4 << 20), timeout_s=20)
    assert done.succeeded


def test_speaks_english_and_adds_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("CCC_OVERRIDE_OPTIONS", "+-O0")
    monkeypatch.setenv("KEPT", "yes")
    script = 'echo "$LC_ALL ${CCC_OVERRIDE_OPTIONS-unset} $KEPT $EXTRA"'
    done = run_process(shell(script), timeout_s=20, environment={"EXTRA": "more"})
    assert done.text.split() == ["C", "unset", "yes", "more"]


def test_a_signal_is_told_by_name() -> None:
    done = run_process(shell("kill -SEGV $$"), timeout_s=20)
    assert done.outcome is Outcome.SIGNALLED
    assert done.returncode == -signal.SIGSEGV
    assert "SIGSEGV" in done.detail


def test_a_missing_program_is_a_result_and_not_an_exception() -> None:
    done = run_process(("no-such-program-anywhere",), timeout_s=20)
    assert done.outcome is Outcome.NOT_STARTED
    assert done.returncode is None
    assert "no-such-program-anywhere" in done.detail


def test_ends_a_hanging_child_and_its_hanging_grandchild(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = f"(echo early; exec sleep 1000) & echo $! > {note}; wait"
    done = run_process(shell(script), timeout_s=0.5)
    assert done.outcome is Outcome.TIMED_OUT
    assert done.stdout == b"early\n"
    assert "0.5 s" in done.detail
    assert wait_until_gone(int(note.read_text()))


def test_ends_what_a_finished_child_leaves_behind(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    begun = time.monotonic()
    done = run_process(shell(f"sleep 1000 & echo $! > {note}; echo out"), timeout_s=60)
    assert done.succeeded
    assert done.stdout == b"out\n"
    assert time.monotonic() - begun < 30
    assert wait_until_gone(int(note.read_text()))


def test_does_not_wait_for_one_that_left_the_session_and_keeps_the_pipes() -> None:
    done = run_process(shell("setsid sleep 6 & sleep 0.3; echo out"), timeout_s=60)
    assert done.succeeded
    assert done.stdout == b"out\n"
    assert done.seconds < 6


def test_stops_a_child_that_prints_without_end() -> None:
    done = run_process(("yes",), timeout_s=60, output_bytes=1 << 20)
    assert done.outcome is Outcome.TOO_MUCH_OUTPUT
    assert len(done.stdout) <= 1 << 20


def test_stops_a_child_that_complains_without_end() -> None:
    done = run_process(shell("yes >&2"), timeout_s=60, output_bytes=1 << 20)
    assert done.outcome is Outcome.TOO_MUCH_OUTPUT


def test_a_memory_hog_is_stopped_by_its_own_limit() -> None:
    hog = (sys.executable, "-S", "-c", "x = bytearray(3 << 30)")
    done = run_process(hog, timeout_s=60, memory_bytes=1 << 30)
    assert done.outcome is Outcome.OUT_OF_MEMORY
    assert "1024 MiB" in done.detail


def test_the_memory_limit_reaches_grandchildren() -> None:
    script = f"{sys.executable} -S -c 'x = bytearray(3 << 30)'; exit 1"
    done = run_process(shell(script), timeout_s=60, memory_bytes=1 << 30)
    assert done.outcome is Outcome.OUT_OF_MEMORY


def test_a_child_inherits_no_descriptors() -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    try:
        done = run_process(shell("ls /proc/self/fd"), timeout_s=20)
    finally:
        os.close(read)
        os.close(write)
    assert done.text.split() == ["0", "1", "2", "3"], "three pipes, and the folder that ls reads"


def test_nice_lowers_the_priority() -> None:
    here = os.nice(0)
    done = run_process(("nice",), timeout_s=20, nice=3)
    assert int(done.text) == min(19, here + 3)


def test_many_threads_can_run_children_at_once() -> None:
    results: list[bytes] = []

    def work(index: int) -> None:
        text = str(index).encode() * 100_000
        results.append(run_process(("cat",), stdin=text, timeout_s=60).stdout)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [str(index).encode() * 100_000 for index in range(8)]


def test_a_failure_reads_as_command_ending_and_indented_bounded_output() -> None:
    done = run_process(shell("seq 1 100 >&2; exit 9"), timeout_s=20)
    text = failure_text(done, lines=3)
    first, *rest = text.splitlines()
    assert first.startswith(SH)
    assert first.endswith("exit code 9")
    assert rest == ["    ... 97 more lines", "    98", "    99", "    100"]


def test_a_failure_without_output_has_no_trailing_blank() -> None:
    assert failure_text(run_process(("false",), timeout_s=20)) == "false: exit code 1"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("\x1b[01;31merror:\x1b[0m no\n\tbut", "error: no\n\tbut"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", "ab"),
        ("bell\x07, back\x08, csi\x9b2J, del\x7f", "bell�, back�, csi�2J, del�"),
        ("é 漢 😀", "é 漢 😀"),
    ],
)
def test_nothing_that_a_program_says_steers_the_terminal(said: str, shown: str) -> None:
    assert printable(said) == shown


@given(st.text())
def test_what_is_printable_has_no_control_characters(said: str) -> None:
    assert not [c for c in printable(said) if unicodedata.category(c) == "Cc" and c not in "\n\t"]
