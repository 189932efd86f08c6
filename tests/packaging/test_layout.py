"""How the rooms stand and who may import whom."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

MODEL = {
    "memstrat.model",
    "memstrat.doubts",
    "memstrat.errors",
    "memstrat.order_statistics",
}
DATA = {"memstrat.kernels", "memstrat.templates"}
MAY_IMPORT = {
    "memstrat.model": set[str](),
    "memstrat.doubts": set[str](),
    "memstrat.errors": set[str](),
    "memstrat.order_statistics": set[str](),
    "memstrat.kernels": set[str](),
    "memstrat.templates": set[str](),
    "memstrat.generators": MODEL | DATA | {"memstrat.generators"},
    "memstrat.runner": MODEL | DATA | {"memstrat.generators", "memstrat.runner"},
    "memstrat.reports": MODEL
    | DATA
    | {"memstrat.reports"}
    | {"memstrat.runner.cache", "memstrat.runner.store", "memstrat.runner.tables"},
}
"""Room -> what it may import of memstrat. The command line and the front door may see all."""

STARTS_PROCESSES = {"subprocess", "multiprocessing", "pty", "ctypes"}

LONGEST_FILE = 400


def is_within(module: str, package: str) -> bool:
    """Whether a module is the package or below it."""
    return module == package or module.startswith(f"{package}.")


@pytest.fixture(scope="session")
def modules(root: Path) -> dict[str, Path]:
    """Every module of memstrat, by its import name."""
    found = {}
    links = [path for path in (root / "src/memstrat").iterdir() if path.is_symlink()]
    folders = [(root / "src/memstrat", "memstrat")]
    folders += [(link.resolve(), f"memstrat.{link.name}") for link in links]
    for folder, package in folders:
        for path in folder.rglob("*.py"):
            inside = path.relative_to(folder).with_suffix("").parts
            parts = inside[:-1] if inside[-1] == "__init__" else inside
            found[".".join([package, *parts])] = path
    return found


@pytest.fixture(scope="session")
def imports(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Module -> what it imports, anywhere in its text; names resolved to modules of memstrat."""
    return {
        name: set(imported_modules(ast.parse(path.read_text()), modules))
        for name, path in modules.items()
    }


def imported_modules(tree: ast.AST, modules: dict[str, Path]) -> Iterator[str]:
    """`from memstrat.runner import tables` imports `memstrat.runner.tables`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in modules else node.module


def test_links_are_the_table_of_packages(root: Path, pyproject: dict[str, Any]) -> None:
    table = pyproject["tool"]["setuptools"]["package-dir"]
    links = {
        f"memstrat.{path.name}": path.readlink().as_posix()
        for path in (root / "src/memstrat").iterdir()
        if path.is_symlink()
    }
    rooms = {name: f"../../{folder}" for name, folder in table.items() if "src/" not in folder}
    assert links == rooms


def test_every_package_is_named(modules: dict[str, Path], pyproject: dict[str, Any]) -> None:
    packages = {name for name, path in modules.items() if path.name == "__init__.py"}
    assert packages == set(pyproject["tool"]["setuptools"]["packages"])


def test_every_module_stands_in_a_package(modules: dict[str, Path]) -> None:
    for name, path in modules.items():
        assert (path.parent / "__init__.py").exists(), name


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_from_those_before_it(room: str, imports: dict[str, set[str]]) -> None:
    allowed = MAY_IMPORT[room]
    for module, imported in imports.items():
        for name in imported if is_within(module, room) else ():
            ours = is_within(name, "memstrat")
            assert not ours or any(is_within(name, one) for one in allowed), f"{module}: {name}"


def test_no_module_imports_itself_through_others(imports: dict[str, set[str]]) -> None:
    ours = {
        module: {name for name in imported if name in imports and name != module}
        for module, imported in imports.items()
    }
    assert list(TopologicalSorter(ours).static_order())


def test_reports_reach_nothing_that_starts_a_process(imports: dict[str, set[str]]) -> None:
    reached: set[str] = set()
    waiting = [name for name in imports if is_within(name, "memstrat.reports")]
    while waiting:
        module = waiting.pop()
        new = imports.get(module, set()) - reached
        reached |= new
        waiting += new
    assert waiting == []
    assert not reached & STARTS_PROCESSES
    assert "memstrat.runner.processes" not in reached


def test_no_file_of_code_is_longer_than_a_subject(root: Path, source_files: list[Path]) -> None:
    code = [path for path in source_files if path.suffix in (".py", ".c", ".h", ".S", ".j2")]
    lengths = {path: len((root / path).read_text().splitlines()) for path in code}
    assert {path: n for path, n in lengths.items() if n > LONGEST_FILE} == {}
