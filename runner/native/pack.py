"""Packs: one executable file that holds the harness, every code of a study, and what to do.

The data stands behind the harness in the same file, so that one file travels and the harness is
compiled once per host, never per study. `kernels/harness/pack.h` gives the format; this module
writes it, and reads it back for tests and for tools that look into a pack.
"""

import os
import struct
import tempfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memstrat.errors import HarnessError
from memstrat.model import (
    Cell,
    Code,
    Fill,
    Isa,
    Op,
    Relocation,
    RelocationKind,
    Scenario,
)

FORMAT_VERSION = 1

LARGEST_SIZE = 1 << 28
"""Bytes of the largest block that a contract or a cell may have."""

LARGEST_ALIGNMENT = 4096
"""Bytes of the largest alignment that a contract may promise."""

_MAGIC = b"memstrat-pack\r\n\n"
_FOOTER = struct.Struct("<QII16s")
_HEADER = struct.Struct("<8I")
_CODE = struct.Struct("<16s6I")
_RELOCATION = struct.Struct("<q4I")
_CONTRACT = struct.Struct("<Q4I")
_CELL = struct.Struct("<Q6I")
_MEMBER = struct.Struct("<I")

_EXECUTABLE = 0o755

# The order is the format's: an entry's place is its number in the file.
_OPS = (Op.MEMSET, Op.MEMCPY, Op.MEMMOVE)
_FILLS = (None, Fill.ZERO, Fill.CONSTANT, Fill.VARIABLE)
_ISAS = (Isa.GPR, Isa.SSE2, Isa.AVX2, Isa.AVX512)
_SCENARIOS = (Scenario.HOT,)
_KINDS = (RelocationKind.CALL, RelocationKind.DATA)


@dataclass(frozen=True, kw_only=True, order=True)
class Contract:
    """What the code with index `code` must do, whatever the kernel that it was emitted for."""

    code: int
    op: Op
    fill: Fill | None
    size: int
    alignment: int

    def __post_init__(self) -> None:
        _check_task(self.op, self.fill, self.size)
        if not 1 <= self.alignment <= LARGEST_ALIGNMENT or self.alignment & (self.alignment - 1):
            raise ValueError(f"alignment {self.alignment} is no power of two up to 4096")


@dataclass(frozen=True, kw_only=True)
class PackCell:
    """A cell, the indices of its codes, and the index of the code that ratios are taken against."""

    cell: Cell
    codes: tuple[int, ...]
    baseline: int

    def __post_init__(self) -> None:
        _check_task(self.cell.op, self.cell.fill, self.cell.size)
        if self.baseline not in self.codes:
            raise ValueError(f"the baseline of {self.cell.name} is not one of its codes")


@dataclass(frozen=True, kw_only=True)
class PackContents:
    """All that a pack holds beside the harness. Contracts and cells name codes by index."""

    codes: tuple[Code, ...]
    contracts: tuple[Contract, ...] = field(default=())
    cells: tuple[PackCell, ...] = field(default=())

    def __post_init__(self) -> None:
        used = {contract.code for contract in self.contracts}
        used.update(code for cell in self.cells for code in cell.codes)
        if unknown := [code for code in used if not 0 <= code < len(self.codes)]:
            raise ValueError(f"a pack of {len(self.codes)} codes has no code {min(unknown)}")
        for code in self.codes:
            if (reason := unplaceable(code)) is not None:
                raise ValueError(f"code {code.digest}: {reason}")


def unplaceable(code: Code) -> str | None:
    """Why `code` cannot stand in a pack, or None: it may call memset, memcpy and memmove alone."""
    for relocation in code.relocations:
        if relocation.kind is RelocationKind.CALL and relocation.symbol not in _OPS:
            return f"it calls {relocation.symbol}, which a pack does not offer"
        if not 0 <= relocation.offset <= len(code.text) - 4:
            return f"its relocated field at {relocation.offset} lies outside its text"
    return None if code.text else "it is empty"


def pack_bytes(contents: PackContents) -> bytes:
    """The payload and the footer that stand behind the harness."""
    blob = _Blob()
    relocations: list[bytes] = []
    codes = []
    for code in contents.codes:
        first = len(relocations)
        relocations += [_relocation_record(relocation, blob) for relocation in code.relocations]
        text, length = blob.place(code.text)
        isa, count = _ISAS.index(code.isa), len(relocations) - first
        digest = code.digest.encode("ascii")
        codes.append(_CODE.pack(digest, text, length, first, count, isa, 0))
    contracts = [
        _CONTRACT.pack(c.size, c.code, _OPS.index(c.op), _FILLS.index(c.fill), c.alignment)
        for c in contents.contracts
    ]
    members = [code for cell in contents.cells for code in cell.codes]
    tables = [
        codes,
        relocations,
        contracts,
        _cell_records(contents.cells),
        [_MEMBER.pack(member) for member in members],
    ]
    header = _HEADER.pack(*(len(table) for table in tables), len(blob.content), 0, 0)
    payload = b"".join([header, *(b"".join(table) for table in tables), blob.content])
    return payload + _FOOTER.pack(len(payload), zlib.crc32(payload), FORMAT_VERSION, _MAGIC)


def read_pack(content: bytes) -> PackContents:
    """The contents of a pack, given the bytes of its file or of its end.

    Raises HarnessError where they are no pack, damaged, or of another version.
    """
    payload = _checked_payload(content)
    try:
        return _parse_payload(payload)
    except (struct.error, IndexError, ValueError) as error:
        raise HarnessError(f"the pack contradicts itself: {error}") from error


def write_pack(path: Path, harness: Path, contents: PackContents) -> None:
    """Write the executable pack to `path`, whole or not at all."""
    content = harness.read_bytes() + pack_bytes(contents)
    write_executable(path, content)


def write_executable(path: Path, content: bytes) -> None:
    """Write an executable file that other processes see whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(name).chmod(_EXECUTABLE)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


class _Blob:
    """Byte strings one after the other, equal ones once."""

    def __init__(self) -> None:
        self.content = bytearray()
        self._places: dict[bytes, int] = {}

    def place(self, content: bytes) -> tuple[int, int]:
        """Where `content` stands: offset and length."""
        if content not in self._places:
            self._places[content] = len(self.content)
            self.content += content
        return self._places[content], len(content)


def _check_task(op: Op, fill: Fill | None, size: int) -> None:
    if (op is Op.MEMSET) is (fill is None):
        raise ValueError(f"{op} with fill {fill}: a memset has one, a copy none")
    if not 1 <= size <= LARGEST_SIZE:
        raise ValueError(f"size {size} is not between 1 and {LARGEST_SIZE}")


def _relocation_record(relocation: Relocation, blob: _Blob) -> bytes:
    kind = _KINDS.index(relocation.kind)
    if relocation.kind is RelocationKind.CALL:
        target, length = _OPS.index(Op(relocation.symbol)), 0
    else:
        target, length = blob.place(relocation.data)
    return _RELOCATION.pack(relocation.addend, relocation.offset, kind, target, length)


def _cell_records(cells: Iterable[PackCell]) -> list[bytes]:
    records = []
    first = 0
    for packed in cells:
        cell, count = packed.cell, len(packed.codes)
        op, fill = _OPS.index(cell.op), _FILLS.index(cell.fill)
        scenario = _SCENARIOS.index(cell.scenario)
        records.append(_CELL.pack(cell.size, op, fill, scenario, first, count, packed.baseline))
        first += count
    return records


def _checked_payload(content: bytes) -> bytes:
    if len(content) < _FOOTER.size:
        raise HarnessError("the file is too short to end in a pack")
    length, checksum, version, magic = _FOOTER.unpack(content[-_FOOTER.size :])
    if magic.rstrip(b"\0") != _MAGIC:
        raise HarnessError("the file does not end in a pack; it may be truncated")
    if version != FORMAT_VERSION:
        raise HarnessError(f"the pack is of version {version}; {FORMAT_VERSION} is known here")
    end = len(content) - _FOOTER.size
    if length > end or zlib.crc32(payload := content[end - length : end]) != checksum:
        raise HarnessError("the pack is damaged: its length or checksum is wrong")
    return payload


@dataclass(kw_only=True)
class _Reader:
    """Takes records off the front of a payload."""

    payload: bytes
    at: int = 0

    def take(self, record: struct.Struct, count: int) -> list[tuple[Any, ...]]:
        """The next `count` records."""
        begin, self.at = self.at, self.at + count * record.size
        return list(record.iter_unpack(self.payload[begin : self.at]))


def _parse_payload(payload: bytes) -> PackContents:
    reader = _Reader(payload=payload)
    [(codes, relocations, contracts, cells, members, blob_length, _, _)] = reader.take(_HEADER, 1)
    tables = [
        reader.take(record, count)
        for record, count in (
            (_CODE, codes),
            (_RELOCATION, relocations),
            (_CONTRACT, contracts),
            (_CELL, cells),
            (_MEMBER, members),
        )
    ]
    blob = payload[reader.at :]
    if len(blob) != blob_length:
        raise ValueError("its length is not what its header says")
    relocated = [_read_relocation(record, blob) for record in tables[1]]
    return PackContents(
        codes=tuple(_read_code(record, relocated, blob) for record in tables[0]),
        contracts=tuple(_read_contract(record) for record in tables[2]),
        cells=tuple(
            _read_cell(record, [member for (member,) in tables[4]]) for record in tables[3]
        ),
    )


def _read_relocation(record: tuple[int, ...], blob: bytes) -> Relocation:
    addend, offset, kind, target, length = record
    if _KINDS[kind] is RelocationKind.CALL:
        return Relocation(
            offset=offset, kind=RelocationKind.CALL, addend=addend, symbol=_OPS[target].value
        )
    data = blob[target : target + length]
    return Relocation(offset=offset, kind=RelocationKind.DATA, addend=addend, data=data)


def _read_code(record: tuple[Any, ...], relocations: list[Relocation], blob: bytes) -> Code:
    digest, text, length, first, count, isa, _ = record
    code = Code(
        text=blob[text : text + length],
        relocations=tuple(relocations[first : first + count]),
        isa=_ISAS[isa],
    )
    if code.digest.encode("ascii") != digest:
        raise ValueError(f"code {digest!r} is really {code.digest}")
    return code


def _read_contract(record: tuple[int, ...]) -> Contract:
    size, code, op, fill, alignment = record
    return Contract(code=code, op=_OPS[op], fill=_FILLS[fill], size=size, alignment=alignment)


def _read_cell(record: tuple[int, ...], members: list[int]) -> PackCell:
    size, op, fill, scenario, first, count, baseline = record
    cell = Cell(op=_OPS[op], fill=_FILLS[fill], size=size, scenario=_SCENARIOS[scenario])
    return PackCell(cell=cell, codes=tuple(members[first : first + count]), baseline=baseline)
