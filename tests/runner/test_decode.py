"""Instructions, the least ISA, and text as people and llvm-mca read it."""

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence

import pytest

from memstrat.model import Code, Fill, Isa, Kernel, Op
from memstrat.runner.inspect.decode import att_text, decode, disassemble, without_padding
from memstrat.runner.inspect.objects import extract_codes

CodeOf = Callable[[Kernel, str], Code]
CompileKernels = Callable[[str, Sequence[str], Sequence[Kernel]], bytes]
Assemble = Callable[[str], bytes]
FunctionText = Callable[[Kernel, str], str]

KERNEL = Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=16)

ANALYSERS = ("llvm-mca-22", "llvm-mca-19", "llvm-mca-14")


@pytest.mark.parametrize(
    ("instruction", "isa"),
    [
        ("movq %rax, (%rdi)", Isa.GPR),
        ("rep stosq", Isa.GPR),
        ("cmovbq %rax, %rcx", Isa.GPR),
        ("nopw (%rax,%rax)", Isa.GPR),
        ("endbr64", Isa.GPR),
        ("movntiq %rax, (%rdi)", Isa.GPR),
        ("sfence", Isa.GPR),
        ("prefetcht0 (%rsi)", Isa.GPR),
        ("bnd ret", Isa.GPR),
        ("movups %xmm0, (%rdi)", Isa.SSE2),
        ("movdqa %xmm0, %xmm1", Isa.SSE2),
        ("cvtsi2sdq %rax, %xmm0", Isa.SSE2),
        ("pshufb %xmm0, %xmm1", Isa.AVX2),
        ("vmovups %xmm0, (%rdi)", Isa.AVX2),
        ("vpbroadcastb %xmm0, %ymm0", Isa.AVX2),
        ("vzeroupper", Isa.AVX2),
        ("shlxq %rax, %rcx, %rdx", Isa.AVX2),
        ("movbeq %rax, (%rdi)", Isa.AVX2),
        ("vmovups %zmm0, (%rdi)", Isa.AVX512),
        ("vmovdqu8 %ymm16, (%rdi)", Isa.AVX512),
        ("kmovd %eax, %k1", Isa.AVX512),
    ],
)
def test_the_least_isa_is_that_of_the_most_demanding_instruction(
    code_of: CodeOf, instruction: str, isa: Isa
) -> None:
    assert code_of(KERNEL, f"{instruction}; ret").isa is isa
    assert code_of(KERNEL, f"movups %xmm0, (%rdi); {instruction}; ret").isa is max(
        isa, Isa.SSE2, key=lambda i: i.widest_store
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (b"\xc3\x90\x90", b"\xc3"),
        (b"\xc3\x66\x90", b"\xc3"),
        (b"\xc3\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", b"\xc3"),
        (b"\xc3\xcc\xcc", b"\xc3"),
        (b"\xeb\xfe\x90", b"\xeb\xfe"),
        (b"\xf3\xc3\x90", b"\xf3\xc3"),
        (b"\x90\xc3", b"\x90\xc3"),
        (b"\x31\xc0\x90", b"\x31\xc0\x90"),
        (b"\xc3\x31\xc0", b"\xc3\x31\xc0"),
        (b"\x90", b"\x90"),
        (b"\x06\xc3\x90", b"\x06\xc3\x90"),
        (b"", b""),
    ],
)
def test_padding_is_what_does_nothing_after_the_end(text: bytes, kept: bytes) -> None:
    assert without_padding(text) == kept


def test_a_listing_names_callees_labels_and_constants(
    assemble: Assemble, function_text: FunctionText
) -> None:
    body = (
        "movaps .LC0(%rip), %xmm0; 1: movups %xmm0, (%rdi,%rax); addq $16, %rax;"
        "cmpq $64, %rax; jb 1b; rep stosq; je memcpy; jmp memset@PLT"
    )
    constant = '.section .rodata.cst16,"aM",@progbits,16\n.LC0: .quad 1, 2'
    code = extract_codes(assemble(function_text(KERNEL, body) + constant), [KERNEL])[KERNEL.name]
    assert isinstance(code, Code)
    assert disassemble(code).splitlines() == [
        "     0  movaps (%rip),%xmm0  # 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00",
        ".L1:",
        "     7  movups %xmm0,(%rdi,%rax)",
        "     b  add $0x10,%rax",
        "     f  cmp $0x40,%rax",
        "    13  jb .L1",
        "    15  rep stos %rax,%es:(%rdi)",
        "    18  je memcpy",
        "    1e  jmp memset",
    ]


@pytest.mark.compilers
@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc", "-O2"),
        ("gcc", "-O2 -mgeneral-regs-only"),
        ("gcc", "-Os"),
        ("gcc", "-O2 -march=skylake-avx512 -mstringop-strategy=vector_loop"),
        ("gcc", "-O2 -fcf-protection -mgeneral-regs-only -mstringop-strategy=byte_loop"),
        ("clang-22", "-Oz"),
        ("clang-22", "-O2 -march=znver4"),
        ("clang", "-O2 -march=x86-64-v3"),
    ],
)
def test_llvm_mca_reads_the_text_of_every_instruction(
    compile_kernels: CompileKernels, compiler: str, flags: str
) -> None:
    analyser = next((name for name in ANALYSERS if shutil.which(name)), None)
    if analyser is None:
        pytest.skip("no llvm-mca is installed")
    kernels = [
        Kernel(op=op, fill=fill, size=size, alignment=alignment)
        for size in (7, 23, 64, 100, 250, 1000, 9000)
        for alignment in (1, 8)
        for op, fill in (
            (Op.MEMSET, Fill.ZERO),
            (Op.MEMSET, Fill.VARIABLE),
            (Op.MEMCPY, None),
            (Op.MEMMOVE, None),
        )
    ]
    codes = extract_codes(compile_kernels(compiler, flags.split(), kernels), kernels)
    texts = sorted(
        {
            att_text(instruction)
            for code in codes.values()
            if isinstance(code, Code)
            for instruction in decode(code.text).instructions
        }
    )
    assert len(texts) > 40
    assert instructions_read(analyser, texts) == len(texts)


def test_llvm_mca_reads_string_instructions_and_prefixes(code_of: CodeOf) -> None:
    analyser = next((name for name in ANALYSERS if shutil.which(name)), None)
    if analyser is None:
        pytest.skip("no llvm-mca is installed")
    body = (
        "rep stosb; rep stosl; rep stosq; rep movsb; rep movsl; rep movsq; stosb; movsq; movsl;"
        "1: jne 1b; movabsq $0x5a5a5a5a5a5a5a5a, %rax; andq $0, 8(%rdi); orq $-1, (%rdi);"
        "imulq $8, %rax, %rax; movq %rax, -8(%rdi,%rcx,8); nopw %cs:0x0(%rax,%rax,1);"
        "data16 nop; vmovdqu8 %ymm0, (%rdi){%k1}; vmovups 64(%rsi), %zmm31; bnd jmp 1b; rep ret"
    )
    texts = [att_text(i) for i in decode(code_of(KERNEL, body).text).instructions]
    assert instructions_read(analyser, texts) == len(texts)


def instructions_read(analyser: str, texts: Sequence[str]) -> int:
    """How many instructions llvm-mca finds in these texts."""
    command = [analyser, "-mcpu=x86-64-v4", "-iterations=1", "-json", "-"]
    source = "\n".join(texts) + "\n"
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    regions = json.loads(done.stdout)["CodeRegions"]
    return sum(len(region["Instructions"]) for region in regions)
