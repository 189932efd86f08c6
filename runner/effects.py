"""The general way for an instruction without a builder of its own: iced's account of its effects.

Registers and flags that it writes become unknown; what it writes to memory is a store. Most vector
instructions take this way: they touch nothing that decides a path.
"""

from collections.abc import Callable

from iced_x86 import (
    Instruction,
    InstructionInfoFactory,
    MemorySizeExt,
    OpAccess,
    OpKind,
    Register,
    RflagsBits,
    UsedMemory,
)

from memstrat.runner.operands import Read, compile_address, general_register, mask_register
from memstrat.runner.processor import (
    ALL_BYTES,
    STACK_FLOOR,
    Processor,
    Store,
    Undecided,
)

Effects = Callable[[Processor], None]

_WRITES = frozenset(
    {OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE}
)
_CONDITIONAL = frozenset({OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE})

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
        return _plain_store(compile_address(instruction), instruction, at)
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
        and memory[0].access not in _CONDITIONAL
        and instruction.op0_kind == OpKind.MEMORY
    )
    return _STORE if plain else _OTHER


def _plain_store(address: Read, instruction: Instruction, at: int) -> Effects:
    width = int(MemorySizeExt.size(instruction.memory_size))

    def store(processor: Processor) -> None:
        where = address(processor)
        if where is None:
            raise Undecided("it stores at an address that is not known")
        if where < STACK_FLOOR:
            processor.stores.append(Store(at, where, width))
        else:
            processor.store(at, where, width)

    return store


def _compile_other(instruction: Instruction, at: int) -> Effects:
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


def _compile_store(instruction: Instruction, used: UsedMemory, at: int) -> Effects:
    if instruction.op0_kind != OpKind.MEMORY:
        return _implicit_store
    address = compile_address(instruction)
    if used.access not in _CONDITIONAL:
        return _plain_store(address, instruction, at)
    width = int(MemorySizeExt.size(instruction.memory_size))
    element = int(MemorySizeExt.element_size(instruction.memory_size))
    mask_number = mask_register(instruction.op_mask)

    def masked_store(processor: Processor) -> None:
        where = address(processor)
        if where is None:
            raise Undecided("it stores at an address that is not known")
        lanes = None if mask_number is None else processor.masks[mask_number]
        mask = None if lanes is None else _byte_mask(lanes, element, width)
        processor.stores.append(Store(at, where, width, mask))

    return masked_store


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
