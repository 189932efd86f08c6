"""Golden limits: up to which size each compiler emits which form, as read from its machine code.

The expectations are data, one file per compiler version in tests/golden/limits. A compiler that is
installed and has no file is named by a skipped test.
"""

import functools
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memstrat.model import Fill, Form, Kernel, Op
from memstrat.runner.inspect.lowerings import coverage, inspect_object

pytestmark = pytest.mark.compilers

CompileKernels = Callable[[str, Sequence[str], Sequence[Kernel]], bytes]

FOLDER = Path(__file__).parents[1] / "golden" / "limits"

COMMANDS = (
    "gcc",
    *(f"gcc-{version}" for version in range(11, 18)),
    "clang",
    *(f"clang-{version}" for version in range(14, 24)),
)

BEYOND = 16_384
"""No size above this one is compiled for a form without an upper limit."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one compiler does with one set of flags: the form at each of some sizes, by kernel."""

    compiler: str
    flags: str
    alignment: int
    expected: Mapping[str, Mapping[int, str]]


def read_limits(path: Path) -> Iterator[Limits]:
    for entry in tomllib.loads(path.read_text())["limits"]:
        yield Limits(
            compiler=path.stem,
            flags=entry["flags"],
            alignment=entry.get("alignment", 8),
            expected=expected_forms(entry),
        )


def expected_forms(entry: Mapping[str, Any]) -> dict[str, dict[int, str]]:
    step = entry.get("multiple_of", 1)
    found: dict[str, dict[int, str]] = {}
    for what, text in entry.get("forms", {}).items():
        found[what] = {size: form_at(text, size) for size in sizes_around(text, step)}
    for what, exact in entry.get("at", {}).items():
        found.setdefault(what, {}).update({int(size): form for size, form in exact.items()})
    return found


def parse_forms(text: str) -> list[tuple[str, int]]:
    """`straight 80, libcall` -> [("straight", 80), ("libcall", BEYOND)]."""
    words = [part.split() for part in text.split(", ")]
    return [(form, int(last[0]) if last else BEYOND) for form, *last in words]


def form_at(text: str, size: int) -> str:
    return next(form for form, last in parse_forms(text) if size <= last)


def sizes_around(text: str, step: int) -> list[int]:
    """Sizes next to each limit, half way between limits, and at both ends."""
    sizes = {step, 2 * step, 3 * step}
    previous = 0
    for _, last in parse_forms(text):
        end = min(last, 2 * previous + 1000)
        sizes |= {last - step, last, last + step, last + 2 * step} if last < BEYOND else {end}
        sizes.add((previous + end) // 2)
        previous = last
    return sorted({size // step * step for size in sizes if size >= step})


@functools.cache
def installed() -> dict[str, str]:
    """The compilers found, as `gcc-12`, and the first command of each."""
    found: dict[str, str] = {}
    for command in COMMANDS:
        if shutil.which(command) is None:
            continue
        version = subprocess.run(
            [command, "-dumpversion"], capture_output=True, text=True, check=True
        ).stdout
        name = f"{command.split('-')[0]}-{version.split('.')[0].strip()}"
        found.setdefault(name, command)
    return found


ALL_LIMITS = [limits for path in sorted(FOLDER.glob("*.toml")) for limits in read_limits(path)]


def kernel_of(what: str, size: int, alignment: int) -> Kernel:
    op, *fill = what.split()
    return Kernel(op=Op(op), fill=Fill(fill[0]) if fill else None, size=size, alignment=alignment)


@pytest.mark.parametrize(
    "limits", ALL_LIMITS, ids=[f"{limits.compiler} {limits.flags}" for limits in ALL_LIMITS]
)
def test_the_emitted_form_changes_at_the_known_sizes(
    compile_kernels: CompileKernels, limits: Limits
) -> None:
    command = installed().get(limits.compiler)
    if command is None:
        pytest.skip(f"{limits.compiler} is not installed")
    expected = {
        kernel_of(what, size, limits.alignment): form
        for what, forms in limits.expected.items()
        for size, form in forms.items()
    }
    kernels = list(expected)
    data = compile_kernels(command, limits.flags.split(), kernels)
    inspection = inspect_object(data, kernels, {})
    assert inspection.problems == ()
    found = {lowering.kernel: lowering.form.value for lowering in inspection.lowerings}
    wrong = {
        kernel.name: f"expected {expected[kernel]}, found {form}"
        for kernel, form in found.items()
        if form != expected[kernel]
    }
    assert wrong == {}
    for lowering in inspection.lowerings:
        covered = coverage(lowering.code, lowering.kernel)
        assert covered is (None if lowering.form is Form.LIBCALL else True), lowering.kernel.name
        assert lowering.executed is not None


@pytest.mark.parametrize("command", COMMANDS)
def test_every_compiler_installed_has_known_limits(command: str) -> None:
    name = next((name for name, first in installed().items() if first == command), None)
    if name is None:
        pytest.skip(f"{command} is not installed, or another name of the same version")
    if not (FOLDER / f"{name}.toml").exists():
        pytest.skip(
            f"{name} is installed and has no expectations: add {name}.toml to {FOLDER.name}"
        )
    assert list(read_limits(FOLDER / f"{name}.toml"))


def test_every_form_expected_is_a_form() -> None:
    forms = {
        form
        for limits in ALL_LIMITS
        for by_size in limits.expected.values()
        for form in by_size.values()
    }
    assert forms <= set(Form)
    assert len(forms) > 5


def test_expectations_are_read_as_limits() -> None:
    text = "straight 80, rep_8byte 8192, libcall"
    assert [form_at(text, size) for size in (1, 80, 81, 8192, 8193)] == [
        "straight",
        "straight",
        "rep_8byte",
        "rep_8byte",
        "libcall",
    ]
    sizes = sizes_around(text, 8)
    assert {8, 80, 88, 8192, 8200} <= set(sizes)
    assert all(size % 8 == 0 for size in sizes)
