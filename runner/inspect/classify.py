"""The form of a code, from what it executes. What a compiler was asked for plays no part in it.

The bulk decides: the `rep` instructions, the loops or the stores outside of both, whichever write
the most bytes, in this order where they write the same. So a `rep` with a tail of stores is a
`rep`, and a vector loop with a tail of smaller stores is a vector loop. A loop is one only where an
instruction is executed again: loops that run once, and those that a compiler has peeled into
straight code, are straight.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from iced_x86 import FlowControl, MemorySizeExt, OpKind, Register

from memstrat.model import Code, Form, Kernel, RelocationKind
from memstrat.runner.inspect.decode import Decoded, UnsupportedCode
from memstrat.runner.inspect.effects import stored_width
from memstrat.runner.inspect.processor import Store
from memstrat.runner.inspect.trace import Trace

MEMORY_FUNCTIONS = frozenset(
    {"memset", "memcpy", "memmove", "mempcpy", "bzero", "bcopy"}
    | {"__memset_chk", "__memcpy_chk", "__memmove_chk", "__mempcpy_chk"}
    | {"__memset", "__memcpy", "__memmove", "__bzero"}
)
"""Functions whose call is a libcall. Any other callee is not what memstrat classifies."""

_REP_FORMS = {1: Form.REP_BYTE, 4: Form.REP_4BYTE, 8: Form.REP_8BYTE}

_STACK_POINTER = int(Register.RSP)

VECTOR_BYTES = 16
"""A loop with stores of this width or more is a vector loop."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The form of a code, and the width of the stores that make up its bulk, in bytes.

    The width is that which writes most of the bulk's bytes, the wider of two that write the same;
    the element's of a `rep`; 0 where the code stores nothing itself (a libcall, or size 0).
    """

    form: Form
    widest_store: int
    callee: str | None = None


def classify(trace: Trace, decoded: Decoded, code: Code, kernel: Kernel) -> Shape:
    """The shape of a kernel's code.

    Raises `UnsupportedCode`, with the reason, for what has no form: a call of another function, a
    `rep movsw` (only clang's inline builtins at alignment 2 emit it), a code that stores nothing.
    Where the path is undecided, the instructions as they stand decide, in the same order.
    """
    if trace.undecided:
        return _classify_as_it_stands(decoded, code, trace.undecided)
    if trace.callees:
        return _libcall(trace.callees)
    by_loop, straight = _split(trace)
    in_reps = sum(repeat.width * repeat.elements for repeat in trace.repeats)
    in_loops = sum(_bytes(stores) for stores in by_loop.values())
    in_straight = _bytes(straight)
    if in_reps and in_reps >= max(in_loops, in_straight):
        largest = max(trace.repeats, key=lambda repeat: repeat.width * repeat.elements)
        return _rep(largest.width)
    if in_loops and in_loops >= in_straight:
        return _loop(max(by_loop.values(), key=_bytes))
    if not straight and kernel.size:
        raise UnsupportedCode("it stores nothing")
    return Shape(form=Form.STRAIGHT, widest_store=_prevailing_width(straight))


def stores_by_width(trace: Trace) -> dict[int, int]:
    """How many stores of each width one call executes; a masked one counts with its full width."""
    return dict(sorted(Counter(store.width for store in trace.stores).items()))


def _libcall(callees: Sequence[str]) -> Shape:
    for callee in callees:
        if callee not in MEMORY_FUNCTIONS:
            raise UnsupportedCode(f"it calls {callee}, which is no function of this op")
    return Shape(form=Form.LIBCALL, widest_store=0, callee=callees[0])


def _rep(width: int) -> Shape:
    form = _REP_FORMS.get(width)
    if form is None:
        raise UnsupportedCode(f"its bulk is a rep of {width}-byte elements, which has no form")
    return Shape(form=form, widest_store=width)


def _loop(stores: Sequence[Store]) -> Shape:
    width = _prevailing_width(stores)
    if width >= VECTOR_BYTES:
        form = Form.VECTOR_LOOP
    else:
        in_body = len({store.at for store in stores})
        form = Form.UNROLLED_LOOP if in_body > 1 else Form.LOOP
    return Shape(form=form, widest_store=width)


def _split(trace: Trace) -> tuple[dict[tuple[int, int], list[Store]], list[Store]]:
    """The stores by the innermost loop that they stand in, and those outside of all loops."""
    innermost_first = sorted(trace.loops, key=lambda loop: loop[1] - loop[0])
    by_loop: dict[tuple[int, int], list[Store]] = {loop: [] for loop in innermost_first}
    straight = []
    for store in trace.stores:
        for loop in innermost_first:
            if loop[0] <= store.at <= loop[1]:
                by_loop[loop].append(store)
                break
        else:
            straight.append(store)
    return {loop: stores for loop, stores in by_loop.items() if stores}, straight


def _bytes(stores: Iterable[Store]) -> int:
    return sum(store.width for store in stores)


def _prevailing_width(stores: Iterable[Store]) -> int:
    written: Counter[int] = Counter()
    for store in stores:
        written[store.width] += store.width
    return max(written, key=lambda width: (written[width], width), default=0)


def _classify_as_it_stands(decoded: Decoded, code: Code, undecided: str) -> Shape:
    """The shape by the instructions alone, for a path that cannot be followed."""
    callees = [r.symbol for r in code.relocations if r.kind is RelocationKind.CALL]
    if callees:
        return _libcall(callees)
    for instruction in decoded.instructions:
        if instruction.has_rep_prefix and instruction.op0_kind == OpKind.MEMORY_ESRDI:
            return _rep(int(MemorySizeExt.size(instruction.memory_size)))
    stores = [
        Store(at, 0, width)
        for at, instruction in enumerate(decoded.instructions)
        if int(instruction.memory_base) != _STACK_POINTER and (width := stored_width(instruction))
    ]
    if not stores:
        raise UnsupportedCode(f"its path is undecided ({undecided}) and it stores nothing")
    loops = _backward_branches(decoded)
    in_loops = [s for s in stores if any(first <= s.at <= last for first, last in loops)]
    if in_loops:
        return _loop(in_loops)
    return Shape(form=Form.STRAIGHT, widest_store=_prevailing_width(stores))


def _backward_branches(decoded: Decoded) -> list[tuple[int, int]]:
    branches = []
    for at, instruction in enumerate(decoded.instructions):
        if instruction.flow_control == FlowControl.CONDITIONAL_BRANCH:
            target = decoded.index_at.get(instruction.near_branch_target)
            if target is not None and target <= at:
                branches.append((target, at))
    return branches
