"""The path that a kernel takes through its code, on any host and without running it.

A small interpreter follows the integer control flow. The destination and the source are concrete,
aligned, far apart; the rest is unknown. Compilers that were told an alignment and a size leave
nothing else to decide. Where code tests more alignment than was promised, or compares the pointers,
the path is that of page-aligned buffers with the source above the destination.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from iced_x86 import FlowControl, Instruction, Mnemonic, OpKind

from memstrat.model import Code, Kernel, Op, Relocation, RelocationKind
from memstrat.runner.inspect.conditions import compile_condition
from memstrat.runner.inspect.decode import Decoded, decode
from memstrat.runner.inspect.processor import (
    ALL_BYTES,
    CALLER_SAVED,
    DESTINATION,
    MASK64,
    RCX,
    RDI,
    RSI,
    RSP,
    SOURCE,
    STACK,
    Action,
    PlainStore,
    Processor,
    Repeat,
    Step,
    Store,
    Undecided,
)
from memstrat.runner.inspect.semantics import compile_step

STEP_LIMIT = 2_000_000
"""Instructions after which a path is given up: a byte loop over 400 KB and more, or no end."""

_END = -1


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What one call of a kernel executes, up to its return or to where the path is undecided.

    `path` holds instruction indices in order, a `rep` once. `stores` leaves out the stack;
    `Store.address` and `Repeat.address` are offsets from the destination. `loops` are the backward
    branches that led to an instruction executed before, each as (index of its target, its index).
    `callees` are the functions called or jumped to. `undecided` says why the path breaks off; it
    is empty where it does not.
    """

    path: tuple[int, ...]
    stores: tuple[Store, ...]
    repeats: tuple[Repeat, ...]
    loops: frozenset[tuple[int, int]]
    callees: tuple[str, ...]
    undecided: str

    def covers(self, size: int) -> bool | None:
        """Whether the stores write each of the bytes [0, size) and no other.

        None where that cannot be told: an undecided path, a callee, a store with an unknown mask.
        """
        if self.undecided or self.callees or any(store.mask is None for store in self.stores):
            return None
        written = [(r.address, r.address + r.width * r.elements) for r in self.repeats]
        written = [(first, last) for first, last in written if first < last]
        for store in self.stores:
            written += _ranges_of(store)
        end = 0
        for first, last in sorted(written):
            if first < 0 or first > end:
                return False
            end = max(end, last)
        return end == size


def trace(code: Code, kernel: Kernel) -> Trace:
    """Follow the code as a call of the kernel goes. Raises `UnsupportedCode` as `decode` does."""
    return _trace(code, has_source=kernel.op is not Op.MEMSET)


@lru_cache(maxsize=256)
def _trace(code: Code, *, has_source: bool) -> Trace:
    decoded = decode(code.text)
    registers: list[int | None] = [None] * 16
    registers[RDI], registers[RSP] = DESTINATION, STACK
    if has_source:
        registers[RSI] = SOURCE
    processor = Processor(registers=registers)
    path: list[int] = []
    edges: set[tuple[int, int]] = set()
    undecided = ""
    try:
        _follow(_program(decoded, code), processor, path, edges)
    except Undecided as reason:
        undecided = str(reason)
    return Trace(
        path=tuple(path),
        stores=tuple(
            Store(at, address - DESTINATION, width, mask)
            for at, address, width, mask in processor.stores
        ),
        repeats=tuple(r._replace(address=r.address - DESTINATION) for r in processor.repeats),
        loops=_loops(path, edges),
        callees=tuple(processor.callees),
        undecided=undecided,
    )


def _follow(
    program: list[Step | None], processor: Processor, path: list[int], edges: set[tuple[int, int]]
) -> None:
    """Execute from instruction 0 to a return; fills `path` and the backward `edges` taken."""
    index, limit, append = 0, STEP_LIMIT, path.append
    end = len(program)
    registers = processor.registers
    while limit:
        limit -= 1
        if index == end:
            raise Undecided("it runs past its end")
        append(index)
        step = program[index]
        index += 1
        if step is None:
            continue
        if isinstance(step, PlainStore):
            base, displacement, width = step
            start = registers[base]
            if start is None:
                raise Undecided("it stores at an address that is not known")
            processor.store(index - 1, (start + displacement) & MASK64, width)
            continue
        if isinstance(step, int):
            registers[step] = None
            continue
        target = step(processor)
        if target is None:
            continue
        if target == _END:
            return
        if target < index:
            edges.add((target, index - 1))
        index = target
    raise Undecided(f"it has not returned after {STEP_LIMIT} instructions")


def _loops(path: list[int], edges: set[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """Backward edges whose target ran more than once; others are blocks laid out of order."""
    return frozenset(edge for edge in edges if path.count(edge[0]) > 1)


def _program(decoded: Decoded, code: Code) -> list[Step | None]:
    calls = {r.offset: r for r in code.relocations if r.kind is RelocationKind.CALL}
    return [
        _compile_transfer(instruction, decoded.index_at, calls)
        if instruction.flow_control in _TRANSFERS
        else compile_step(instruction, at)
        for at, instruction in enumerate(decoded.instructions)
    ]


_TRANSFERS = frozenset(
    {
        FlowControl.RETURN,
        FlowControl.CALL,
        FlowControl.CONDITIONAL_BRANCH,
        FlowControl.UNCONDITIONAL_BRANCH,
    }
)


def _compile_transfer(
    instruction: Instruction, index_at: Mapping[int, int], calls: Mapping[int, Relocation]
) -> Action:
    if instruction.flow_control == FlowControl.RETURN:
        return _return
    external = calls.get(instruction.next_ip - 4)
    if instruction.flow_control == FlowControl.CALL:
        return _compile_call(external)
    taken = _compile_jump(instruction, index_at, external)
    if instruction.flow_control == FlowControl.UNCONDITIONAL_BRANCH:
        return taken
    return _compile_conditional(instruction, taken)


def _return(_: Processor) -> int:
    return _END


def _compile_call(external: Relocation | None) -> Action:
    def call(processor: Processor) -> None:
        if external is None:
            raise Undecided("it calls code of its own")
        processor.callees.append(external.symbol)
        for number in CALLER_SAVED:
            processor.registers[number] = None
        processor.masks = [None] * 8
        processor.flags = None

    return call


def _compile_jump(
    instruction: Instruction, index_at: Mapping[int, int], external: Relocation | None
) -> Action:
    if external is not None:
        symbol = external.symbol

        def leave(processor: Processor) -> int:
            processor.callees.append(symbol)
            return _END

        return leave
    inside = (
        index_at.get(instruction.near_branch_target)
        if instruction.op0_kind == OpKind.NEAR_BRANCH64
        else None
    )

    def jump(_: Processor) -> int:
        if inside is None:
            raise Undecided(f"its jump at offset {instruction.ip} leads out of it")
        return inside

    return jump


def _compile_conditional(instruction: Instruction, taken: Action) -> Action:
    counts = _COUNTING.get(instruction.mnemonic)
    if counts is not None:
        return _compile_counting(taken, decrements=counts)
    if instruction.mnemonic not in _PLAIN_CONDITIONS:
        return _undecidable
    holds = compile_condition(instruction.condition_code)

    def branch(processor: Processor) -> int | None:
        outcome = holds(processor)
        if outcome is None:
            raise Undecided(f"its branch at offset {instruction.ip} depends on what is not known")
        return taken(processor) if outcome else None

    return branch


def _compile_counting(taken: Action, *, decrements: bool) -> Action:
    """`loop`, which decrements rcx and jumps while it is not zero, and `jrcxz`."""

    def branch(processor: Processor) -> int | None:
        count = processor.registers[RCX]
        if count is None:
            raise Undecided("its branch on rcx depends on what is not known")
        if decrements:
            count = processor.registers[RCX] = (count - 1) & 0xFFFF_FFFF_FFFF_FFFF
        return taken(processor) if (count != 0) is decrements else None

    return branch


def _undecidable(_: Processor) -> None:
    raise Undecided("it meets a branch of an unusual kind")


_COUNTING = {Mnemonic.LOOP: True, Mnemonic.JRCXZ: False}

_PLAIN_CONDITIONS = frozenset(
    value
    for name, value in vars(Mnemonic).items()
    if name.startswith("J")
    and name not in ("JMP", "JMPE", "JCXZ", "JECXZ", "JRCXZ", "JKZD", "JKNZD")
)


def _ranges_of(store: Store) -> list[tuple[int, int]]:
    start, mask = store.address, store.mask
    if mask == ALL_BYTES or mask is None:
        return [(start, start + store.width)]
    return [(start + i, start + i + 1) for i in range(store.width) if mask >> i & 1]
