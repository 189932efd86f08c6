"""What a user of the built wheel and source distribution gets: all of memstrat, nothing else."""

import os
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

Contents = dict[str, bytes]
Pyproject = dict[str, Any]


@pytest.fixture(scope="session")
def expected_files(root: Path, pyproject: Pyproject) -> set[str]:
    """By rule: the modules of every package, its `package-data`, and not a file more."""
    table = pyproject["tool"]["setuptools"]
    expected = set()
    for package in table["packages"]:
        folder = root / package_folder(package, table["package-dir"])
        patterns = ["*.py", *table["package-data"].get(package, [])]
        for pattern in patterns:
            for path in folder.glob(pattern):
                inside = path.relative_to(folder).as_posix()
                expected.add(f"{package.replace('.', '/')}/{inside}")
    return expected


def package_folder(package: str, package_dir: dict[str, str]) -> str:
    """Where setuptools finds a package: its own entry, or below its parent's."""
    if package in package_dir:
        return package_dir[package]
    parent, _, name = package.rpartition(".")
    return f"{package_folder(parent, package_dir)}/{name}"


def test_wheel_holds_modules_and_package_data_and_nothing_else(
    wheel_contents: Contents, expected_files: set[str]
) -> None:
    code = {name for name in wheel_contents if ".dist-info/" not in name}
    assert code == expected_files


def test_wheel_brings_one_import_name(wheel_contents: Contents, pyproject: Pyproject) -> None:
    version = pyproject["project"]["version"]
    tops = {name.partition("/")[0] for name in wheel_contents}
    assert tops == {"memstrat", f"memstrat-{version}.dist-info"}


def test_wheel_says_what_it_is(wheel_contents: Contents, pyproject: Pyproject) -> None:
    info = f"memstrat-{pyproject['project']['version']}.dist-info"
    metadata = {name.removeprefix(f"{info}/") for name in wheel_contents if name.startswith(info)}
    assert metadata == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
        "licenses/LICENSE",
        "top_level.txt",
    }


def test_wheel_holds_no_tests(wheel_contents: Contents) -> None:
    assert not [name for name in wheel_contents if fnmatch(name, "*test_*")]


def test_every_file_of_a_room_is_shipped_or_ignored_by_git(
    source_files: list[Path], expected_files: set[str], pyproject: Pyproject
) -> None:
    folders = pyproject["tool"]["setuptools"]["package-dir"]
    for path in source_files:
        for package, folder in folders.items():
            inside = path.as_posix().removeprefix(f"{folder}/")
            if inside != path.as_posix():
                shipped = f"{package.replace('.', '/')}/{inside}"
                assert shipped in expected_files, f"{path} is in no package and no package-data"


def test_source_distribution_rebuilds_the_wheel_of_the_checkout(distributions: Any) -> None:
    def code(path: Path) -> Contents:
        with zipfile.ZipFile(path) as archive:
            return {n: archive.read(n) for n in archive.namelist() if not n.endswith("/RECORD")}

    assert code(distributions.wheel) == code(distributions.wheel_of_checkout)


def test_source_distribution_holds_tests_and_studies(
    sdist_names: set[str], source_files: list[Path]
) -> None:
    wanted = {path.as_posix() for path in source_files if path.parts[0] in ("tests", "studies")}
    assert wanted <= sdist_names
    assert {"LICENSE", "README.md", "pyproject.toml"} <= sdist_names


@pytest.fixture(scope="session")
def unpacked_wheel(distributions: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it would lie in site-packages."""
    folder = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(distributions.wheel) as archive:
        archive.extractall(folder)
    return folder


def run_python(site_packages: Path, *arguments: str) -> str:
    """Run this interpreter elsewhere, with memstrat from `site_packages`."""
    environment = {**os.environ, "PYTHONPATH": str(site_packages)}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=site_packages, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_of_the_wheel_can_be_imported(
    unpacked_wheel: Path, expected_files: set[str]
) -> None:
    modules = [
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in sorted(expected_files)
        if name.endswith(".py")
    ]
    lines = ["import importlib, memstrat", "print(memstrat.__file__)"]
    lines += [f"importlib.import_module({module!r})" for module in modules]
    output = run_python(unpacked_wheel, "-c", "\n".join(lines))
    assert Path(output.strip()).is_relative_to(unpacked_wheel)


def test_data_of_the_wheel_is_found_as_resources(unpacked_wheel: Path) -> None:
    program = (
        "from importlib.resources import files\n"
        "print(sum(p.name.endswith('.j2') for p in files('memstrat.templates').iterdir()))"
    )
    assert int(run_python(unpacked_wheel, "-c", program)) > 0


def test_the_installed_command_tells_the_version(
    unpacked_wheel: Path, pyproject: Pyproject
) -> None:
    output = run_python(unpacked_wheel, "-m", "memstrat", "--version")
    assert pyproject["project"]["version"] in output
