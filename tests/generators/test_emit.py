"""Kernels as C: the text, and that every compiler takes it and keeps to the ISA."""

import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from memstrat.generators.emit import c_source, can_spell
from memstrat.generators.flags import supports_optimisation, variant_flags
from memstrat.model import (
    Fill,
    Isa,
    Kernel,
    Op,
    Optimisation,
    Spelling,
    Target,
    Toolchain,
    Variant,
    Vendor,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "kernels"

COMPILERS = ("gcc-11", "gcc-12", "clang-14", "clang-19", "clang-22")

FILLS = {Op.MEMSET: tuple(Fill), Op.MEMCPY: (None,), Op.MEMMOVE: (None,)}


def spellable(sizes: tuple[int, ...], alignments: tuple[int, ...]) -> list[Kernel]:
    kernels = [
        Kernel(op=op, fill=fill, size=size, alignment=alignment, spelling=spelling)
        for op in Op
        for fill, size, alignment, spelling in product(FILLS[op], sizes, alignments, Spelling)
    ]
    return [kernel for kernel in kernels if can_spell(kernel)]


GOLDEN_CASES = {
    "pointer": [
        Kernel(op=op, fill=fill, size=size)
        for op in Op
        for fill, size in product(FILLS[op], (40, 168))
    ],
    "struct": [
        Kernel(op=op, fill=fill, size=192, alignment=alignment, spelling=Spelling.STRUCT)
        for op, fill in ((Op.MEMSET, Fill.ZERO), (Op.MEMCPY, None))
        for alignment in (1, 2, 4, 8, 16, 64)
    ],
    "unaligned": [
        Kernel(op=Op.MEMCPY, fill=None, size=7, alignment=1),
        Kernel(op=Op.MEMMOVE, fill=None, size=64, alignment=32),
    ],
}


@pytest.mark.parametrize("case", GOLDEN_CASES)
def test_the_text_of_kernels_is_as_written_down(case: str) -> None:
    expected = GOLDEN / f"{case}.c"
    text = c_source(GOLDEN_CASES[case])
    if not expected.exists() or expected.read_text() != text:
        expected.with_suffix(".actual.c").write_text(text)
    assert text == expected.read_text()


def test_the_same_kernels_give_the_same_text() -> None:
    kernels = spellable((8, 64), (1, 8))
    assert c_source(kernels) == c_source(tuple(kernels))


@pytest.mark.parametrize(
    ("op", "fill", "size", "spelled"),
    [
        (Op.MEMCPY, None, 24, True),
        (Op.MEMCPY, None, 20, False),
        (Op.MEMSET, Fill.ZERO, 24, True),
        (Op.MEMSET, Fill.CONSTANT, 24, False),
        (Op.MEMSET, Fill.VARIABLE, 24, False),
        (Op.MEMMOVE, None, 24, False),
    ],
)
def test_a_struct_is_copied_or_cleared_and_a_multiple_of_its_alignment(
    op: Op, fill: Fill | None, size: int, *, spelled: bool
) -> None:
    kernel = Kernel(op=op, fill=fill, size=size, alignment=8, spelling=Spelling.STRUCT)
    assert can_spell(kernel) is spelled
    if not spelled:
        with pytest.raises(ValueError, match=kernel.name):
            c_source([kernel])


def variant(compiler: str, optimisation: Optimisation, target: Target) -> Variant:
    name, _, version = compiler.partition("-")
    return Variant(
        toolchain=Toolchain(
            name=compiler,
            command=(compiler,),
            vendor=Vendor(name),
            version=version,
            target="x86_64",
            digest=compiler,
        ),
        optimisation=optimisation,
        target=target,
    )


def assembly(variant: Variant, source: str, *more: str) -> str:
    if shutil.which(variant.toolchain.name) is None:
        pytest.skip(f"{variant.toolchain.name} is not installed")
    command = [*variant.toolchain.command, *variant_flags(variant), *more]
    command += ["-x", "c", "-S", "-o", "-", "-"]
    done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.compilers
@pytest.mark.parametrize("optimisation", Optimisation)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_compiler_takes_all_kernels_without_a_warning(
    compiler: str, optimisation: Optimisation
) -> None:
    asked = variant(compiler, optimisation, Target(isa=Isa.SSE2))
    if not supports_optimisation(optimisation, asked.toolchain.vendor, asked.toolchain.version):
        pytest.skip(f"{compiler} has no -{optimisation}")
    kernels = spellable((1, 3, 8, 40, 168, 1024, 65536), (1, 2, 4, 8, 16, 32, 64))
    text = assembly(asked, c_source(kernels), "-Wall", "-Wextra", "-Werror")
    sections = re.findall(r'\.section\s+"?\.text\.memstrat\.(\w+)', text)
    assert sections == [kernel.name for kernel in kernels]
    assert set(re.findall(r"^(mem\w+):", text, re.MULTILINE)) == set(sections)


EVEX_ONLY = r"%[xy]mm(1[6-9]|2[0-9]|3[01])|%k[0-7]"

BEYOND = {
    Isa.GPR: r"%[xyz]mm|%st|%k[0-7]",
    Isa.SSE2: rf"%[yz]mm|{EVEX_ONLY}|\bv[a-z]+\s+.*%xmm",
    Isa.AVX2: rf"%zmm|{EVEX_ONLY}",
    Isa.AVX512: r"%tmm",
}
"""What must not stand in the text of a kernel that keeps to the ISA."""

MARCHES = (None, "haswell", "icelake-server", "sapphirerapids", "znver3")


@pytest.mark.compilers
@pytest.mark.parametrize("march", MARCHES)
@pytest.mark.parametrize("isa", Isa)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_compiler_keeps_to_the_isa_whatever_the_cpu_has(
    compiler: str, isa: Isa, march: str | None
) -> None:
    kernels = spellable((3, 40, 160, 512, 1024), (8,))
    text = assembly(
        variant(compiler, Optimisation.O2, Target(isa=isa, march=march)), c_source(kernels)
    )
    assert re.search(BEYOND[isa], text) is None


@pytest.mark.compilers
@pytest.mark.parametrize(
    ("compiler", "isa", "registers"),
    [
        ("gcc-12", Isa.SSE2, "%xmm"),
        ("gcc-12", Isa.AVX512, "%zmm"),
        ("clang-14", Isa.AVX2, "%ymm"),
        ("clang-14", Isa.AVX512, "%zmm"),
        ("clang-22", Isa.SSE2, "%xmm"),
        ("clang-22", Isa.AVX2, "%ymm"),
        ("clang-22", Isa.AVX512, "%zmm"),
    ],
)
def test_an_isa_brings_its_registers(compiler: str, isa: Isa, registers: str) -> None:
    kernel = Kernel(op=Op.MEMCPY, fill=None, size=128)
    assert registers in assembly(
        variant(compiler, Optimisation.O2, Target(isa=isa)), c_source([kernel])
    )


@pytest.mark.compilers
@pytest.mark.parametrize("compiler", ["clang-19", "clang-22"])
def test_clang_keeps_to_avx2_for_a_cpu_for_which_it_prefers_512_bits(compiler: str) -> None:
    source = c_source([Kernel(op=Op.MEMCPY, fill=None, size=256)])
    for isa, widest in ((Isa.AVX512, "%zmm"), (Isa.AVX2, "%ymm")):
        text = assembly(variant(compiler, Optimisation.O2, Target(isa=isa, march="znver4")), source)
        assert set(re.findall(r"%[xyz]mm", text)) == {widest}


@pytest.mark.compilers
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_compiler_gives_every_kernel_code_of_its_own(compiler: str) -> None:
    kernels = spellable((8, 16, 64), (1, 8, 16))
    text = assembly(variant(compiler, Optimisation.O2, Target(isa=Isa.GPR)), c_source(kernels))
    names = "|".join(kernel.name for kernel in kernels)
    assert re.search(rf"\b(jmp|call|callq)\s+({names})\b|\.set\s+({names})\b", text) is None
    assert len(re.findall(r"^\s+(retq?|jmp\s+mem\w+)\b", text, re.MULTILINE)) == len(kernels)
