"""Machine code to instructions: what stands in a code, which ISA it needs, how it reads.

Nothing here follows a path through the code; that is `memstrat.runner.inspect.trace`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from iced_x86 import (
    CpuidFeature,
    Decoder,
    FlowControl,
    Formatter,
    FormatterSyntax,
    Instruction,
    Mnemonic,
    OpKind,
    Register,
)

from memstrat.model import Code, Isa, Relocation, RelocationKind

FIELD_BYTES = 4
"""Bytes of a relocated field: `Relocation` describes 32-bit fields only."""

_FEATURES_OF_ISA = {
    Isa.GPR: (
        "INTEL8086 INTEL8086_ONLY INTEL186 INTEL286 INTEL386 INTEL486 X64 CMOV MULTIBYTENOP CET_IBT"
        " CET_SS CLFSH PAUSE PREFETCHW"
    ),
    Isa.SSE2: "SSE SSE2",
    # CPUs with AVX2 have all of these; a distinction among them would tell no reader anything.
    Isa.AVX2: (
        "SSE3 SSSE3 SSE4_1 SSE4_2 POPCNT AVX AVX2 BMI1 BMI2 FMA F16C LZCNT MOVBE ADX INTEL8086_LAHF"
    ),
    Isa.AVX512: "AVX512F AVX512VL AVX512BW AVX512DQ AVX512CD",
}

_ISA_OF_FEATURE = {
    getattr(CpuidFeature, name): isa
    for isa, names in _FEATURES_OF_ISA.items()
    for name in names.split()
    if hasattr(CpuidFeature, name)
}

_FEATURE_NAMES = {
    value: name for name, value in vars(CpuidFeature).items() if isinstance(value, int)
}

_WITHOUT_VECTORS = frozenset(
    {
        Mnemonic.MOVNTI,
        Mnemonic.SFENCE,
        Mnemonic.LFENCE,
        Mnemonic.MFENCE,
        Mnemonic.PAUSE,
        Mnemonic.PREFETCHNTA,
        Mnemonic.PREFETCHT0,
        Mnemonic.PREFETCHT1,
        Mnemonic.PREFETCHT2,
    }
)
"""Instructions that came with SSE but touch no vector register: `gpr` allows them."""

_LEAVES = frozenset({FlowControl.RETURN, FlowControl.UNCONDITIONAL_BRANCH, FlowControl.EXCEPTION})


class UnsupportedCode(Exception):  # noqa: N818 - a finding about a code, not an error of a user
    """A code that cannot be decoded or told apart by ISA; the message is the reason.

    It becomes the reason of a problem and never reaches a user as an error.
    """


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """The instructions of a code in order of address, and where each begins."""

    instructions: tuple[Instruction, ...]
    index_at: Mapping[int, int]
    isa: Isa


@lru_cache(maxsize=1024)
def decode(text: bytes) -> Decoded:
    """Decode machine code whose first byte is at address 0.

    Raises `UnsupportedCode` for bytes that are no instruction, and for instructions that no `Isa`
    of memstrat covers (x87, MMX, AMX and the like).
    """
    instructions = tuple(Decoder(64, text, ip=0))
    for instruction in instructions:
        if instruction.is_invalid:
            raise UnsupportedCode(f"the bytes at offset {instruction.ip} are no instruction")
    return Decoded(
        instructions=instructions,
        index_at={instruction.ip: i for i, instruction in enumerate(instructions)},
        isa=_least_isa(instructions),
    )


def without_padding(text: bytes) -> bytes:
    """The text without the no-operations and breakpoints that follow its last instruction.

    Only what follows a return or an unconditional jump is padding; text that does not decode is
    returned as it is.
    """
    end = len(text)
    keep = end
    for instruction in reversed(tuple(Decoder(64, text, ip=0))):
        if instruction.is_invalid:
            return text
        if instruction.flow_control in _LEAVES:
            return text[:keep]
        if not _is_padding(instruction):
            return text
        keep = instruction.ip
    return text


def att_text(instruction: Instruction) -> str:
    """The instruction in AT&T syntax, as llvm-mca reads it."""
    text = _formatter().format(instruction)
    if instruction.op0_kind == OpKind.MEMORY_ESRDI:
        return text.replace(",(%rdi)", ",%es:(%rdi)")
    return text


def field_offset(instruction: Instruction, relocations: Mapping[int, Relocation]) -> int | None:
    """Where in the code the relocated field of this instruction stands, None without one."""
    for offset in range(instruction.ip + 1, instruction.next_ip - FIELD_BYTES + 1):
        if offset in relocations:
            return offset
    return None


def disassemble(code: Code) -> str:
    """A listing of the code: offset, label where a branch leads to, instruction, what it refers to.

    Callees stand by name. Constants that the code reads stand as hexadecimal bytes in a comment.
    """
    decoded = decode(code.text)
    relocations = {relocation.offset: relocation for relocation in code.relocations}
    labels = _labels(decoded, relocations)
    lines = []
    for instruction in decoded.instructions:
        if instruction.ip in labels:
            lines.append(f"{labels[instruction.ip]}:")
        text = _listed(instruction, relocations, labels)
        lines.append(f"{instruction.ip:6x}  {text}")
    return "\n".join(lines)


def _listed(
    instruction: Instruction, relocations: Mapping[int, Relocation], labels: Mapping[int, str]
) -> str:
    text = att_text(instruction)
    offset = field_offset(instruction, relocations) if relocations else None
    if offset is not None:
        relocation = relocations[offset]
        if relocation.kind is RelocationKind.CALL:
            return f"{text.rsplit(' ', 1)[0]} {relocation.symbol}"
        return f"{text}  # {relocation.data.hex(' ')}"
    if _is_near_branch(instruction):
        target = instruction.near_branch_target
        name = labels.get(target, f"{target:#x}")
        return f"{text.rsplit(' ', 1)[0]} {name}"
    return text


def _labels(decoded: Decoded, relocations: Mapping[int, Relocation]) -> dict[int, str]:
    targets = {
        instruction.near_branch_target
        for instruction in decoded.instructions
        if _is_near_branch(instruction)
        and (not relocations or field_offset(instruction, relocations) is None)
    }
    inside = sorted(target for target in targets if target in decoded.index_at)
    return {target: f".L{number}" for number, target in enumerate(inside, start=1)}


def _is_near_branch(instruction: Instruction) -> bool:
    return bool(instruction.op0_kind == OpKind.NEAR_BRANCH64)


def _is_padding(instruction: Instruction) -> bool:
    mnemonic = instruction.mnemonic
    if mnemonic in (Mnemonic.NOP, Mnemonic.INT3):
        return True
    # `xchg %ax,%ax` is how `66 90`, a two-byte no-operation, decodes.
    return bool(mnemonic == Mnemonic.XCHG and instruction.op0_register == instruction.op1_register)


def _least_isa(instructions: tuple[Instruction, ...]) -> Isa:
    least = Isa.GPR
    for code, instruction in {
        instruction.code: instruction for instruction in instructions
    }.items():
        isa = _isa_of_code.get(code)
        if isa is None:
            isa = _isa_of_code[code] = _isa_of(instruction)
        if not least.includes(isa):
            least = isa
    return least


_isa_of_code: dict[int, Isa] = {}
"""iced's instruction codes met so far: asking for CPUID features costs more than decoding."""


def _isa_of(instruction: Instruction) -> Isa:
    if instruction.mnemonic in _WITHOUT_VECTORS:
        return Isa.GPR
    least = Isa.GPR
    for feature in instruction.cpuid_features():
        isa = _ISA_OF_FEATURE.get(feature)
        if isa is None:
            name = _FEATURE_NAMES.get(feature, str(feature))
            raise UnsupportedCode(f"`{att_text(instruction)}` needs {name}, which no ISA here has")
        if not least.includes(isa):
            least = isa
    if _touches_mmx(instruction):
        raise UnsupportedCode(f"`{att_text(instruction)}` uses an MMX register")
    return least


def _touches_mmx(instruction: Instruction) -> bool:
    return any(
        Register.MM0 <= instruction.op_register(i) <= Register.MM7
        for i in range(instruction.op_count)
        if instruction.op_kind(i) == OpKind.REGISTER
    )


@lru_cache(maxsize=1)
def _formatter() -> Formatter:
    formatter = Formatter(FormatterSyntax.GAS)
    formatter.rip_relative_addresses = True
    formatter.uppercase_hex = False
    formatter.branch_leading_zeros = False
    return formatter
