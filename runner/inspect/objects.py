"""ELF objects to codes: each kernel's bytes, and what its relocated fields refer to.

A code must be able to stand alone, away from its object. So a kernel that refers to anything but an
external function or a constant that it reads gives no code but a reason.
"""

import io
import zlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, SymbolTableSection
from iced_x86 import Instruction, MemorySizeExt, Mnemonic, OpKind, Register

from memstrat.errors import ObjectError
from memstrat.model import Code, Kernel, Relocation, RelocationKind
from memstrat.runner.inspect.decode import FIELD_BYTES, UnsupportedCode, decode, without_padding

# x86-64 psABI, table of relocation types.
_PC32, _PLT32, _GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX = 2, 4, 9, 41, 42
_THROUGH_GOT = (_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX)
_BRANCH_OPCODES = {Mnemonic.CALL, Mnemonic.JMP}


@dataclass(frozen=True, kw_only=True)
class _Symbol:
    name: str
    section: int | None
    value: int
    size: int


@dataclass(frozen=True, kw_only=True)
class _Field:
    """A relocation entry as the object states it."""

    offset: int
    type: int
    symbol: int
    addend: int


class _Object:
    """An ELF object, each part read once: its sections, symbols, and relocations by section."""

    def __init__(self, data: bytes) -> None:
        elf = ELFFile(io.BytesIO(data))
        if elf["e_machine"] != "EM_X86_64" or elf["e_type"] != "ET_REL":
            raise ObjectError("what the compiler wrote is no relocatable x86-64 object")
        self.sections: list[Section] = list(elf.iter_sections())
        self.symbols: list[_Symbol] = []
        self.fields: dict[int, list[_Field]] = {}
        for section in self.sections:
            if isinstance(section, SymbolTableSection):
                self.symbols = [_symbol(entry) for entry in section.iter_symbols()]
            elif isinstance(section, RelocationSection):
                self.fields[section["sh_info"]] = [_field(r) for r in section.iter_relocations()]
        self.named = {s.name: s for s in self.symbols if s.name and s.section is not None}


class _Unusable(Exception):  # noqa: N818 - a finding about a kernel, not an error of a user
    """Why a kernel gives no code."""


def extract_codes(data: bytes, kernels: Sequence[Kernel]) -> dict[str, Code | str]:
    """The code of each kernel by the kernel's name, or in one sentence why there is none.

    A kernel is the function of its name. Raises `ObjectError` where `data` is no relocatable x86-64
    ELF object.
    """
    try:
        return _extract(_Object(data), kernels)
    except ObjectError:
        raise
    except (
        ELFError,
        ConstructError,
        ArithmeticError,
        AttributeError,
        AssertionError,
        LookupError,
        MemoryError,
        OSError,
        TypeError,
        ValueError,
        zlib.error,
    ) as error:  # what pyelftools lets out of damaged headers and tables
        raise ObjectError(f"the object that the compiler wrote is damaged: {error!r}") from error


def _extract(source: _Object, kernels: Sequence[Kernel]) -> dict[str, Code | str]:
    codes: dict[str, Code | str] = {}
    for kernel in kernels:
        try:
            codes[kernel.name] = _code(source, kernel.name)
        except (_Unusable, UnsupportedCode) as reason:
            codes[kernel.name] = str(reason)
    return codes


def _code(source: _Object, name: str) -> Code:
    symbol = source.named.get(name)
    if symbol is None or symbol.section is None:
        raise _Unusable(f"the object defines no function {name}")
    section = source.sections[symbol.section]
    content = section.data()
    start = symbol.value
    end = start + symbol.size if symbol.size else len(content)
    if not start < end <= len(content):
        raise _Unusable(f"the function {name} has no bytes in section {section.name}")
    text = without_padding(content[start:end])
    fields = [
        field
        for field in source.fields.get(symbol.section, ())
        if start <= field.offset < start + len(text)
    ]
    return _relocated(source, symbol, text, fields)


def _relocated(source: _Object, symbol: _Symbol, text: bytes, fields: list[_Field]) -> Code:
    decoded = decode(text)
    if not fields:
        return Code(text=text, isa=decoded.isa)
    normal = bytearray(text)
    relocations = []
    starts = [instruction.ip for instruction in decoded.instructions]
    for field in fields:
        offset = field.offset - symbol.value
        instruction = decoded.instructions[bisect_right(starts, offset) - 1]
        relocation = _relocation(source, field, offset, instruction)
        if field.type in _THROUGH_GOT:
            _call_directly(normal, instruction)
            # `jmp *f(%rip)` shrinks to `jmp f; nop`: its field moves one byte to the front.
            if instruction.mnemonic == Mnemonic.JMP:
                relocation = replace(relocation, offset=relocation.offset - 1)
        normal[relocation.offset : relocation.offset + FIELD_BYTES] = bytes(FIELD_BYTES)
        relocations.append(relocation)
    relocations.sort(key=lambda relocation: relocation.offset)
    final = without_padding(bytes(normal))
    return Code(text=final, relocations=tuple(relocations), isa=decode(final).isa)


def _relocation(
    source: _Object, field: _Field, offset: int, instruction: Instruction
) -> Relocation:
    target = source.symbols[field.symbol]
    if offset + FIELD_BYTES > instruction.next_ip:
        raise _Unusable(f"a relocated field at offset {offset} does not lie in an instruction")
    if field.type in _THROUGH_GOT:
        return _external(field, offset, instruction, target, direct=False)
    if field.type not in (_PC32, _PLT32):
        raise _Unusable(f"it has a relocation of type {field.type} to {target.name or 'a section'}")
    if instruction.op0_kind == OpKind.NEAR_BRANCH64:
        return _external(field, offset, instruction, target, direct=True)
    return _constant(source, field, offset, instruction, target)


def _external(
    field: _Field, offset: int, instruction: Instruction, target: _Symbol, *, direct: bool
) -> Relocation:
    """A call of, or a jump to, a function that the object does not define."""
    if not direct and not (
        instruction.mnemonic in _BRANCH_OPCODES and instruction.len == FIELD_BYTES + 2
    ):
        raise _Unusable(f"it takes the address of {target.name}")
    if target.section is not None:
        raise _Unusable(f"it calls or jumps to local code ({target.name or 'another section'})")
    if field.addend != offset - instruction.next_ip:
        raise _Unusable(f"it jumps into the middle of {target.name}")
    return Relocation(
        offset=offset, kind=RelocationKind.CALL, addend=field.addend, symbol=target.name
    )


def _constant(
    source: _Object, field: _Field, offset: int, instruction: Instruction, target: _Symbol
) -> Relocation:
    """A constant that the instruction reads."""
    if target.section is None:
        raise _Unusable(f"it refers to the external object {target.name}")
    section = source.sections[target.section]
    what = f"{section.name} at offset {instruction.ip}"
    flags = section["sh_flags"]
    if not flags & SH_FLAGS.SHF_ALLOC or flags & (SH_FLAGS.SHF_WRITE | SH_FLAGS.SHF_EXECINSTR):
        raise _Unusable(f"it refers to {what}, which holds no constants")
    width = int(MemorySizeExt.size(instruction.memory_size))
    if instruction.mnemonic == Mnemonic.LEA or width == 0:
        raise _Unusable(f"it takes an address in {what}")
    if instruction.memory_base != Register.RIP:
        raise _Unusable(f"it reads {what} at an address that is not relative to the code")
    addend = offset - instruction.next_ip
    start = target.value + field.addend - addend
    data = section.data()[start : start + width] if start >= 0 else b""
    if len(data) != width or section["sh_type"] != "SHT_PROGBITS":
        raise _Unusable(f"it reads past the end of {what}")
    inside = range(start - FIELD_BYTES, start + width)
    if any(other.offset in inside for other in source.fields.get(target.section, ())):
        raise _Unusable(f"it reads an address from {what}")
    return Relocation(offset=offset, kind=RelocationKind.DATA, addend=addend, data=data)


def _call_directly(text: bytearray, instruction: Instruction) -> None:
    """Turn a branch through the GOT into a direct one of the same length, as linkers do.

    The forms are those of the psABI's GOTPCRELX: `addr32 call f`, and `jmp f; nop`.
    """
    at = instruction.ip
    if instruction.mnemonic == Mnemonic.JMP:
        text[at : at + 6] = b"\xe9\0\0\0\0\x90"
    else:
        text[at : at + 2] = b"\x67\xe8"


def _symbol(entry: Any) -> _Symbol:
    section = entry["st_shndx"]
    return _Symbol(
        name=entry.name,
        section=section if isinstance(section, int) else None,
        value=entry["st_value"],
        size=entry["st_size"],
    )


def _field(entry: Any) -> _Field:
    return _Field(
        offset=entry["r_offset"],
        type=entry["r_info_type"],
        symbol=entry["r_info_sym"],
        addend=entry["r_addend"] if entry.is_RELA() else 0,
    )
