"""`memstrat run` as a user meets it: exit codes, messages, what is kept, what is printed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STUDY = """
name = "tiny"
ops = ["memset"]
sizes = [40, 168]
toolchains = ["gcc"]
targets = ["gpr"]
reference = ["rep_stosq", "gpr_stores"]
[measure]
processes = 5
"""


def memstrat(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "memstrat", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd
    )


def parts(results: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(results)): path.read_bytes()
        for path in results.glob("tables/*/*.parquet")
    }


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(STUDY)
    return path


@pytest.mark.compilers
@pytest.mark.native
def test_a_study_runs_from_its_file_to_a_report_and_is_not_run_twice(
    study: Path, tmp_path: Path
) -> None:
    results = tmp_path / "out"
    first = memstrat("run", study, "--results", results)
    assert first.returncode == 0, first.stderr
    assert "rep stosq" in first.stdout
    assert str(results / "report.html") in first.stdout
    assert (results / "report.html").read_text().startswith("<!DOCTYPE html>")
    before = parts(results)
    assert {name.split("/")[1] for name in before} >= {"lowerings", "samples", "estimates"}
    second = memstrat("run", study, "--results", results)
    assert second.returncode == 0, second.stderr
    assert parts(results) == before


@pytest.mark.compilers
@pytest.mark.native
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    study = tmp_path / "killed.toml"
    study.write_text(STUDY.replace("[40, 168]", '["8:512:8"]'))
    results = tmp_path / "out"
    command = [sys.executable, "-m", "memstrat", "run", str(study), "--results", str(results)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not list(results.glob("tables/samples/*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = parts(results)
    assert any("samples" in name for name in kept)
    finished = memstrat("run", study, "--results", results, "--json")
    assert finished.returncode == 0, finished.stderr
    assert kept.items() <= parts(results).items()
    from memstrat.runner.store import Store
    from memstrat.runner.tables import LOWERINGS, SAMPLES

    store = Store.open(results)
    keys = [
        (r["work"], r["process"], r["code"], r["twin"]) for r in store.read(SAMPLES).to_pylist()
    ]
    assert len(keys) == len(set(keys))
    assert len({key[0] for key in keys}) == 64
    lowerings = [(r["variant"], r["kernel"]) for r in store.read(LOWERINGS).to_pylist()]
    assert len(lowerings) == len(set(lowerings)) == 64 * 3


@pytest.mark.compilers
def test_nothing_is_run_when_measuring_is_not_wanted(study: Path, tmp_path: Path) -> None:
    results = tmp_path / "out"
    done = memstrat("run", study, "--results", results, "--no-measure", "--json")
    assert done.returncode == 0, done.stderr
    tables = {path.name for path in (results / "tables").iterdir()}
    assert "lowerings" in tables
    assert not tables & {"samples", "estimates", "verifications"}
    assert json.loads(done.stdout)["crossovers"] == []


def test_a_compiler_that_always_fails_leaves_nothing_done(study: Path, tmp_path: Path) -> None:
    study.write_text(STUDY.replace('["rep_stosq", "gpr_stores"]', "false"))
    wrapper = tmp_path / "broken-gcc"
    wrapper.write_text(
        '#!/bin/sh\ncase "$*" in *-S*) echo "internal compiler error: oops" >&2; exit 4;; esac\n'
        'exec gcc "$@"\n'
    )
    wrapper.chmod(0o755)
    done = memstrat("run", study, "--results", tmp_path / "out", "--toolchain", f"gcc={wrapper}")
    assert done.returncode == 4
    assert "internal compiler error: oops" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name = ", "is not TOML"),
        ('name = "x"\n', "ops"),
        (STUDY.replace('"gcc"', '"no-such-compiler"'), "no-such-compiler"),
        (STUDY.replace('"memset"', '"memsett"'), "memsett"),
        (STUDY.replace("[40, 168]", "[0]"), "size 0"),
        (STUDY + 'flags = ["-o/etc/passwd"]', "flags"),
    ],
)
def test_a_wrong_study_ends_with_2_and_names_what_is_wrong(
    study: Path, tmp_path: Path, content: str, message: str
) -> None:
    study.write_text(content)
    done = memstrat("run", study, "--results", tmp_path / "out")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_study_that_is_not_there_ends_with_2(tmp_path: Path) -> None:
    done = memstrat("run", tmp_path / "none.toml")
    assert done.returncode == 2
    assert "none.toml" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_cpu_that_is_not_there_ends_with_2(study: Path, tmp_path: Path) -> None:
    done = memstrat("run", study, "--results", tmp_path / "out", "--cpu", "60000")
    assert done.returncode == 2
    assert "CPU 60000" in done.stderr


def test_results_of_somebody_else_are_not_touched(study: Path, tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear")
    done = memstrat("run", study, "--results", folder)
    assert done.returncode == 2
    assert sorted(path.name for path in folder.iterdir()) == ["letter.txt"]
