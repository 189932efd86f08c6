"""Reading and writing an instruction's operands in the state of a `Processor`.

Each function looks at the instruction once and returns a closure for its execution.
"""

from collections.abc import Callable

from iced_x86 import Instruction, MemorySizeExt, OpKind, Register, RegisterExt

from memstrat.runner.inspect.processor import MASK64, RBP, RSP, Processor, Undecided

Read = Callable[[Processor], int | None]
Write = Callable[[Processor, int | None], None]


def general_register(register: int) -> int | None:
    """Number 0 to 15 of the general register that holds this one, None for any other register."""
    return _NUMBER_OF.get(register)


def mask_register(register: int) -> int | None:
    """Number 0 to 7 of an AVX-512 opmask register, None for any other register."""
    return register - Register.K0 if Register.K0 <= register <= Register.K7 else None


def operand_bits(instruction: Instruction, operand: int) -> int:
    """Bits of a register or memory operand."""
    if instruction.op_kind(operand) == OpKind.REGISTER:
        return int(RegisterExt.size(instruction.op_register(operand))) * 8
    return int(MemorySizeExt.size(instruction.memory_size)) * 8


def compile_address(instruction: Instruction) -> Read:
    """The address of the instruction's memory operand; None from it where that is not known."""
    displacement = instruction.memory_displacement
    base, index = instruction.memory_base, instruction.memory_index
    if base not in _ADDRESSING or index not in _ADDRESSING:
        return _unknown  # relative to rip, 32-bit, or a vector of addresses
    if int(instruction.segment_prefix) in _THREAD_SEGMENTS:
        return _unknown
    base_number, index_number = _NUMBER_OF.get(base), _NUMBER_OF.get(index)
    if index_number is None:
        if base_number is None:
            return lambda _: displacement
        number = base_number

        def based(processor: Processor) -> int | None:
            value = processor.registers[number]
            return None if value is None else (value + displacement) & MASK64

        return based
    return _indexed(base_number, index_number, instruction.memory_index_scale, displacement)


def based_only(instruction: Instruction) -> int | None:
    """Number of the register that the memory operand's address is a displacement from.

    None where the address has any other part, and for the stack and frame pointers: what is stored
    by them may be read again.
    """
    base = _PLAIN_BASES.get(instruction.memory_base)
    plain = int(instruction.memory_index) == Register.NONE
    return base if plain and not instruction.has_segment_prefix else None


def _indexed(base: int | None, index: int, scale: int, displacement: int) -> Read:
    def indexed(processor: Processor) -> int | None:
        offset = processor.registers[index]
        start = 0 if base is None else processor.registers[base]
        if offset is None or start is None:
            return None
        return (start + offset * scale + displacement) & MASK64

    return indexed


def compile_read(instruction: Instruction, operand: int, bits: int) -> Read:
    """Reads an operand as an unsigned number of `bits` bits."""
    kind = instruction.op_kind(operand)
    mask = (1 << bits) - 1
    if kind == OpKind.REGISTER:
        return _compile_register_read(instruction.op_register(operand), mask)
    if kind == OpKind.MEMORY:
        address, width = compile_address(instruction), bits // 8

        def memory(processor: Processor) -> int | None:
            where = address(processor)
            return None if where is None else processor.load(where, width)

        return memory
    if kind in _IMMEDIATES:
        value = instruction.immediate(operand) & mask
        return lambda _: value
    return _unknown


def _compile_register_read(register: int, mask: int) -> Read:
    found = _NUMBER_OF.get(register)
    if found is None:
        return _unknown
    number = found
    if mask == MASK64:
        return lambda processor: processor.registers[number]
    shift = 8 if register in _HIGH_BYTES else 0

    def part(processor: Processor) -> int | None:
        value = processor.registers[number]
        return None if value is None else value >> shift & mask

    return part


def compile_write(instruction: Instruction, operand: int, bits: int, at: int) -> Write:
    """Writes an operand of `bits` bits; `at` is the instruction's index, for the list of stores."""
    if instruction.op_kind(operand) == OpKind.REGISTER:
        return compile_register_write(instruction.op_register(operand), bits)
    address, width = compile_address(instruction), bits // 8

    def memory(processor: Processor, value: int | None) -> None:
        where = address(processor)
        if where is None:
            raise Undecided("it stores at an address that is not known")
        processor.store(at, where, width, value)

    return memory


def compile_register_write(register: int, bits: int) -> Write:
    """Writes a general register as x86-64 does: 32 bits clear the rest, fewer bits keep it."""
    found = _NUMBER_OF.get(register)
    if found is None:
        return _drop  # a segment register: no path depends on it
    number = found
    if bits >= 32:

        def whole(processor: Processor, value: int | None) -> None:
            processor.registers[number] = value

        return whole
    shift = 8 if register in _HIGH_BYTES else 0
    kept = MASK64 ^ (((1 << bits) - 1) << shift)

    def part(processor: Processor, value: int | None) -> None:
        old = processor.registers[number]
        if value is None or old is None:
            processor.registers[number] = None
        else:
            processor.registers[number] = (old & kept) | (value << shift)

    return part


def _drop(_: Processor, __: int | None) -> None:
    return None


def _unknown(_: Processor) -> None:
    return None


def _number_registers() -> dict[int, int]:
    registers = [value for value in vars(Register).values() if isinstance(value, int)]
    return {
        register: RegisterExt.full_register(register) - Register.RAX  # type: ignore[arg-type]
        for register in registers
        if RegisterExt.is_gpr(register)  # type: ignore[arg-type]
    }


_NUMBER_OF = _number_registers()
_THREAD_SEGMENTS = frozenset({int(Register.FS), int(Register.GS)})
_ADDRESSING = frozenset({int(Register.NONE), *range(Register.RAX, Register.R15 + 1)})
_PLAIN_BASES = {
    register: number
    for register, number in _NUMBER_OF.items()
    if register in _ADDRESSING and number not in (RSP, RBP)
}
_HIGH_BYTES = frozenset({Register.AH, Register.CH, Register.DH, Register.BH})
_IMMEDIATES = frozenset(
    value
    for name, value in vars(OpKind).items()
    if name.startswith("IMMEDIATE") and isinstance(value, int)
)
