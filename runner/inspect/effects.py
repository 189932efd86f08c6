"""The general way for an instruction without a builder of its own: iced's account of its effects.

Registers and flags that it writes become unknown; what it writes to memory is a store. Most vector
instructions take this way: they touch nothing that decides a path.
"""

from collections.abc import Callable

from iced_x86 import (
    Instruction,
    InstructionInfoFactory,
    MemorySizeExt,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    RflagsBits,
    UsedMemory,
)

from memstrat.runner.inspect.operands import (
    Read,
    based_only,
    compile_address,
    general_register,
    mask_register,
)
from memstrat.runner.inspect.processor import (
    ALL_BYTES,
    PlainStore,
    Processor,
    Store,
    Undecided,
)

Change = Callable[[Processor], None]
Effects = Change | PlainStore

_WRITES = frozenset(
    {OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE}
)
_CONDITIONAL = frozenset({OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE})

_MASKED_BY_VECTOR = frozenset(
    {Mnemonic.VPMASKMOVD, Mnemonic.VPMASKMOVQ, Mnemonic.VMASKMOVPS, Mnemonic.VMASKMOVPD}
)
"""iced calls their stores unconditional; their masks are vectors, which are not followed."""

_OUT_OF_ORDER = frozenset(
    {Mnemonic.VPCOMPRESSD, Mnemonic.VPCOMPRESSQ, Mnemonic.VCOMPRESSPS, Mnemonic.VCOMPRESSPD}
)
"""Masked stores that close the gaps, so that the mask does not say which bytes they write."""

_NO_MASK = int(Register.NONE)

_NO_EFFECT = 0
_STORE = 1
_OTHER = 2

_kind_of_code: dict[tuple[int, int], int] = {}
"""What is known of iced's instruction codes met so far, by code and kind of first operand."""


def compile_effects(instruction: Instruction, at: int) -> Effects | None:
    """A step that forgets what the instruction writes and records its stores, or None."""
    if int(instruction.op_mask) != _NO_MASK:
        return _compile_other(instruction, at)
    key = (instruction.code, instruction.op0_kind)
    kind = _kind_of_code.get(key)
    if kind is None:
        kind = _kind_of_code[key] = _classify(instruction)
    if kind == _NO_EFFECT:
        return None
    if kind == _STORE:
        return compile_plain_store(instruction, at)
    return _compile_other(instruction, at)


def stored_width(instruction: Instruction) -> int:
    """Bytes that the instruction writes through its memory operand; 0 for none."""
    if instruction.op0_kind != OpKind.MEMORY:
        return 0
    used = _factory.info(instruction).used_memory()
    if not any(memory.access in _WRITES for memory in used):
        return 0
    return int(MemorySizeExt.size(instruction.memory_size))


def _classify(instruction: Instruction) -> int:
    information = _factory.info(instruction)
    written = _written_registers(instruction)
    if written[0] or written[1] or instruction.rflags_modified & _ARITHMETIC_FLAGS:
        return _OTHER
    memory = [used for used in information.used_memory() if used.access in _WRITES]
    if not memory:
        return _NO_EFFECT
    plain = (
        len(memory) == 1
        and not _is_masked(instruction, memory[0])
        and instruction.op0_kind == OpKind.MEMORY
    )
    return _STORE if plain else _OTHER


def compile_plain_store(instruction: Instruction, at: int) -> Effects:
    """The step of an instruction that stores through its memory operand, and does no more."""
    width = int(MemorySizeExt.size(instruction.memory_size))
    base = based_only(instruction)
    if base is not None:
        return PlainStore(base, instruction.memory_displacement, width)
    return _recorded_store(compile_address(instruction), width, at)


def _recorded_store(address: Read, width: int, at: int) -> Change:

    def store(processor: Processor) -> None:
        where = address(processor)
        if where is None:
            raise Undecided("it stores at an address that is not known")
        processor.store(at, where, width)

    return store


def _compile_other(instruction: Instruction, at: int) -> Change:
    general, masks = _written_registers(instruction)
    changes_flags = bool(instruction.rflags_modified & _ARITHMETIC_FLAGS)
    memory = [m for m in _factory.info(instruction).used_memory() if m.access in _WRITES]
    stores = [_compile_store(instruction, used, at) for used in memory]

    def forget(processor: Processor) -> None:
        for store in stores:
            store(processor)
        for number in general:
            processor.registers[number] = None
        for number in masks:
            processor.masks[number] = None
        if changes_flags:
            processor.flags = None

    return forget


def _compile_store(instruction: Instruction, used: UsedMemory, at: int) -> Change:
    if instruction.op0_kind != OpKind.MEMORY:
        return _implicit_store
    address = compile_address(instruction)
    width = int(MemorySizeExt.size(instruction.memory_size))
    if not _is_masked(instruction, used):
        return _recorded_store(address, width, at)
    element = int(MemorySizeExt.element_size(instruction.memory_size))
    in_order = instruction.mnemonic not in _OUT_OF_ORDER
    mask_number = mask_register(instruction.op_mask) if in_order else None

    def masked_store(processor: Processor) -> None:
        where = address(processor)
        if where is None:
            raise Undecided("it stores at an address that is not known")
        lanes = None if mask_number is None else processor.masks[mask_number]
        mask = None if lanes is None else _byte_mask(lanes, element, width)
        processor.stores.append(Store(at, where, width, mask))

    return masked_store


def _is_masked(instruction: Instruction, used: UsedMemory) -> bool:
    return used.access in _CONDITIONAL or instruction.mnemonic in _MASKED_BY_VECTOR


def _implicit_store(_: Processor) -> None:
    raise Undecided("it writes memory through an operand that it does not name")


def _byte_mask(lanes: int, element: int, width: int) -> int:
    """The bytes that a mask with one bit per element covers; `ALL_BYTES` for all of them."""
    every_byte = (1 << element) - 1
    mask = 0
    for lane in range(width // element):
        if lanes >> lane & 1:
            mask |= every_byte << lane * element
    return ALL_BYTES if mask == (1 << width) - 1 else mask


def _written_registers(instruction: Instruction) -> tuple[tuple[int, ...], tuple[int, ...]]:
    written = [
        used.register
        for used in _factory.info(instruction).used_registers()
        if used.access in _WRITES
    ]
    general = {n for register in written if (n := general_register(register)) is not None}
    masks = {n for register in written if (n := mask_register(register)) is not None}
    return tuple(sorted(general)), tuple(sorted(masks))


_factory = InstructionInfoFactory()

_ARITHMETIC_FLAGS = RflagsBits.OF | RflagsBits.SF | RflagsBits.ZF | RflagsBits.PF | RflagsBits.CF
