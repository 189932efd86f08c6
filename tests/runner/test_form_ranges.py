"""Runs of sizes that a variant lowers in the same way."""

import pytest

from memstrat.model import Code, Fill, Form, Kernel, Lowering, Op, Spelling
from memstrat.runner.inspect.form_ranges import (
    COLUMNS,
    boundary_lines,
    form_ranges,
    range_rows,
)


def lowering(
    size: int,
    form: Form = Form.STRAIGHT,
    width: int = 8,
    callee: str | None = None,
    op: Op = Op.MEMSET,
    spelling: Spelling = Spelling.POINTER,
) -> Lowering:
    fill = Fill.ZERO if op is Op.MEMSET else None
    return Lowering(
        kernel=Kernel(op=op, fill=fill, size=size, spelling=spelling),
        code=Code(text=b"\x90" * size),
        form=form,
        widest_store=width,
        instructions=1,
        executed=1,
        stores={},
        callee=callee,
    )


def gcc_12() -> list[Lowering]:
    straight = [lowering(size, width=8 if size < 16 else 16) for size in range(8, 81, 8)]
    rep = [lowering(size, Form.REP_8BYTE) for size in range(88, 513, 8)]
    call = [lowering(size, Form.LIBCALL, 0, "memset") for size in (8200, 8208)]
    return straight + rep + call


def test_a_range_is_a_run_of_sizes_of_one_form() -> None:
    ranges = form_ranges(reversed(gcc_12()))
    assert [(r.first, r.last, r.form, r.widest_store, r.callee) for r in ranges] == [
        (8, 80, Form.STRAIGHT, 16, None),
        (88, 512, Form.REP_8BYTE, 8, None),
        (8200, 8208, Form.LIBCALL, 0, "memset"),
    ]
    assert [(r.sizes, r.code_bytes_first, r.code_bytes_last) for r in ranges] == [
        (10, 8, 80),
        (54, 88, 512),
        (2, 8200, 8208),
    ]


def test_rows_and_lines_read_like_the_table_of_a_compiler() -> None:
    ranges = form_ranges(gcc_12())
    rows = range_rows(ranges)
    assert rows == [
        ("memset zero, align 8", "8..80", "straight, 16 B stores", "8..80"),
        ("memset zero, align 8", "88..512", "rep_8byte", "88..512"),
        ("memset zero, align 8", "8200..8208", "call memset", "8200..8208"),
    ]
    assert all(len(row) == len(COLUMNS) for row in rows)
    assert boundary_lines(ranges) == [
        "memset zero, align 8: straight 8..80, rep_8byte 88..512, call 8200..8208"
    ]


def test_stores_that_grow_with_the_size_do_not_end_a_range() -> None:
    widths = {1: 1, 2: 2, 3: 2, 4: 4, 8: 8, 15: 8, 16: 16, 31: 16, 32: 32, 64: 64, 100: 64}
    (only,) = form_ranges(lowering(size, width=width) for size, width in widths.items())
    assert (only.first, only.last, only.widest_store) == (1, 100, 64)


@pytest.mark.parametrize(("before", "after"), [(8, 16), (16, 8)])
def test_stores_that_change_where_the_size_allows_both_end_a_range(before: int, after: int) -> None:
    found = form_ranges([lowering(64, width=before), lowering(72, width=after)])
    assert [(r.first, r.widest_store) for r in found] == [(64, before), (72, after)]
    assert boundary_lines(found) == [
        f"memset zero, align 8: straight, {before} B stores 64, straight, {after} B stores 72"
    ]


def test_other_forms_are_told_apart_by_their_width_and_callee() -> None:
    found = form_ranges(
        [
            lowering(100, Form.VECTOR_LOOP, 16),
            lowering(200, Form.VECTOR_LOOP, 32),
            lowering(300, Form.LIBCALL, 0, "memset"),
            lowering(400, Form.LIBCALL, 0, "bzero"),
        ]
    )
    assert [r.emitted for r in found] == [
        "vector_loop, 16 B stores",
        "vector_loop, 32 B stores",
        "call memset",
        "call bzero",
    ]
    assert [r.span for r in found] == ["100", "200", "300", "400"]


def test_a_form_that_comes_back_makes_another_range() -> None:
    found = form_ranges(
        [
            lowering(95, Form.LIBCALL, 0, "memmove", Op.MEMMOVE),
            lowering(96, width=16, op=Op.MEMMOVE),
            lowering(103, Form.LIBCALL, 0, "memmove", Op.MEMMOVE),
        ]
    )
    assert [r.form for r in found] == [Form.LIBCALL, Form.STRAIGHT, Form.LIBCALL]


def test_groups_stand_in_the_order_memset_memcpy_memmove() -> None:
    members = [
        lowering(8, op=Op.MEMMOVE),
        lowering(8, op=Op.MEMCPY, spelling=Spelling.STRUCT),
        lowering(8, op=Op.MEMCPY),
        lowering(8),
    ]
    assert [r.group.label for r in form_ranges(members)] == [
        "memset zero, align 8",
        "memcpy, align 8",
        "memcpy of structs, align 8",
        "memmove, align 8",
    ]


def test_nothing_has_no_ranges() -> None:
    assert form_ranges([]) == []
    assert boundary_lines([]) == []
