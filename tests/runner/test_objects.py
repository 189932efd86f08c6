"""Objects to codes: bytes, relocations, and reasons where there is no code."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from iced_x86 import Decoder

from memstrat.errors import ObjectError
from memstrat.model import Code, Fill, Isa, Kernel, Op, Relocation, RelocationKind
from memstrat.runner.inspect.decode import disassemble
from memstrat.runner.inspect.objects import extract_codes

Assemble = Callable[[str], bytes]
FunctionText = Callable[[Kernel, str], str]
CodeOf = Callable[[Kernel, str], Code]

KERNEL = Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=16)
OTHER = Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=24)

CONSTANTS = """
.section .rodata.cst16,"aM",@progbits,16
.p2align 4
.quad 1, 2
.LC1: .quad 0x1111111111111111, 0x2222222222222222
"""


def reason_of(data: bytes, kernel: Kernel = KERNEL) -> str:
    found = extract_codes(data, [kernel])[kernel.name]
    assert isinstance(found, str), found
    return found


def test_a_code_is_the_bytes_of_its_function(code_of: CodeOf) -> None:
    code = code_of(KERNEL, "movq $0, (%rdi); movq $0, 8(%rdi); ret")
    assert code.text.hex() == "48c70700000000" + "48c7470800000000" + "c3"
    assert code.relocations == ()
    assert code.isa is Isa.GPR


def test_padding_after_the_last_instruction_is_no_part_of_a_code(code_of: CodeOf) -> None:
    assert code_of(KERNEL, "ret; .p2align 5").text == b"\xc3"
    assert code_of(KERNEL, "ret; int3; int3").text == b"\xc3"


def test_padding_inside_a_code_stays(code_of: CodeOf) -> None:
    code = code_of(KERNEL, "jmp 1f; .p2align 4; 1: ret")
    assert len(code.text) == 17


def test_functions_that_share_a_section_are_told_apart(assemble: Assemble) -> None:
    names = [KERNEL.name, OTHER.name]
    text = ".text\n" + "".join(
        f"{name}: movl ${value}, (%rdi)\nret\n.size {name}, .-{name}\n"
        for value, name in enumerate(names, start=1)
    )
    codes = extract_codes(assemble(text), [KERNEL, OTHER])
    texts = [code.text[2] for code in codes.values() if isinstance(code, Code)]
    assert texts == [1, 2]


def test_a_function_without_a_size_reaches_to_the_end_of_its_section(assemble: Assemble) -> None:
    codes = extract_codes(assemble(f".text\n{KERNEL.name}: xorl %eax, %eax\nret"), [KERNEL])
    code = codes[KERNEL.name]
    assert isinstance(code, Code)
    assert code.text.hex() == "31c0c3"


def test_a_constant_is_what_the_instruction_reads(
    assemble: Assemble, function_text: FunctionText
) -> None:
    body = "movaps .LC1(%rip), %xmm0; movups %xmm0, (%rdi); ret"
    code = extract_codes(assemble(function_text(KERNEL, body) + CONSTANTS), [KERNEL])[KERNEL.name]
    assert isinstance(code, Code)
    data = b"\x11" * 8 + b"\x22" * 8
    assert code.relocations == (
        Relocation(offset=3, kind=RelocationKind.DATA, addend=-4, data=data),
    )
    assert code.text[3:7] == bytes(4)


@pytest.mark.parametrize(
    ("instruction", "width", "addend"),
    [
        ("movq .LC1(%rip), %rax", 8, -4),
        ("movd .LC1(%rip), %xmm0", 4, -4),
        ("pshufd $0, .LC1(%rip), %xmm0", 16, -5),
        ("vpbroadcastb .LC1(%rip), %ymm0", 1, -4),
        ("vbroadcastss .LC1(%rip), %ymm0", 4, -4),
        ("vpaddd .LC1(%rip){1to16}, %zmm1, %zmm0", 4, -4),
    ],
)
def test_a_constant_has_the_width_of_the_operand(
    assemble: Assemble, function_text: FunctionText, instruction: str, width: int, addend: int
) -> None:
    text = function_text(KERNEL, f"{instruction}; ret") + CONSTANTS
    code = extract_codes(assemble(text), [KERNEL])[KERNEL.name]
    assert isinstance(code, Code)
    (relocation,) = code.relocations
    assert relocation.data == b"\x11" * min(width, 8) + b"\x22" * max(width - 8, 0)
    assert relocation.addend == addend


@pytest.mark.parametrize("base", [0, 0x1000, 0x7F00_0000_1000])
def test_relocating_at_any_base_reaches_the_callee_and_the_constant(
    assemble: Assemble, function_text: FunctionText, base: int
) -> None:
    body = "pshufd $1, .LC1(%rip), %xmm0; je memmove; call memcpy@PLT; jmp memset@PLT"
    text = function_text(KERNEL, body) + CONSTANTS
    code = extract_codes(assemble(text), [KERNEL])[KERNEL.name]
    assert isinstance(code, Code)
    targets = {r.offset: base + 0x2000 + 0x100 * i for i, r in enumerate(code.relocations)}
    relocated = bytearray(code.text)
    for relocation in code.relocations:
        field = base + relocation.offset
        value = targets[relocation.offset] + relocation.addend - field
        offset = relocation.offset
        relocated[offset : offset + 4] = value.to_bytes(4, "little", signed=True)
    reading, *branches = Decoder(64, bytes(relocated), ip=base)
    reached = [reading.ip_rel_memory_address, *(b.near_branch_target for b in branches)]
    assert reached == list(targets.values())
    assert [r.symbol for r in code.relocations] == ["", "memmove", "memcpy", "memset"]


def test_a_branch_through_the_got_becomes_the_direct_one_that_linkers_make(
    assemble: Assemble, function_text: FunctionText
) -> None:
    body = "call *memcpy@GOTPCREL(%rip); jmp *memset@GOTPCREL(%rip)"
    code = extract_codes(assemble(function_text(KERNEL, body)), [KERNEL])[KERNEL.name]
    assert isinstance(code, Code)
    assert code.text.hex() == "67e800000000" + "e900000000"
    assert [(r.offset, r.addend, r.symbol) for r in code.relocations] == [
        (2, -4, "memcpy"),
        (7, -4, "memset"),
    ]


@pytest.mark.parametrize(
    ("body", "more", "reason"),
    [
        ("leaq .LC1(%rip), %rax; ret", CONSTANTS, "takes an address in .rodata.cst16"),
        ("movq $.LC1, %rax; ret", CONSTANTS, "relocation of type"),
        ("movq table(%rip), %rax; ret", ".data\ntable: .quad 1", "holds no constants"),
        ("movq there(%rip), %rax; ret", "", "external object there"),
        ("movq there@GOTPCREL(%rip), %rax; ret", "", "takes the address of there"),
        ("jmp memset+4", "", "the middle of memset"),
        ("jmp k.cold", '.section .text.unlikely,"ax"\nk.cold: ret', "local code"),
        ("call other.constprop.0; ret", ".text\nother.constprop.0: ret", "local code"),
        ("fldz; ret", "", "FPU"),
        ("movd %eax, %mm0; ret", "", "MMX"),
        (".byte 0x06; ret", "", "no instruction"),
        (
            "movq table(%rip), %rax; jmp *%rax",
            ".section .rodata\ntable: .quad memset",
            "reads an address",
        ),
        (
            "movaps short(%rip), %xmm0; ret",
            ".section .rodata\nshort: .quad 1",
            "reads past the end of .rodata",
        ),
    ],
)
def test_what_cannot_stand_alone_gives_a_reason(
    assemble: Assemble, function_text: FunctionText, body: str, more: str, reason: str
) -> None:
    assert reason in reason_of(assemble(function_text(KERNEL, body) + more))


def test_a_jump_table_gives_a_reason(assemble: Assemble, function_text: FunctionText) -> None:
    body = (
        "leaq .Ltable(%rip), %rdx; movslq (%rdx,%rsi,4), %rax; addq %rdx, %rax; jmp *%rax; 1: ret"
    )
    table = '.section .rodata,"a",@progbits\n.Ltable: .long memset-.Ltable'
    assert "takes an address" in reason_of(assemble(function_text(KERNEL, body) + table))


def test_a_missing_function_gives_a_reason_and_costs_the_others_nothing(
    assemble: Assemble, function_text: FunctionText
) -> None:
    codes = extract_codes(assemble(function_text(KERNEL, "ret")), [OTHER, KERNEL])
    assert codes[OTHER.name] == f"the object defines no function {OTHER.name}"
    assert isinstance(codes[KERNEL.name], Code)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"int main;", b"\x7fELF" + bytes(60)])
def test_what_is_no_object_is_an_object_error(data: bytes) -> None:
    with pytest.raises(ObjectError):
        extract_codes(data, [KERNEL])


def test_an_object_of_another_machine_is_an_object_error(
    assemble: Assemble, function_text: FunctionText
) -> None:
    data = bytearray(assemble(function_text(KERNEL, "ret")))
    data[18] = 183  # e_machine: AArch64
    with pytest.raises(ObjectError, match="x86-64"):
        extract_codes(bytes(data), [KERNEL])


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_damage_gives_codes_reasons_or_an_object_error_and_nothing_else(
    assemble: Assemble, function_text: FunctionText, data: st.DataObject
) -> None:
    body = "movaps .LC1(%rip), %xmm0; movups %xmm0, (%rdi); call memcpy@PLT; jmp memset@PLT"
    whole = _whole.get(body) or _whole.setdefault(
        body, assemble(function_text(KERNEL, body) + CONSTANTS)
    )
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    del damaged[data.draw(st.integers(0, 2 * len(damaged))) :]
    try:
        found = extract_codes(bytes(damaged), [KERNEL])[KERNEL.name]
    except ObjectError:
        return
    if isinstance(found, Code):
        assert disassemble(found)


_whole: dict[str, bytes] = {}
