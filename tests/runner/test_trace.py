"""The path through a code, and what it stores, without running it."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrat.model import Code, Fill, Kernel, Op
from memstrat.runner.inspect import trace as trace_module
from memstrat.runner.inspect.decode import UnsupportedCode
from memstrat.runner.inspect.trace import Trace, trace

CodeOf = Callable[[Kernel, str], Code]
CompileKernels = Callable[[str, Sequence[str], Sequence[Kernel]], bytes]

SET = Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=64)
VARIABLE = Kernel(op=Op.MEMSET, fill=Fill.VARIABLE, size=64)
COPY = Kernel(op=Op.MEMCPY, fill=None, size=64)


def stores_of(found: Trace) -> list[tuple[int, int]]:
    return [(store.address, store.width) for store in found.stores]


def test_straight_code_executes_each_instruction_once(code_of: CodeOf) -> None:
    found = trace(code_of(SET, "xorl %eax, %eax; movq %rax, (%rdi); movl %eax, 8(%rdi); ret"), SET)
    assert found.path == (0, 1, 2, 3)
    assert stores_of(found) == [(0, 8), (8, 4)]
    assert found.undecided == ""
    assert not found.loops


def test_a_loop_is_followed_to_its_end(code_of: CodeOf) -> None:
    body = "xorl %eax, %eax; 1: movq $0, (%rdi,%rax); addq $8, %rax; cmpq $64, %rax; jb 1b; ret"
    found = trace(code_of(SET, body), SET)
    assert found.path == (0, *[1, 2, 3, 4] * 8, 5)
    assert stores_of(found) == [(8 * i, 8) for i in range(8)]
    assert found.loops == {(1, 4)}
    assert found.covers(64) is True


def test_a_block_laid_out_before_is_no_loop(code_of: CodeOf) -> None:
    body = "jmp 2f; 1: movq $0, (%rdi); ret; 2: movq $0, 8(%rdi); jmp 1b"
    found = trace(code_of(SET, body), SET)
    assert found.path == (0, 3, 4, 1, 2)
    assert not found.loops


def test_a_rep_stands_once_and_writes_its_count(code_of: CodeOf) -> None:
    found = trace(code_of(SET, "movl $7, %ecx; rep stosq; movl %eax, (%rdi); ret"), SET)
    assert found.path == (0, 1, 2, 3)
    ((at, address, width, elements),) = found.repeats
    assert (at, address, width, elements) == (1, 0, 8, 7)
    assert stores_of(found) == [(56, 4)]


def test_a_rep_movs_advances_both_pointers(code_of: CodeOf) -> None:
    body = (
        "movl $4, %ecx; rep movsl; movq (%rsi), %rax; movq %rax, (%rdi);"
        "subq %rdi, %rsi; cmpq $0, %rsi; je 1f; movb $0, 24(%rdi); 1: ret"
    )
    found = trace(code_of(COPY, body), COPY)
    assert found.repeats[0].width == 4
    assert stores_of(found) == [(16, 8), (40, 1)]


@pytest.mark.parametrize(
    ("instruction", "width"), [("movsb", 1), ("movsl", 4), ("movsq", 8), ("stosb", 1), ("stosq", 8)]
)
def test_a_string_instruction_without_rep_is_a_store(
    code_of: CodeOf, instruction: str, width: int
) -> None:
    found = trace(code_of(COPY, f"{instruction}; {instruction}; ret"), COPY)
    assert stores_of(found) == [(0, width), (width, width)]
    assert not found.repeats


def test_the_scalar_movsd_is_no_string_instruction(code_of: CodeOf) -> None:
    found = trace(code_of(COPY, "movsd (%rsi), %xmm0; movsd %xmm0, (%rdi); ret"), COPY)
    assert stores_of(found) == [(0, 8)]


@pytest.mark.parametrize(
    ("instruction", "width"),
    [
        ("andl $0, 8(%rdi)", 4),
        ("andq $0, 8(%rdi)", 8),
        ("orq $-1, 8(%rdi)", 8),
        ("addb $1, 8(%rdi)", 1),
        ("incw 8(%rdi)", 2),
        ("xchgq %rax, 8(%rdi)", 8),
        ("lock orl $0, 8(%rdi)", 4),
        ("sete 8(%rdi)", 1),
        ("popq 8(%rdi)", 8),
        ("movntiq %rax, 8(%rdi)", 8),
        ("movhps %xmm0, 8(%rdi)", 8),
        ("movlps %xmm0, 8(%rdi)", 8),
        ("movd %xmm0, 8(%rdi)", 4),
        ("movntdq %xmm0, 8(%rdi)", 16),
        ("vmovups %ymm0, 8(%rdi)", 32),
        ("vextracti128 $1, %ymm0, 8(%rdi)", 16),
        ("vmovdqu64 %zmm16, 8(%rdi)", 64),
        ("shldq $3, %rax, 8(%rdi)", 8),
        ("movbe %eax, 8(%rdi)", 4),
    ],
)
def test_every_instruction_that_writes_memory_is_a_store(
    code_of: CodeOf, instruction: str, width: int
) -> None:
    assert stores_of(trace(code_of(SET, f"{instruction}; ret"), SET)) == [(8, width)]


@pytest.mark.parametrize(
    "instruction",
    [
        "cmpq $0, (%rdi)",
        "testb $1, (%rdi)",
        "movups (%rdi), %xmm0",
        "prefetchw (%rdi)",
        "nopw 8(%rax,%rax)",
        ".byte 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0",
        "xchgw %ax, %ax",
        "endbr64",
        "vzeroupper",
        "cld",
        "pushq %rbx; popq %rbx",
        "movq %rbx, -8(%rsp)",
    ],
)
def test_what_leaves_the_destination_alone_is_no_store(code_of: CodeOf, instruction: str) -> None:
    found = trace(code_of(SET, f"{instruction}; ret"), SET)
    assert found.undecided == ""
    assert stores_of(found) == []


@pytest.mark.parametrize(
    "end", ["ret", "rep ret", "notrack jmp *%rax", "bnd ret", "bnd jmp 1f; 1: ret"]
)
def test_prefixes_of_an_earlier_time_are_no_obstacle(code_of: CodeOf, end: str) -> None:
    found = trace(code_of(SET, f"movb $0, (%rdi); {end}"), SET)
    assert stores_of(found) == [(0, 1)]
    assert (found.undecided == "") is ("notrack" not in end)


def test_a_call_names_its_callee_and_the_path_goes_on(code_of: CodeOf) -> None:
    found = trace(code_of(SET, "pushq %rax; call memset@PLT; popq %rcx; ret"), SET)
    assert found.callees == ("memset",)
    assert found.path == (0, 1, 2, 3)
    assert found.covers(64) is None


@pytest.mark.parametrize("jump", ["jmp memset@PLT", "xorl %eax, %eax; je memset", "bnd jmp memset"])
def test_a_tail_jump_ends_the_path_with_its_callee(code_of: CodeOf, jump: str) -> None:
    found = trace(code_of(SET, f"{jump}; movb $0, (%rdi); ret"), SET)
    assert found.callees == ("memset",)
    assert stores_of(found) == []


def test_what_a_call_clobbers_is_unknown_afterwards(code_of: CodeOf) -> None:
    found = trace(code_of(SET, "xorl %eax, %eax; call memset@PLT; movb $0, (%rdi); ret"), SET)
    assert "address that is not known" in found.undecided


def test_spilled_pointers_are_known_again_after_reloading(code_of: CodeOf) -> None:
    body = (
        "pushq %rbp; movq %rsp, %rbp; andq $-32, %rsp; movq %rdi, -8(%rsp); xorl %edi, %edi;"
        "movq -8(%rsp), %rdi; movq $0, (%rdi); leave; ret"
    )
    found = trace(code_of(SET, body), SET)
    assert found.undecided == ""
    assert stores_of(found) == [(0, 8)]


@pytest.mark.parametrize(
    ("kernel", "body", "reason"),
    [
        (SET, "testq %rsi, %rsi; je 1f; 1: ret", "branch at offset 3"),
        (VARIABLE, "testb %sil, %sil; je 1f; 1: ret", "branch at offset 3"),
        (COPY, "cmpb $0, (%rsi); je 1f; 1: ret", "branch at offset 3"),
        (SET, "movq $0, (%rax); ret", "address that is not known"),
        (SET, "movq $0, (%rdi,%rax); ret", "address that is not known"),
        (SET, "movq $0, 8(%rip); ret", "address that is not known"),
        (SET, "movq $0, %fs:8; ret", "address that is not known"),
        (SET, "rep stosq; ret", "count is not known"),
        (SET, "jmp *%rax", "no plain code"),
        (SET, "ud2", "no plain code"),
        (SET, "1: jmp 1b", "has not returned after"),
        (SET, "nop", "past its end"),
        (SET, "call 1f; 1: ret", "calls code of its own"),
        (SET, "maskmovdqu %xmm0, %xmm1; ret", "an operand that it does not name"),
        (SET, "movl $3, %ecx; addr32 rep stosq; ret", "32-bit addresses"),
        (SET, "vpscatterdd %zmm0, (%rdi,%zmm1){%k1}; ret", "address that is not known"),
    ],
)
def test_what_is_not_known_leaves_the_path_undecided(
    code_of: CodeOf, kernel: Kernel, body: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_module, "STEP_LIMIT", 10_000)
    assert reason in trace(code_of(kernel, body), kernel).undecided


def test_a_masked_store_writes_the_bytes_of_its_mask(code_of: CodeOf) -> None:
    body = "movl $7, %eax; kmovd %eax, %k1; vmovdqu8 %ymm0, (%rdi){%k1}; ret"
    found = trace(code_of(SET, body), SET)
    assert stores_of(found) == [(0, 32)]
    assert found.covers(3) is True
    assert found.covers(32) is False


def test_a_mask_that_is_not_known_leaves_only_the_coverage_open(code_of: CodeOf) -> None:
    for store in ("vmovdqu32 %zmm0, (%rdi){%k1}", "vpmaskmovq %ymm0, %ymm1, (%rdi)"):
        found = trace(code_of(SET, f"{store}; ret"), SET)
        assert found.undecided == ""
        assert len(found.stores) == 1
        assert found.covers(64) is None


@pytest.mark.parametrize(
    ("body", "covered"),
    [
        ("movups %xmm0, (%rdi); movups %xmm0, 8(%rdi); ret", True),  # an overlapping tail
        ("movups %xmm0, 8(%rdi); movups %xmm0, (%rdi); ret", True),
        ("movups %xmm0, (%rdi); ret", False),
        ("movups %xmm0, (%rdi); movups %xmm0, 9(%rdi); ret", False),
        ("movups %xmm0, (%rdi); movups %xmm0, -1(%rdi); movq %rax, 16(%rdi); ret", False),
        ("movl $3, %ecx; rep stosq; ret", True),
        ("movl $2, %ecx; rep stosq; ret", False),
        ("movl $2, %ecx; rep stosq; movl %eax, 4(%rdi); movl %eax, (%rdi); ret", True),
        ("movl $2, %ecx; rep stosq; movb %al, 7(%rdi); ret", False),
    ],
)
def test_coverage_tells_whether_the_stores_fill_the_size_exactly(
    code_of: CodeOf, body: str, covered: bool
) -> None:
    assert trace(code_of(SET, body), SET).covers(24) is covered


@given(st.binary(max_size=24))
def test_any_bytes_have_a_path_a_reason_or_no_instructions(text: bytes) -> None:
    try:
        found = trace(Code(text=text + b"\xc3"), COPY)
    except UnsupportedCode:
        return
    assert found.path[0] == 0
    found.covers(COPY.size)
