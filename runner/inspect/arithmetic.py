"""Integer instructions that compute: their results and flags, where the operands are known.

`ARITHMETIC` names the builder of each. The flags of a result that is not known are not known.
"""

from collections.abc import Callable

from iced_x86 import Instruction, Mnemonic, OpKind

from memstrat.runner.inspect.effects import compile_effects
from memstrat.runner.inspect.operands import (
    compile_read,
    compile_register_write,
    compile_write,
    operand_bits,
)
from memstrat.runner.inspect.processor import Builder, Flags, Processor, Step

Compute = Callable[[int, int, int], Flags]
"""(first operand, second operand, bits) -> the flags, which carry the result."""


def _add(a: int, b: int, bits: int) -> Flags:
    total = a + b
    result = total & ((1 << bits) - 1)
    overflow = ((a ^ result) & (b ^ result)) >> (bits - 1) & 1
    return Flags(result, total != result, bool(overflow), bits)


def _subtract(a: int, b: int, bits: int) -> Flags:
    result = (a - b) & ((1 << bits) - 1)
    overflow = ((a ^ b) & (a ^ result)) >> (bits - 1) & 1
    return Flags(result, a < b, bool(overflow), bits)


def _and(a: int, b: int, bits: int) -> Flags:
    return Flags(a & b, False, False, bits)  # noqa: FBT003 - carry and overflow are clear


def _or(a: int, b: int, bits: int) -> Flags:
    return Flags(a | b, False, False, bits)  # noqa: FBT003 - carry and overflow are clear


def _xor(a: int, b: int, bits: int) -> Flags:
    return Flags(a ^ b, False, False, bits)  # noqa: FBT003 - carry and overflow are clear


def _arithmetic(compute: Compute, *, keeps: bool) -> Builder:
    """An instruction of two operands that sets all flags; it `keeps` its result or drops it."""

    def build(instruction: Instruction, at: int) -> Step:
        bits = operand_bits(instruction, 0)
        read, other = compile_read(instruction, 0, bits), compile_read(instruction, 1, bits)
        write = compile_write(instruction, 0, bits, at) if keeps else None
        fixed = _fixed_result(instruction, bits)
        if fixed is not None and write is not None:
            return _set_to(fixed, bits, write)

        def step(processor: Processor) -> None:
            a, b = read(processor), other(processor)
            flags = None if a is None or b is None else compute(a, b, bits)
            processor.flags = flags
            if write is not None:
                write(processor, None if flags is None else flags.result)

        return step

    return build


def _set_to(result: int, bits: int, write: Callable[[Processor, int | None], None]) -> Step:
    flags = Flags(result, False, False, bits)  # noqa: FBT003 - carry and overflow are clear

    def step(processor: Processor) -> None:
        processor.flags = flags
        write(processor, result)

    return step


def _fixed_result(instruction: Instruction, bits: int) -> int | None:
    """The result that does not depend on what was there: `xor a,a`, `and $0,a`, `or $-1,a`."""
    mnemonic = instruction.mnemonic
    if instruction.op1_kind == OpKind.REGISTER:
        same = (
            instruction.op0_kind == OpKind.REGISTER
            and instruction.op0_register == instruction.op1_register
        )
        return 0 if same and mnemonic in (Mnemonic.XOR, Mnemonic.SUB) else None
    if instruction.op1_kind == OpKind.MEMORY:
        return None
    every_bit = (1 << bits) - 1
    immediate = instruction.immediate(1) & every_bit
    if mnemonic == Mnemonic.AND and immediate == 0:
        return 0
    return every_bit if mnemonic == Mnemonic.OR and immediate == every_bit else None


def _step_by_one(compute: Compute) -> Builder:
    """`inc` and `dec`: the carry flag stays as it was."""

    def build(instruction: Instruction, at: int) -> Step:
        bits = operand_bits(instruction, 0)
        read = compile_read(instruction, 0, bits)
        write = compile_write(instruction, 0, bits, at)

        def step(processor: Processor) -> None:
            value, before = read(processor), processor.flags
            if value is None:
                processor.flags = None
                write(processor, None)
                return
            flags = compute(value, 1, bits)
            processor.flags = flags._replace(carry=None if before is None else before.carry)
            write(processor, flags.result)

        return step

    return build


def _complement(instruction: Instruction, at: int) -> Step:
    """`not`: no flag changes."""
    bits = operand_bits(instruction, 0)
    read, write = compile_read(instruction, 0, bits), compile_write(instruction, 0, bits, at)

    def step(processor: Processor) -> None:
        value = read(processor)
        write(processor, None if value is None else value ^ ((1 << bits) - 1))

    return step


def _negate(instruction: Instruction, at: int) -> Step:
    bits = operand_bits(instruction, 0)
    read, write = compile_read(instruction, 0, bits), compile_write(instruction, 0, bits, at)

    def step(processor: Processor) -> None:
        value = read(processor)
        flags = None if value is None else _subtract(0, value, bits)
        processor.flags = flags
        write(processor, None if flags is None else flags.result)

    return step


def _shift_left(value: int, count: int, bits: int) -> Flags:
    shifted = value << count
    return Flags(shifted & ((1 << bits) - 1), bool(shifted >> bits & 1), None, bits)


def _shift_right(value: int, count: int, bits: int) -> Flags:
    return Flags(value >> count, bool(value >> (count - 1) & 1), None, bits)


def _shift_right_signed(value: int, count: int, bits: int) -> Flags:
    signed = value - (1 << bits) if value >> (bits - 1) else value
    result = (signed >> count) & ((1 << bits) - 1)
    return Flags(result, bool(signed >> (count - 1) & 1), None, bits)


def _shift(compute: Compute) -> Builder:
    def build(instruction: Instruction, at: int) -> Step:
        bits = operand_bits(instruction, 0)
        read, write = compile_read(instruction, 0, bits), compile_write(instruction, 0, bits, at)
        amount = compile_read(instruction, 1, 8)

        def step(processor: Processor) -> None:
            value, count = read(processor), amount(processor)
            if value is None or count is None:
                processor.flags = None
                write(processor, None)
                return
            count &= 63 if bits == 64 else 31
            if count == 0:
                write(processor, value)
                return
            flags = compute(value, count, bits)
            processor.flags = flags
            write(processor, flags.result)

        return step

    return build


def _multiply(instruction: Instruction, at: int) -> Step | None:
    """`imul` of two or three operands; that of one operand goes the general way."""
    operands = instruction.op_count
    if operands == 1:
        return compile_effects(instruction, at)
    bits = operand_bits(instruction, 0)
    read = compile_read(instruction, operands - 2, bits)
    other = compile_read(instruction, operands - 1, bits)
    write = compile_register_write(instruction.op0_register, bits)

    def step(processor: Processor) -> None:
        a, b = read(processor), other(processor)
        processor.flags = None
        write(processor, None if a is None or b is None else a * b & ((1 << bits) - 1))

    return step


def _test_bit(instruction: Instruction, at: int) -> Step | None:
    """`bt` with a register as its base: the carry flag is the bit."""
    if instruction.op0_kind != OpKind.REGISTER:
        return compile_effects(instruction, at)
    bits = operand_bits(instruction, 0)
    read, position = compile_read(instruction, 0, bits), compile_read(instruction, 1, 8)

    def step(processor: Processor) -> None:
        value, bit, before = read(processor), position(processor), processor.flags
        known = value is not None and bit is not None and before is not None
        carry = bool(value >> (bit % bits) & 1) if known else None  # type: ignore[operator]
        processor.flags = before._replace(carry=carry) if before is not None else None

    return step


ARITHMETIC: dict[int, Builder] = {
    Mnemonic.ADD: _arithmetic(_add, keeps=True),
    Mnemonic.SUB: _arithmetic(_subtract, keeps=True),
    Mnemonic.CMP: _arithmetic(_subtract, keeps=False),
    Mnemonic.AND: _arithmetic(_and, keeps=True),
    Mnemonic.TEST: _arithmetic(_and, keeps=False),
    Mnemonic.OR: _arithmetic(_or, keeps=True),
    Mnemonic.XOR: _arithmetic(_xor, keeps=True),
    Mnemonic.INC: _step_by_one(_add),
    Mnemonic.DEC: _step_by_one(_subtract),
    Mnemonic.NOT: _complement,
    Mnemonic.NEG: _negate,
    Mnemonic.SHL: _shift(_shift_left),
    Mnemonic.SAL: _shift(_shift_left),
    Mnemonic.SHR: _shift(_shift_right),
    Mnemonic.SAR: _shift(_shift_right_signed),
    Mnemonic.IMUL: _multiply,
    Mnemonic.BT: _test_bit,
}
