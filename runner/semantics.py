"""What one instruction does to the integer state, as far as that decides the path of a kernel.

`compile_step` turns an instruction into a `Step`: an action on a `Processor` that returns the index
where control goes, or None to fall through. Kernels consist of stores and loads above all, so these
are plain data: a `PlainStore`, or the number of a register that becomes unknown. What has no
builder of its own goes the general way: every register that it writes becomes unknown, and what it
writes to memory is a store. So an instruction that nobody thought of can leave a path undecided,
but cannot lead it astray.
"""

from collections.abc import Callable

from iced_x86 import FlowControl, Instruction, MemorySizeExt, Mnemonic, OpKind

from memstrat.runner.conditions import compile_condition
from memstrat.runner.effects import compile_effects, compile_plain_store
from memstrat.runner.operands import (
    based_only,
    compile_address,
    compile_read,
    compile_register_write,
    compile_write,
    general_register,
    mask_register,
    operand_bits,
)
from memstrat.runner.processor import (
    MASK64,
    RBP,
    RCX,
    RDI,
    RSI,
    RSP,
    Flags,
    PlainStore,
    Processor,
    Undecided,
)

Action = Callable[[Processor], int | None]
Step = Action | PlainStore | int
Builder = Callable[[Instruction, int], Step | None]
Arithmetic = Callable[[int, int, int], Flags]


def compile_step(instruction: Instruction, at: int) -> Step | None:
    """The step of an instruction that is no branch; None for one without any effect here.

    `at` is the instruction's index, which its stores carry.
    """
    builder = _BUILDERS.get(instruction.mnemonic)
    if builder is not None:
        return builder(instruction, at)
    if instruction.flow_control != FlowControl.NEXT:
        return _refuse(
            f"it meets the instruction at offset {instruction.ip}, which is no plain code"
        )
    return compile_effects(instruction, at)


def _refuse(reason: str) -> Action:
    def refuse(_: Processor) -> None:
        raise Undecided(reason)

    return refuse


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


def _arithmetic(compute: Arithmetic, *, keeps: bool) -> Builder:
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


def _step_by_one(compute: Arithmetic) -> Builder:
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


def _shift(compute: Arithmetic) -> Builder:
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


def _move(instruction: Instruction, at: int) -> Step | None:
    """`mov` and its zero-extending kin; moves to special registers go the general way."""
    if instruction.op0_kind == OpKind.REGISTER:
        number = general_register(instruction.op0_register)
        if number is None:
            return compile_effects(instruction, at)
        if instruction.op1_kind == OpKind.MEMORY and based_only(instruction) is not None:
            return number
    elif instruction.op0_kind == OpKind.MEMORY and based_only(instruction) is not None:
        return compile_plain_store(instruction, at)
    bits = operand_bits(instruction, 0)
    immediate = instruction.op1_kind not in (OpKind.REGISTER, OpKind.MEMORY)
    source_bits = bits if immediate else operand_bits(instruction, 1)
    read = compile_read(instruction, 1, source_bits)
    write = compile_write(instruction, 0, bits, at)
    return lambda processor: write(processor, read(processor))


def _move_signed(instruction: Instruction, at: int) -> Step:
    bits, source_bits = operand_bits(instruction, 0), operand_bits(instruction, 1)
    read, write = compile_read(instruction, 1, source_bits), compile_write(instruction, 0, bits, at)
    sign = 1 << (source_bits - 1)

    def step(processor: Processor) -> None:
        value = read(processor)
        write(processor, None if value is None else ((value ^ sign) - sign) & ((1 << bits) - 1))

    return step


def _load_address(instruction: Instruction, _: int) -> Step:
    bits = operand_bits(instruction, 0)
    address = compile_address(instruction)
    write = compile_register_write(instruction.op0_register, bits)

    def step(processor: Processor) -> None:
        value = address(processor)
        write(processor, None if value is None else value & ((1 << bits) - 1))

    return step


def _exchange(instruction: Instruction, at: int) -> Step:
    bits = operand_bits(instruction, 0)
    reads = [compile_read(instruction, operand, bits) for operand in (0, 1)]
    writes = [compile_write(instruction, operand, bits, at) for operand in (0, 1)]

    def step(processor: Processor) -> None:
        first, second = reads[0](processor), reads[1](processor)
        writes[0](processor, second)
        writes[1](processor, first)

    return step


def _move_if(instruction: Instruction, _: int) -> Step:
    """`cmovcc`: 32 bits clear the upper half whether the condition holds or not."""
    bits = operand_bits(instruction, 0)
    holds = compile_condition(instruction.condition_code)
    read, other = compile_read(instruction, 0, bits), compile_read(instruction, 1, bits)
    write = compile_register_write(instruction.op0_register, bits)

    def step(processor: Processor) -> None:
        outcome = holds(processor)
        if outcome is None:
            write(processor, None)
        else:
            write(processor, other(processor) if outcome else read(processor))

    return step


def _set_if(instruction: Instruction, at: int) -> Step:
    holds = compile_condition(instruction.condition_code)
    write = compile_write(instruction, 0, 8, at)

    def step(processor: Processor) -> None:
        outcome = holds(processor)
        write(processor, None if outcome is None else int(outcome))

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


def _push(instruction: Instruction, at: int) -> Step:
    if instruction.op0_kind == OpKind.REGISTER:
        width = operand_bits(instruction, 0) // 8
    else:
        width = int(MemorySizeExt.size(instruction.memory_size)) or 8
    read = compile_read(instruction, 0, width * 8)

    def step(processor: Processor) -> None:
        value, top = read(processor), _known_stack(processor)
        processor.registers[RSP] = top - width
        processor.store(at, top - width, width, value)

    return step


def _pop(instruction: Instruction, at: int) -> Step:
    bits = operand_bits(instruction, 0)
    write = compile_write(instruction, 0, bits, at)

    def step(processor: Processor) -> None:
        top = _known_stack(processor)
        processor.registers[RSP] = top + bits // 8
        write(processor, processor.load(top, bits // 8))

    return step


def _leave(_: Instruction, __: int) -> Step:
    def step(processor: Processor) -> None:
        processor.registers[RSP] = processor.registers[RBP]
        top = _known_stack(processor)
        processor.registers[RBP] = processor.load(top, 8)
        processor.registers[RSP] = top + 8

    return step


def _known_stack(processor: Processor) -> int:
    top = processor.registers[RSP]
    if top is None:
        raise Undecided("it uses the stack while the stack pointer is not known")
    return top


def _string(*, moves: bool) -> Builder:
    """`movs` and `stos`, alone (one store of the element's width) or with `rep`."""

    def build(instruction: Instruction, at: int) -> Step | None:
        if instruction.op0_kind in (OpKind.REGISTER, OpKind.MEMORY):
            return compile_effects(instruction, at)  # SSE2's `movsd` shares the mnemonic
        if instruction.op0_kind != OpKind.MEMORY_ESRDI:
            return _refuse("it meets a string instruction with 32-bit addresses")
        width = int(MemorySizeExt.size(instruction.memory_size))
        repeats = instruction.has_rep_prefix or instruction.has_repne_prefix

        def step(processor: Processor) -> None:
            registers = processor.registers
            to, count = registers[RDI], registers[RCX] if repeats else 1
            if to is None or count is None:
                raise Undecided("it meets a string instruction whose address or count is not known")
            if repeats:
                processor.repeat(at, to, width, count)
                registers[RCX] = 0
            else:
                processor.store(at, to, width)
            registers[RDI] = (to + width * count) & MASK64
            if moves:
                source = registers[RSI]
                registers[RSI] = None if source is None else (source + width * count) & MASK64

        return step

    return build


def _mask_move(instruction: Instruction, at: int) -> Step | None:
    """`kmov` into an opmask register; out of one, it goes the general way."""
    target = mask_register(instruction.op0_register)
    if target is None or instruction.op1_kind != OpKind.REGISTER:
        return compile_effects(instruction, at)
    bits = _MASK_BITS[instruction.mnemonic]
    source = mask_register(instruction.op1_register)
    read = compile_read(instruction, 1, bits)

    def step(processor: Processor) -> None:
        value = read(processor) if source is None else processor.masks[source]
        processor.masks[target] = None if value is None else value & ((1 << bits) - 1)

    return step


def _nothing(_: Instruction, __: int) -> None:
    return None


def _named(*names: str) -> tuple[int, ...]:
    return tuple(getattr(Mnemonic, name) for name in names)


def _beginning(prefix: str) -> tuple[int, ...]:
    exceptions = ("SETSSBSY",)
    return tuple(
        value
        for name, value in vars(Mnemonic).items()
        if name.startswith(prefix) and name not in exceptions
    )


_MASK_BITS = dict(zip(_named("KMOVB", "KMOVW", "KMOVD", "KMOVQ"), (8, 16, 32, 64), strict=True))

_BUILDERS_BY_NAME: tuple[tuple[Builder, tuple[int, ...]], ...] = (
    (_move, _named("MOV", "MOVZX", "MOVNTI")),
    (_move_signed, _named("MOVSX", "MOVSXD")),
    (_load_address, _named("LEA")),
    (_arithmetic(_add, keeps=True), _named("ADD")),
    (_arithmetic(_subtract, keeps=True), _named("SUB")),
    (_arithmetic(_subtract, keeps=False), _named("CMP")),
    (_arithmetic(_and, keeps=True), _named("AND")),
    (_arithmetic(_and, keeps=False), _named("TEST")),
    (_arithmetic(_or, keeps=True), _named("OR")),
    (_arithmetic(_xor, keeps=True), _named("XOR")),
    (_step_by_one(_add), _named("INC")),
    (_step_by_one(_subtract), _named("DEC")),
    (_complement, _named("NOT")),
    (_negate, _named("NEG")),
    (_shift(_shift_left), _named("SHL", "SAL")),
    (_shift(_shift_right), _named("SHR")),
    (_shift(_shift_right_signed), _named("SAR")),
    (_multiply, _named("IMUL")),
    (_exchange, _named("XCHG")),
    (_move_if, _beginning("CMOV")),
    (_set_if, _beginning("SET")),
    (_test_bit, _named("BT")),
    (_push, _named("PUSH")),
    (_pop, _named("POP")),
    (_leave, _named("LEAVE")),
    (_string(moves=True), _named("MOVSB", "MOVSW", "MOVSD", "MOVSQ")),
    (_string(moves=False), _named("STOSB", "STOSW", "STOSD", "STOSQ")),
    (_mask_move, tuple(_MASK_BITS)),
    (_nothing, _named("NOP", "ENDBR64", "CLD", "VZEROUPPER", "PAUSE")),
)

_BUILDERS = {mnemonic: builder for builder, names in _BUILDERS_BY_NAME for mnemonic in names}
