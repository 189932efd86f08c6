"""From an object to lowerings."""

from collections.abc import Callable, Sequence

import pytest

from memstrat.model import Code, Fill, Form, Isa, Kernel, Op, Spelling
from memstrat.runner.inspect.lowerings import coverage, executed_path, inspect_object

CompileKernels = Callable[[str, Sequence[str], Sequence[Kernel]], bytes]
Assemble = Callable[[str], bytes]
FunctionText = Callable[[Kernel, str], str]
CodeOf = Callable[[Kernel, str], Code]

SET = Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=24)
COPY = Kernel(op=Op.MEMCPY, fill=None, size=16)


def test_a_lowering_tells_what_was_emitted_and_what_gcc_selected(
    assemble: Assemble, function_text: FunctionText
) -> None:
    data = assemble(
        function_text(SET, "xorl %eax, %eax; movl $2, %ecx; rep stosq; movq %rax, (%rdi); ret")
        + function_text(COPY, "movups (%rsi), %xmm0; movups %xmm0, (%rdi); ret; .p2align 4")
    )
    inspection = inspect_object(data, [SET, COPY], {SET.name: ("rep_8byte",)})
    assert inspection.problems == ()
    cleared, copied = inspection.lowerings
    assert (cleared.kernel, cleared.form, cleared.widest_store) == (SET, Form.REP_8BYTE, 8)
    assert (cleared.instructions, cleared.executed, cleared.stores) == (5, 5, {8: 1})
    assert cleared.selected == ("rep_8byte",)
    assert cleared.code.isa is Isa.GPR
    assert (copied.form, copied.widest_store, copied.stores) == (Form.STRAIGHT, 16, {16: 1})
    assert copied.selected == ()
    assert copied.callee is None
    assert copied.code.isa is Isa.SSE2


def test_a_problem_costs_its_own_kernel_and_nothing_else(
    assemble: Assemble, function_text: FunctionText
) -> None:
    data = assemble(
        function_text(SET, "call exit@PLT; ret")
        + function_text(COPY, "movups (%rsi), %xmm0; movups %xmm0, (%rdi); ret")
    )
    missing = Kernel(op=Op.MEMMOVE, fill=None, size=16)
    inspection = inspect_object(data, [SET, missing, COPY], {})
    assert [lowering.kernel for lowering in inspection.lowerings] == [COPY]
    assert [kernel for kernel, _ in inspection.problems] == [SET, missing]
    reasons = dict(inspection.problems)
    assert "calls exit" in reasons[SET]
    assert "defines no function" in reasons[missing]


def test_a_damaged_object_is_a_problem_of_every_kernel() -> None:
    inspection = inspect_object(b"\x7fELF and no more", [SET, COPY], {})
    assert inspection.lowerings == ()
    assert [kernel for kernel, _ in inspection.problems] == [SET, COPY]
    assert all("damaged" in reason for _, reason in inspection.problems)


def test_where_the_path_is_undecided_the_counts_are_empty(
    assemble: Assemble, function_text: FunctionText
) -> None:
    body = "testq %rsi, %rsi; je 1f; movups %xmm0, (%rdi); 1: movups %xmm0, 8(%rdi); ret"
    (lowering,) = inspect_object(assemble(function_text(SET, body)), [SET], {}).lowerings
    assert lowering.form is Form.STRAIGHT
    assert (lowering.executed, lowering.stores) == (None, None)
    assert lowering.instructions == 5
    assert executed_path(lowering.code, SET) is None
    assert coverage(lowering.code, SET) is None


def test_the_executed_path_is_text_in_order_with_loops_unrolled(code_of: CodeOf) -> None:
    body = "xorl %eax, %eax; 1: movq %rdx, (%rdi,%rax); addq $8, %rax; cmpq $24, %rax; jb 1b; ret"
    path = executed_path(code_of(SET, body), SET)
    assert path is not None
    once = ("mov %rdx,(%rdi,%rax)", "add $8,%rax", "cmp $0x18,%rax")
    assert path[0] == "xor %eax,%eax"
    assert path[1:4] == path[5:8] == once
    assert path[4].startswith("jb ")
    assert path[-1] == "ret"
    assert len(path) == 14


def test_bytes_that_are_no_code_have_no_path_and_no_coverage() -> None:
    nonsense = Code(text=b"\x06\xc3")
    assert executed_path(nonsense, SET) is None
    assert coverage(nonsense, SET) is None


def test_coverage_reads_whether_the_size_is_filled_exactly(code_of: CodeOf) -> None:
    code = code_of(SET, "movups %xmm0, (%rdi); movups %xmm0, 8(%rdi); ret")
    assert coverage(code, SET) is True
    assert coverage(code, Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=25)) is False
    assert coverage(code, Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=23)) is False


@pytest.mark.compilers
@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc", "-O2"),
        ("gcc", "-O2 -mgeneral-regs-only"),
        ("gcc", "-O2 -march=x86-64-v4 -mprefer-vector-width=512"),
        ("gcc", "-O2 -fPIC -fno-plt"),
        ("gcc-11", "-Os"),
        ("clang", "-O2 -march=x86-64-v3"),
        ("clang-19", "-Os"),
        ("clang-22", "-Oz"),
        ("clang-22", "-O2 -march=znver4"),
        ("clang-22", "-O2 -mcmodel=medium -fPIE"),
    ],
)
def test_every_kernel_that_compilers_emit_is_inspected(
    compile_kernels: CompileKernels, compiler: str, flags: str
) -> None:
    kernels = [
        Kernel(op=op, fill=fill, size=size, alignment=alignment, spelling=spelling)
        for size in (1, 2, 3, 8, 15, 24, 31, 64, 100, 168, 240, 1000, 9000)
        for op, fill, alignment, spelling in (
            (Op.MEMSET, Fill.ZERO, 8, Spelling.POINTER),
            (Op.MEMSET, Fill.CONSTANT, 1, Spelling.POINTER),
            (Op.MEMSET, Fill.VARIABLE, 64, Spelling.POINTER),
            (Op.MEMCPY, None, 1, Spelling.POINTER),
            (Op.MEMMOVE, None, 8, Spelling.POINTER),
        )
    ]
    inspection = inspect_object(compile_kernels(compiler, flags.split(), kernels), kernels, {})
    assert inspection.problems == ()
    for lowering in inspection.lowerings:
        name = lowering.kernel.name
        assert lowering.executed is not None, name
        is_call = lowering.form is Form.LIBCALL
        assert coverage(lowering.code, lowering.kernel) is (None if is_call else True), name
        assert (lowering.callee is not None) is is_call, name
        assert executed_path(lowering.code, lowering.kernel), name


@pytest.mark.compilers
def test_a_struct_is_copied_and_cleared_as_a_block_of_memory(
    compile_kernels: CompileKernels,
) -> None:
    kernels = [
        Kernel(op=op, fill=fill, size=168, alignment=8, spelling=Spelling.STRUCT)
        for op, fill in ((Op.MEMSET, Fill.ZERO), (Op.MEMCPY, None))
    ]
    data = compile_kernels("gcc", ["-O2", "-mgeneral-regs-only"], kernels)
    assert [lowering.form.is_rep for lowering in inspect_object(data, kernels, {}).lowerings] == [
        True,
        True,
    ]
