"""What continuous integration lets pass."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = '<testsuites><testsuite tests="{tests}" skipped="{skipped}"/></testsuites>'


def run_ci(root: Path, folder: Path, make: str) -> subprocess.CompletedProcess[str]:
    """Run `.ci/run` in a checkout where `make` is the given script."""
    (folder / ".ci").mkdir()
    shutil.copy(root / ".ci/run", folder / ".ci/run")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/python").symlink_to(sys.executable)
    (folder / "make").write_text(f"#!/bin/bash\nreport=${{PYTEST_ADDOPTS##*=}}\n{make}\n")
    (folder / "make").chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(
        [folder / ".ci/run"], env=environment, check=False, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("tests", "skipped", "passes"), [(5, 2, True), (5, 5, False), (0, 0, False)]
)
def test_a_run_passes_only_when_a_test_was_executed(
    tests: int, skipped: int, passes: bool, root: Path, tmp_path: Path
) -> None:
    suite = SUITE.format(tests=tests, skipped=skipped)
    done = run_ci(root, tmp_path, f"echo '{suite}' >\"$report\"")
    assert (done.returncode == 0) is passes, done.stderr


def test_a_run_that_never_came_to_the_tests_fails(root: Path, tmp_path: Path) -> None:
    assert run_ci(root, tmp_path, "true").returncode != 0


def test_a_failing_suite_fails(root: Path, tmp_path: Path) -> None:
    suite = SUITE.format(tests=5, skipped=0)
    assert run_ci(root, tmp_path, f"echo '{suite}' >\"$report\"; exit 2").returncode != 0
