"""The checkout, and what is built from it once per session."""

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_SOURCE = {".git", ".venv", "build", "dist", "results"}
"""What stands beside the sources at the root; a room may use the same names."""


@dataclass(frozen=True, kw_only=True)
class Distributions:
    """The source distribution, the wheel built from it, and the wheel built from the checkout."""

    sdist: Path
    wheel: Path
    wheel_of_checkout: Path


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def pyproject() -> dict[str, Any]:
    """`pyproject.toml`, parsed."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="session")
def source_files() -> list[Path]:
    """Files that git tracks or would track, relative to the checkout, links left out."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nothing says which files belong to the project")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = [Path(name) for name in listed.split("\0") if name]
    return [path for path in paths if (ROOT / path).is_file() and not (ROOT / path).is_symlink()]


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Distributions]:
    """Build as a packager would, from a copy, with the tools that are installed and no network."""
    folder = tmp_path_factory.mktemp("distributions")
    checkout = folder / "checkout"
    shutil.copytree(ROOT, checkout, symlinks=True, ignore=_not_source)
    _build(checkout, folder / "from-sdist")
    _build(checkout, folder / "from-checkout", "--wheel")
    yield Distributions(
        sdist=_only(folder / "from-sdist", "*.tar.gz"),
        wheel=_only(folder / "from-sdist", "*.whl"),
        wheel_of_checkout=_only(folder / "from-checkout", "*.whl"),
    )
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def wheel_contents(distributions: Distributions) -> dict[str, bytes]:
    """The wheel's files: name -> bytes."""
    return read_wheel(distributions.wheel)


@pytest.fixture(scope="session")
def sdist_names(distributions: Distributions) -> set[str]:
    """Names of the source distribution's files, without the leading folder."""
    with tarfile.open(distributions.sdist) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isfile()}


def read_wheel(path: Path) -> dict[str, bytes]:
    """A wheel's files: name -> bytes."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _not_source(folder: str, names: list[str]) -> set[str]:
    beside = NOT_SOURCE & set(names) if Path(folder) == ROOT else set()
    return beside | {name for name in names if name == "__pycache__" or name.endswith("_cache")}


def _build(checkout: Path, out: Path, *options: str) -> None:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), *options]
    built = subprocess.run(command, cwd=checkout, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr


def _only(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    assert len(found) == 1, f"{pattern} in {folder}: {found}"
    return found[0]
