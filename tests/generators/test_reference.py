"""The reference forms: which exist, and what their assembler units hold."""

import re
import shutil
import subprocess
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from memstrat.generators.reference import (
    REFERENCE_FORMS,
    reference_source,
    reference_toolchain,
    reference_variants,
    supports,
)
from memstrat.model import Fill, Isa, Kernel, Op, Spelling, Vendor

SIZES = [*range(1, 130), 168, 255, 256, 257, 512, 513, 2048, 8192]


def kernels_of(form: str, sizes: list[int]) -> list[Kernel]:
    """Every kernel of `sizes` that the form supports."""
    fills: dict[Op, list[Fill | None]] = {
        Op.MEMSET: list(Fill),
        Op.MEMCPY: [None],
        Op.MEMMOVE: [None],
    }
    kernels = [
        Kernel(op=op, fill=fill, size=size) for op in Op for fill in fills[op] for size in sizes
    ]
    return [kernel for kernel in kernels if supports(form, kernel)]


def assemble(source: str, assembler: str, folder: Path) -> bytes:
    """The object that `assembler` makes of `source`, warnings being errors."""
    if shutil.which(assembler) is None:
        pytest.skip(f"{assembler} is not installed")
    target = folder / "unit.o"
    command = [assembler, "-c", "-x", "assembler", "-Wa,--fatal-warnings", "-", "-o", str(target)]
    done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return target.read_bytes()


def texts(binary: bytes) -> dict[str, bytes]:
    """Machine code by kernel name, relocated fields as the object has them."""
    sections = ELFFile(BytesIO(binary)).iter_sections()
    prefix = ".text.memstrat."
    return {s.name.removeprefix(prefix): s.data() for s in sections if s.name.startswith(prefix)}


@pytest.mark.compilers
@pytest.mark.parametrize("form", REFERENCE_FORMS)
def test_every_supported_kernel_is_assembled_into_its_own_section(
    form: str, tmp_path: Path
) -> None:
    kernels = kernels_of(form, SIZES)
    made = texts(assemble(reference_source(form, kernels), "gcc", tmp_path))
    assert made.keys() == {kernel.name for kernel in kernels}
    assert all(made.values())


@pytest.mark.compilers
@pytest.mark.parametrize("form", REFERENCE_FORMS)
def test_gcc_and_clang_assemble_the_same_bytes(form: str, tmp_path: Path) -> None:
    source = reference_source(form, kernels_of(form, SIZES))
    assert texts(assemble(source, "gcc", tmp_path)) == texts(assemble(source, "clang", tmp_path))


@pytest.mark.compilers
@pytest.mark.parametrize(
    ("form", "kernel", "code"),
    [
        (
            "rep_stosq",  # xor eax,eax; mov [rdi+36],rax; mov ecx,5; rep stosq; ret
            Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=44),
            "31c0 48894724 b905000000 f348ab c3",
        ),
        (
            "rep_stosb",  # mov eax,esi; mov ecx,100; rep stosb; ret
            Kernel(op=Op.MEMSET, fill=Fill.VARIABLE, size=100),
            "89f0 b964000000 f3aa c3",
        ),
        (
            "rep_movsq",  # mov ecx,21; rep movsq; ret
            Kernel(op=Op.MEMCPY, fill=None, size=168),
            "b915000000 f348a5 c3",
        ),
        (
            "gpr_stores",  # mov eax,[rsi]; mov ecx,[rsi+2]; mov [rdi],eax; mov [rdi+2],ecx; ret
            Kernel(op=Op.MEMMOVE, fill=None, size=6),
            "8b06 8b4e02 8907 894f02 c3",
        ),
        (
            "sse_stores",  # pxor; movups [rdi]; movups [rdi+16]; movups [rdi+24]; ret
            Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=40),
            "660fefc0 0f1107 0f114710 0f114718 c3",
        ),
        (
            "avx2_stores",  # vpxor; vmovdqu [rdi]; vmovdqu [rdi+8]; vzeroupper; ret
            Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=40),
            "c5f9efc0 c5fe7f07 c5fe7f4708 c5f877 c3",
        ),
    ],
)
def test_a_form_is_exactly_this_machine_code(
    form: str, kernel: Kernel, code: str, tmp_path: Path
) -> None:
    made = texts(assemble(reference_source(form, [kernel]), "gcc", tmp_path))
    assert made[kernel.name] == bytes.fromhex(code)


@pytest.mark.compilers
def test_straight_forms_have_one_store_per_word_and_one_for_the_tail(tmp_path: Path) -> None:
    kernel = Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=1000)
    for form, width in {"gpr_stores": 8, "sse_stores": 16, "avx2_stores": 32}.items():
        assemble(reference_source(form, [kernel]), "gcc", tmp_path)
        listing = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", str(tmp_path / "unit.o")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        stores = re.findall(r"(?:mov|movups|vmovdqu) +%\w+,0?x?[0-9a-f]*\(%rdi\)", listing)
        assert len(stores) == -(-1000 // width)


def test_rep_copies_have_no_memmove_and_rep_8byte_forms_start_at_one_word() -> None:
    assert not supports("rep_movsb", Kernel(op=Op.MEMMOVE, fill=None, size=64))
    assert not supports("rep_stosq", Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=7))
    assert supports("rep_stosq", Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=9))
    assert not supports("rep_stosb", Kernel(op=Op.MEMCPY, fill=None, size=64))


@pytest.mark.parametrize(
    ("form", "largest"),
    [("gpr_stores", 64), ("sse_stores", 256), ("avx2_stores", 512), ("avx512_stores", 2048)],
)
def test_memmove_exists_while_the_registers_hold_the_block(form: str, largest: int) -> None:
    assert supports(form, Kernel(op=Op.MEMMOVE, fill=None, size=largest))
    assert not supports(form, Kernel(op=Op.MEMMOVE, fill=None, size=largest + 1))


def test_a_struct_spelling_gets_no_reference_form_of_its_own() -> None:
    kernel = Kernel(op=Op.MEMCPY, fill=None, size=64, spelling=Spelling.STRUCT)
    assert not any(supports(form, kernel) for form in REFERENCE_FORMS)


def test_a_kernel_without_the_form_is_refused_by_name() -> None:
    kernel = Kernel(op=Op.MEMMOVE, fill=None, size=64)
    with pytest.raises(ValueError, match="rep_movsb does not exist for memmove_a8_s64"):
        reference_source("rep_movsb", [kernel])


def test_variants_come_with_every_narrower_isa_and_have_identities_of_their_own() -> None:
    names = [variant.strategy.name for variant in reference_variants([Isa.SSE2])]
    assert "sse_stores" in names
    assert "rep_stosq" in names
    assert "avx2_stores" not in names
    everything = reference_variants([Isa.AVX512])
    assert len(everything) == len(REFERENCE_FORMS)
    assert len({variant.digest for variant in everything}) == len(everything)
    assert {variant.toolchain.vendor for variant in everything} == {Vendor.REFERENCE}


def test_the_toolchain_is_the_same_value_every_time() -> None:
    assert reference_toolchain() == reference_toolchain()
