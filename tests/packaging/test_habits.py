"""Rules for files: the lock, the Makefile, and nothing that is true of one machine only."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("deb", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("npmjs", "org"),
        ("crates", "io"),
        ("anaconda", "org"),
        ("jsdelivr", "net"),
        ("unpkg", "com"),
    )
]
"""Hosts of package registries, put together here so that this file does not name them either."""

MACHINE_FOLDERS = [f"/{name}/" for name in ("work", "root", "home")]


@pytest.fixture(scope="session")
def texts(root: Path, source_files: list[Path]) -> dict[Path, str]:
    """Every text file of the project."""
    found = {}
    for path in source_files:
        content = (root / path).read_bytes()
        if b"\0" not in content[:8192]:
            found[path] = content.decode()
    return found


@pytest.fixture(scope="session")
def locked(root: Path) -> dict[str, list[tuple[Requirement, list[str]]]]:
    """`requirements.txt`: name -> its requirements (one per marker) with their hashes."""
    text = (root / "requirements.txt").read_text().replace("\\\n", " ")
    found: dict[str, list[tuple[Requirement, list[str]]]] = {}
    for line in text.splitlines():
        if line and not line.lstrip().startswith("#"):
            stated, *hashes = line.split(" --hash=")
            requirement = Requirement(stated.strip())
            found.setdefault(canonical(requirement.name), []).append((requirement, hashes))
    return found


def canonical(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("host", REGISTRY_HOSTS)
def test_no_file_names_a_registry(host: str, texts: dict[Path, str]) -> None:
    assert [path for path, text in texts.items() if host in text] == []


@pytest.mark.parametrize("folder", MACHINE_FOLDERS)
def test_no_file_names_a_folder_of_one_machine(folder: str, texts: dict[Path, str]) -> None:
    pattern = re.compile(rf"(?<![\w.)}}]){re.escape(folder)}")
    assert [path for path, text in texts.items() if pattern.search(text)] == []


def test_no_file_names_this_checkout_or_environment(root: Path, texts: dict[Path, str]) -> None:
    for place in (str(root), sys.prefix):
        assert [path for path, text in texts.items() if place in text] == []


def test_lock_pins_each_requirement_with_hashes(
    locked: dict[str, list[tuple[Requirement, list[str]]]],
) -> None:
    assert locked
    for entries in locked.values():
        for requirement, hashes in entries:
            assert str(requirement.specifier).startswith("=="), requirement
            assert hashes, requirement
            assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", one) for one in hashes), requirement


def test_lock_records_no_address(root: Path) -> None:
    text = (root / "requirements.txt").read_text()
    assert "://" not in text
    assert not re.search(r"^\s*(-[if]|--(index|extra-index|find-links))", text, re.MULTILINE)


def test_lock_satisfies_every_direct_dependency(
    locked: dict[str, list[tuple[Requirement, list[str]]]], pyproject: dict[str, Any]
) -> None:
    extras = pyproject["project"]["optional-dependencies"]
    wanted = [*pyproject["project"]["dependencies"], *extras["dev"], *extras["notebook"]]
    for requirement in map(Requirement, wanted):
        entries = locked[canonical(requirement.name)]
        versions = [next(iter(entry.specifier)).version for entry, _ in entries]
        assert all(requirement.specifier.contains(version) for version in versions), requirement


def test_lock_serves_every_python_that_is_promised(
    locked: dict[str, list[tuple[Requirement, list[str]]]], pyproject: dict[str, Any]
) -> None:
    classifiers = pyproject["project"]["classifiers"]
    versions = [c.rpartition(" ")[2] for c in classifiers if re.search(r":: 3\.\d+$", c)]
    assert versions
    for version in versions:
        environment = {"python_version": version, "python_full_version": f"{version}.1"}
        for requirement in map(Requirement, pyproject["project"]["dependencies"]):
            matching = [
                entry
                for entry, _ in locked[canonical(requirement.name)]
                if entry.marker is None or entry.marker.evaluate(environment)
            ]
            assert len(matching) == 1, f"{requirement.name} on Python {version}"


def test_makefile_explains_every_target(root: Path) -> None:
    text = (root / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony is not None
    shown = subprocess.run(
        ["make", "help"], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    assert set(re.findall(r"^  make (\w+) +\w", shown, re.MULTILINE)) == set(phony[1].split())
