"""How memstrat ends when it is interrupted or killed, or when nobody reads what it prints."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

MEMSTRAT = [sys.executable, "-m", "memstrat"]
PATIENCE_S = 30.0

STUDY = """
name = "tiny"
ops = ["memset"]
sizes = [40]
toolchains = ["slow"]
targets = ["gpr"]
reference = ["rep_stosq"]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a study that needed gcc and nothing else."""
    folder = tmp_path_factory.mktemp("endings")
    study = folder / "tiny.toml"
    study.write_text(STUDY)
    command = [*MEMSTRAT, "run", str(study), "--results", str(folder / "out"), "--no-measure"]
    done = subprocess.run(
        [*command, "--toolchain", "slow=gcc"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "out"


@dataclass(frozen=True, kw_only=True)
class Running:
    """A run whose compiler hangs: the run's process, and the numbers of worker and compiler."""

    process: subprocess.Popen[str]
    worker: int
    compiler: int

    def close(self) -> None:
        """End it, whatever the test left of it."""
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    noted = tmp_path / "noted"
    compiler = tmp_path / "slow-gcc"
    compiler.write_text(
        '#!/bin/sh\ncase "$*" in\n'
        f'*-ffreestanding*|*-fPIE*-S*) echo "$PPID $$" >>{noted}; exec sleep 1000;;\n'
        '*) exec gcc "$@";;\nesac\n'
    )
    compiler.chmod(0o755)
    study = tmp_path / "tiny.toml"
    study.write_text(STUDY)
    command = [*MEMSTRAT, "run", str(study), "--results", str(tmp_path / "out"), "--no-measure"]
    process = subprocess.Popen(
        [*command, "--toolchain", f"slow={compiler}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    waited_for(lambda: noted.exists() and noted.read_text().endswith("\n"))
    worker, compiling = map(int, noted.read_text().split()[:2])
    with closing(Running(process=process, worker=worker, compiler=compiling)) as found:
        yield found


def waited_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


def ended(process: int) -> bool:
    """Whether a process is no more, or only waits for its parent to take note of it."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


@pytest.mark.compilers
def test_ctrl_c_ends_a_run_and_all_it_started_with_one_message(running: Running) -> None:
    os.killpg(running.process.pid, signal.SIGINT)
    _, errors = running.process.communicate(timeout=PATIENCE_S)
    assert running.process.returncode == 130
    assert errors.endswith("memstrat: interrupted; what was finished is kept\n")
    assert "Traceback" not in errors
    waited_for(lambda: ended(running.worker) and ended(running.compiler))


@pytest.mark.compilers
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_run_that_is_killed(running: Running, number: signal.Signals) -> None:
    os.kill(running.process.pid, number)
    running.process.wait(timeout=PATIENCE_S)
    waited_for(lambda: ended(running.worker) and ended(running.compiler))


@pytest.mark.compilers
def test_a_worker_that_is_killed_ends_the_run_with_advice(running: Running) -> None:
    os.kill(running.worker, signal.SIGKILL)
    _, errors = running.process.communicate(timeout=PATIENCE_S)
    assert running.process.returncode == 4
    assert "fewer --jobs" in errors
    assert "Traceback" not in errors
    os.kill(running.compiler, signal.SIGKILL)  # its own session: nobody else knows of it now


@pytest.mark.compilers
@pytest.mark.parametrize("options", ["", "--json"])
def test_a_reader_that_leaves_is_no_error(results: Path, options: str) -> None:
    report = " ".join([*MEMSTRAT, "report", str(results), options])
    script = f"set -o pipefail; {report} | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.compilers
@pytest.mark.parametrize("options", ["", "--json"])
@pytest.mark.parametrize(("target", "code"), [(">&-", 0), (">/dev/full", 4)])
def test_output_that_goes_nowhere_shows_no_traceback(
    results: Path, options: str, target: str, code: int
) -> None:
    report = " ".join([*MEMSTRAT, "report", str(results), options, target])
    done = subprocess.run(["bash", "-c", report], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.compilers
@pytest.mark.parametrize(
    "place", ["/proc/memstrat", "/dev/null/memstrat", "file/memstrat", "file", "locked/memstrat"]
)
def test_results_that_cannot_be_written_end_with_2_and_name_the_place(
    tmp_path: Path, place: str
) -> None:
    if place.startswith("locked") and os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    (tmp_path / "file").write_text("")
    (tmp_path / "locked").mkdir(mode=0o555)
    (tmp_path / "tiny.toml").write_text(STUDY)
    target = place if place.startswith("/") else str(tmp_path / place)
    command = [*MEMSTRAT, "run", str(tmp_path / "tiny.toml"), "--results", target, "--no-measure"]
    done = subprocess.run(
        [*command, "--toolchain", "slow=gcc"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"memstrat: {target}")
    assert "Traceback" not in done.stderr
