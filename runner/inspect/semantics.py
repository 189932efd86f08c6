"""What one instruction does to the integer state, as far as that decides the path of a kernel.

`compile_step` turns an instruction into a `Step`: an action on a `Processor` that returns the index
where control goes, or None to fall through. Kernels consist of stores and loads above all, so these
are plain data: a `PlainStore`, or the number of a register that becomes unknown. What has no
builder of its own goes the general way: every register that it writes becomes unknown, and what it
writes to memory is a store. So an instruction that nobody thought of can leave a path undecided,
but cannot lead it astray.
"""

from iced_x86 import FlowControl, Instruction, MemorySizeExt, Mnemonic, OpKind

from memstrat.runner.inspect.arithmetic import ARITHMETIC
from memstrat.runner.inspect.conditions import compile_condition
from memstrat.runner.inspect.effects import compile_effects, compile_plain_store
from memstrat.runner.inspect.operands import (
    based_only,
    compile_address,
    compile_read,
    compile_register_write,
    compile_write,
    general_register,
    mask_register,
    operand_bits,
)
from memstrat.runner.inspect.processor import (
    MASK64,
    RBP,
    RCX,
    RDI,
    RSI,
    RSP,
    Action,
    Builder,
    Processor,
    Step,
    Undecided,
)


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
    (_exchange, _named("XCHG")),
    (_move_if, _beginning("CMOV")),
    (_set_if, _beginning("SET")),
    (_push, _named("PUSH")),
    (_pop, _named("POP")),
    (_leave, _named("LEAVE")),
    (_string(moves=True), _named("MOVSB", "MOVSW", "MOVSD", "MOVSQ")),
    (_string(moves=False), _named("STOSB", "STOSW", "STOSD", "STOSQ")),
    (_mask_move, tuple(_MASK_BITS)),
    (_nothing, _named("NOP", "ENDBR64", "CLD", "VZEROUPPER", "PAUSE")),
)

_BUILDERS = ARITHMETIC | {
    mnemonic: builder for builder, names in _BUILDERS_BY_NAME for mnemonic in names
}
