"""The form of a code, whatever was asked for."""

from collections.abc import Callable

import pytest

from memstrat.model import Code, Fill, Form, Kernel, Op
from memstrat.runner.inspect.classify import Shape, classify, stores_by_width
from memstrat.runner.inspect.decode import UnsupportedCode, decode
from memstrat.runner.inspect.trace import trace

CodeOf = Callable[[Kernel, str], Code]

SET = Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=64)


def shape_of(code: Code, kernel: Kernel = SET) -> Shape:
    return classify(trace(code, kernel), decode(code.text), code, kernel)


def loop_of(body: str, *, step: int, end: int) -> str:
    return f"xorl %eax, %eax; 1: {body}; addq ${step}, %rax; cmpq ${end}, %rax; jb 1b"


BYTE_LOOP = loop_of("movb $0, (%rdi,%rax)", step=1, end=64)
WORD_LOOP = loop_of("movq $0, (%rdi,%rax)", step=8, end=64)
UNROLLED = loop_of("movq $0, (%rdi,%rax); movq $0, 8(%rdi,%rax)", step=16, end=64)
VECTORS = loop_of("movups %xmm0, (%rdi,%rax); movups %xmm0, 16(%rdi,%rax)", step=32, end=64)
STRAIGHT = "movups %xmm0, (%rdi); movups %xmm0, 16(%rdi)"


@pytest.mark.parametrize(
    ("body", "form", "width"),
    [
        (f"{STRAIGHT}; ret", Form.STRAIGHT, 16),
        (f"{STRAIGHT}; movl %eax, 32(%rdi); movb %al, 36(%rdi); rep ret", Form.STRAIGHT, 16),
        ("movups %xmm0, (%rdi); movups %xmm0, 7(%rdi); ret", Form.STRAIGHT, 16),
        ("movq %rax, (%rdi); movl %eax, 8(%rdi); ret", Form.STRAIGHT, 8),
        ("andq $0, (%rdi); andl $0, 8(%rdi); ret", Form.STRAIGHT, 8),
        ("movsq; movsq; movsl; ret", Form.STRAIGHT, 8),
        ("stosb; ret", Form.STRAIGHT, 1),
        ("vmovups %zmm0, (%rdi); vmovups %ymm0, 64(%rdi); vzeroupper; ret", Form.STRAIGHT, 64),
        ("vmovups %ymm0, (%rdi); movq %rax, 32(%rdi); ret", Form.STRAIGHT, 32),
        (f"{BYTE_LOOP}; ret", Form.LOOP, 1),
        (f"{WORD_LOOP}; movl %eax, 64(%rdi); ret", Form.LOOP, 8),
        (f"{UNROLLED}; ret", Form.UNROLLED_LOOP, 8),
        (f"{VECTORS}; movq %rax, 64(%rdi); ret", Form.VECTOR_LOOP, 16),
        (loop_of("movups %xmm0, (%rdi,%rax)", step=16, end=64) + "; ret", Form.VECTOR_LOOP, 16),
        ("movl $8, %ecx; 1: movq $0, (%rdi); addq $8, %rdi; loop 1b; ret", Form.LOOP, 8),
        ("movl $8, %ecx; rep stosb; ret", Form.REP_BYTE, 1),
        ("movl $8, %ecx; rep movsl; ret", Form.REP_4BYTE, 4),
        ("movl $8, %ecx; cld; rep stosq; ret", Form.REP_8BYTE, 8),
    ],
)
def test_the_form_follows_from_what_is_executed(
    code_of: CodeOf, body: str, form: Form, width: int
) -> None:
    found = shape_of(code_of(SET, body))
    assert (found.form, found.widest_store) == (form, width)
    assert found.callee is None


def test_a_rep_with_a_tail_of_stores_is_a_rep(code_of: CodeOf) -> None:
    for body in (
        "movl $7, %ecx; rep stosq; movl %eax, (%rdi); movb %al, 4(%rdi); ret",
        "movq %rax, 50(%rdi); movl $7, %ecx; rep stosq; ret",
        "movl $1, %ecx; rep stosq; movq %rax, (%rdi); ret",
    ):
        assert shape_of(code_of(SET, body)).form is Form.REP_8BYTE


def test_a_rep_that_does_only_the_tail_does_not_decide(code_of: CodeOf) -> None:
    loop = shape_of(code_of(SET, f"{WORD_LOOP}; movl $7, %ecx; rep stosb; ret"))
    assert loop.form is Form.LOOP
    straight = shape_of(code_of(SET, f"{STRAIGHT}; movl $7, %ecx; rep stosb; ret"))
    assert straight == Shape(form=Form.STRAIGHT, widest_store=16)


def test_a_loop_that_runs_once_is_straight(code_of: CodeOf) -> None:
    body = loop_of("movups %xmm0, (%rdi,%rax); movups %xmm0, 16(%rdi,%rax)", step=32, end=32)
    assert shape_of(code_of(SET, f"{body}; ret")).form is Form.STRAIGHT


def test_a_branch_back_to_a_block_that_has_not_run_is_straight(code_of: CodeOf) -> None:
    body = "jmp 2f; 1: movq $0, (%rdi); ret; 2: movq $0, 8(%rdi); jmp 1b"
    assert shape_of(code_of(SET, body)).form is Form.STRAIGHT


def test_a_loop_that_writes_less_than_the_stores_after_it_is_straight(code_of: CodeOf) -> None:
    body = loop_of("movb $0, (%rdi,%rax)", step=1, end=3)
    assert shape_of(code_of(SET, f"{body}; {STRAIGHT}; ret")).form is Form.STRAIGHT


def test_of_nested_loops_the_inner_one_decides(code_of: CodeOf) -> None:
    body = (
        "movl $4, %ecx; 2: movl $2, %edx; movb $0, (%rdi); 1: movups %xmm0, (%rdi);"
        "addq $16, %rdi; decl %edx; jne 1b; decl %ecx; jne 2b; ret"
    )
    assert shape_of(code_of(SET, body)).form is Form.VECTOR_LOOP


@pytest.mark.parametrize(
    ("body", "callee"),
    [
        ("movl $64, %edx; jmp memset@PLT", "memset"),
        ("pushq %rax; call memcpy@PLT; popq %rcx; ret", "memcpy"),
        ("call *memmove@GOTPCREL(%rip); ret", "memmove"),
        ("jmp *memset@GOTPCREL(%rip)", "memset"),
        ("jmp __memcpy_chk@PLT", "__memcpy_chk"),
        (f"{STRAIGHT}; addq $32, %rdi; jmp bzero@PLT", "bzero"),
        ("xorl %esi, %esi; jne 1f; jmp memset@PLT; 1: ret", "memset"),
        ("movl $8, %ecx; rep stosq; jmp memset@PLT", "memset"),
    ],
)
def test_a_call_or_a_tail_jump_to_a_memory_function_is_a_libcall(
    code_of: CodeOf, body: str, callee: str
) -> None:
    expected = Shape(form=Form.LIBCALL, widest_store=0, callee=callee)
    assert shape_of(code_of(SET, body)) == expected


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("jmp exit@PLT", "calls exit"),
        ("call __cyg_profile_func_enter; movq $0, (%rdi); ret", "__cyg_profile_func_enter"),
        ("movl $8, %ecx; rep movsw; ret", "2-byte elements"),
        ("ret", "stores nothing"),
        ("xorl %ecx, %ecx; rep stosq; ret", "stores nothing"),
        ("movq %rdi, -8(%rsp); ret", "stores nothing"),
        ("testq %rsi, %rsi; je 1f; 1: ret", "undecided"),
    ],
)
def test_what_has_no_form_gives_a_reason(code_of: CodeOf, body: str, reason: str) -> None:
    with pytest.raises(UnsupportedCode, match=reason):
        shape_of(code_of(SET, body))


def test_size_nought_is_straight_without_stores(code_of: CodeOf) -> None:
    nothing = Kernel(op=Op.MEMCPY, fill=None, size=0)
    found = shape_of(code_of(nothing, "ret"), nothing)
    assert found == Shape(form=Form.STRAIGHT, widest_store=0)


@pytest.mark.parametrize(
    ("body", "form"),
    [
        ("movups %xmm0, (%rdi)", Form.STRAIGHT),
        ("1: movups %xmm0, (%rdi,%rax); addq $16, %rax; jne 1b", Form.VECTOR_LOOP),
        ("1: movq $0, (%rdi,%rax); addq $8, %rax; jne 1b", Form.LOOP),
        ("movl $8, %ecx; rep stosq", Form.REP_8BYTE),
        ("call memset@PLT", Form.LIBCALL),
    ],
)
def test_where_the_path_is_undecided_the_instructions_decide(
    code_of: CodeOf, body: str, form: Form
) -> None:
    code = code_of(SET, f"testq %rsi, %rsi; je 2f; {body}; 2: ret")
    assert trace(code, SET).undecided
    assert shape_of(code).form is form


def test_stores_are_counted_by_width_as_executed(code_of: CodeOf) -> None:
    code = code_of(SET, f"{WORD_LOOP}; andl $0, 64(%rdi); pushq %rax; popq %rax; ret")
    assert stores_by_width(trace(code, SET)) == {4: 1, 8: 8}
