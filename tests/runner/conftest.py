"""How the runner's tests come by machine code: compiled, or assembled from a few lines."""

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memstrat.generators.emit import c_source
from memstrat.model import Code, Kernel
from memstrat.runner.inspect.objects import extract_codes
from memstrat.runner.native.harness import build_harness

CompileKernels = Callable[[str, Sequence[str], Sequence[Kernel]], bytes]
Assemble = Callable[[str], bytes]
CodeOf = Callable[[Kernel, str], Code]


@pytest.fixture
def compile_kernels(assemble: Assemble) -> CompileKernels:
    """(compiler, flags, kernels) -> the object; skips where that compiler is not installed.

    The compiler writes assembly to standard output, as memstrat has it do: it may be a wrapper
    around one that stands in another root.
    """

    def compile_them(compiler: str, flags: Sequence[str], kernels: Sequence[Kernel]) -> bytes:
        if shutil.which(compiler) is None:
            pytest.skip(f"{compiler} is not installed")
        own = ["-fno-addrsig"] if compiler.startswith("clang") else []
        command = [compiler, *flags, *own, "-x", "c", "-", "-S", "-o", "-"]
        done = subprocess.run(
            command, input=c_source(kernels).encode(), check=True, capture_output=True
        )
        return assemble(done.stdout.decode())

    return compile_them


@pytest.fixture
def assemble(tmp_path: Path) -> Assemble:
    """AT&T assembly -> the object that binutils makes of it."""

    def assemble_it(text: str) -> bytes:
        if shutil.which("as") is None:
            pytest.skip("as (binutils) is not installed")
        output = tmp_path / "assembled.o"
        subprocess.run(["as", "-o", str(output), "-"], input=f"{text}\n".encode(), check=True)
        return output.read_bytes()

    return assemble_it


@pytest.fixture
def code_of(assemble: Assemble) -> CodeOf:
    """(kernel, the body of its function; `;` separates lines) -> its code."""

    def code(kernel: Kernel, body: str) -> Code:
        found = extract_codes(assemble(function(kernel, body)), [kernel])[kernel.name]
        assert isinstance(found, Code), found
        return found

    return code


def function(kernel: Kernel, body: str) -> str:
    """The assembly of a kernel with this body."""
    name = kernel.name
    lines = "\n".join(re.split(r";\s*", body))
    return (
        f'.section .text.memstrat.{name},"ax",@progbits\n.p2align 6\n.globl {name}\n'
        f".type {name},@function\n{name}:\n{lines}\n.size {name}, .-{name}\n"
    )


@pytest.fixture
def function_text() -> Callable[[Kernel, str], str]:
    """(kernel, body) -> assembly of the kernel's function, for tests that add sections to it."""
    return function


@pytest.fixture(scope="session")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The native harness, compiled once for all tests."""
    return build_harness(tmp_path_factory.mktemp("harness"))
