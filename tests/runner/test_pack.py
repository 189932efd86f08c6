"""Packs: what is written is what is read, here and in the harness; damage is refused in words."""

import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstrat.errors import HarnessError
from memstrat.model import Cell, Code, Fill, Isa, Op, Relocation, RelocationKind
from memstrat.runner.native.harness import build_harness, harness_records
from memstrat.runner.native.pack import (
    Contract,
    PackCell,
    PackContents,
    pack_bytes,
    read_pack,
    unplaceable,
    write_pack,
)

FOOTER_BYTES = 32
RET = Code(text=b"\xc3")


@st.composite
def codes(draw: st.DrawFn) -> Code:
    """Any code that may stand in a pack."""
    text = draw(st.binary(min_size=4, max_size=64))
    relocation = st.one_of(
        st.builds(
            Relocation,
            offset=st.integers(0, len(text) - 4),
            kind=st.just(RelocationKind.CALL),
            addend=st.integers(-64, 64),
            symbol=st.sampled_from([op.value for op in Op]),
        ),
        st.builds(
            Relocation,
            offset=st.integers(0, len(text) - 4),
            kind=st.just(RelocationKind.DATA),
            addend=st.integers(-64, 64),
            data=st.binary(max_size=64),
        ),
    )
    relocations = draw(st.lists(relocation, max_size=3))
    return Code(text=text, relocations=tuple(relocations), isa=draw(st.sampled_from(Isa)))


@st.composite
def contents(draw: st.DrawFn) -> PackContents:
    """Any contents of a pack."""
    known = draw(st.lists(codes(), min_size=1, max_size=6))
    index = st.integers(0, len(known) - 1)
    task = st.one_of(
        st.tuples(st.just(Op.MEMSET), st.sampled_from(Fill)),
        st.tuples(st.sampled_from([Op.MEMCPY, Op.MEMMOVE]), st.none()),
    )
    contracts = [
        Contract(code=draw(index), op=op, fill=fill, size=size, alignment=alignment)
        for (op, fill), size, alignment in draw(
            st.lists(
                st.tuples(task, st.integers(1, 1 << 28), st.sampled_from([1, 8, 64, 4096])),
                max_size=5,
            )
        )
    ]
    cells = []
    for (op, fill), size in draw(st.lists(st.tuples(task, st.integers(1, 9000)), max_size=4)):
        members = draw(st.lists(index, min_size=1, max_size=4))
        cell = Cell(op=op, fill=fill, size=size)
        baseline = draw(st.sampled_from(members))
        cells.append(PackCell(cell=cell, codes=tuple(members), baseline=baseline))
    return PackContents(codes=tuple(known), contracts=tuple(contracts), cells=tuple(cells))


@settings(max_examples=50)
@given(contents())
def test_what_is_written_is_read_back(packed: PackContents) -> None:
    assert read_pack(b"some executable" + pack_bytes(packed)) == packed


@settings(max_examples=50)
@given(contents(), st.data())
def test_one_flipped_bit_anywhere_is_noticed(packed: PackContents, data: st.DataObject) -> None:
    content = bytearray(pack_bytes(packed))
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(HarnessError):
        read_pack(bytes(content))


@settings(max_examples=50)
@given(contents(), st.data())
def test_a_truncated_pack_is_noticed(packed: PackContents, data: st.DataObject) -> None:
    content = pack_bytes(packed)
    with pytest.raises(HarnessError):
        read_pack(content[: data.draw(st.integers(0, len(content) - 1))])


def test_a_code_that_calls_something_else_cannot_stand_in_a_pack() -> None:
    call = Relocation(offset=1, kind=RelocationKind.CALL, addend=-4, symbol="strlen")
    code = Code(text=b"\xe9\0\0\0\0", relocations=(call,))
    assert unplaceable(code) == "it calls strlen, which a pack does not offer"
    with pytest.raises(ValueError, match="strlen"):
        PackContents(codes=(code,))


def test_a_contract_about_a_missing_code_is_refused() -> None:
    contract = Contract(code=1, op=Op.MEMCPY, fill=None, size=8, alignment=8)
    with pytest.raises(ValueError, match="has no code 1"):
        PackContents(codes=(RET,), contracts=(contract,))


@pytest.fixture(scope="module")
def sanitised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1"]
    return build_harness(tmp_path_factory.mktemp("sanitised"), extra_flags=flags)


@pytest.mark.native
def test_the_harness_reads_what_python_wrote(harness: Path, tmp_path: Path) -> None:
    packed = PackContents(
        codes=(RET, Code(text=b"\x90\xc3", isa=Isa.AVX512)),
        contracts=(Contract(code=0, op=Op.MEMCPY, fill=None, size=8, alignment=8),),
        cells=(PackCell(cell=Cell(op=Op.MEMCPY, fill=None, size=8), codes=(1, 0), baseline=0),),
    )
    write_pack(tmp_path / "pack", harness, packed)
    first, *listed = harness_records(tmp_path / "pack", ["list"], silence_s=10)
    assert first == {"record": "pack", "version": 1, "codes": 2, "contracts": 1, "cells": 1}
    assert [(line["digest"], line["isa"], line["bytes"]) for line in listed] == [
        (packed.codes[0].digest, "gpr", 1),
        (packed.codes[1].digest, "avx512", 2),
    ]


def refusal(harness: Path, content: bytes, folder: Path) -> str:
    """What the harness says of `content` standing behind it; it must exit with 3."""
    path = folder / "damaged"
    path.write_bytes(harness.read_bytes() + content)
    path.chmod(0o755)
    done = subprocess.run([path, "list"], capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    return done.stderr


SMALL = PackContents(
    codes=(
        Code(
            text=b"\xe9\0\0\0\0",
            relocations=(
                Relocation(offset=1, kind=RelocationKind.CALL, addend=-4, symbol="memcpy"),
            ),
        ),
    ),
    contracts=(Contract(code=0, op=Op.MEMCPY, fill=None, size=8, alignment=8),),
    cells=(PackCell(cell=Cell(op=Op.MEMCPY, fill=None, size=8), codes=(0,), baseline=0),),
)


@pytest.mark.native
def test_the_harness_refuses_damage_in_words(sanitised: Path, tmp_path: Path) -> None:
    content = pack_bytes(SMALL)
    flipped = content[:10] + bytes([content[10] ^ 1]) + content[11:]
    version = content[:-20] + struct.pack("<I", 99) + content[-16:]
    long = content[:-FOOTER_BYTES] + struct.pack("<Q", 1 << 40) + content[-FOOTER_BYTES + 8 :]
    assert "does not end in a pack" in refusal(sanitised, content[:-1], tmp_path)
    assert "does not end in a pack" in refusal(sanitised, b"", tmp_path)
    assert "checksum" in refusal(sanitised, flipped, tmp_path)
    assert "another version" in refusal(sanitised, version, tmp_path)
    assert "length is impossible" in refusal(sanitised, long, tmp_path)


def with_footer(payload: bytes) -> bytes:
    """A pack whose footer is right for `payload`, whatever that holds."""
    magic = b"memstrat-pack\r\n\n"
    return payload + struct.pack("<QII16s", len(payload), zlib.crc32(payload), 1, magic)


@pytest.mark.native
@settings(max_examples=60)
@given(st.data())
def test_a_payload_that_contradicts_itself_never_crashes_the_harness(
    sanitised: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    payload = bytearray(pack_bytes(SMALL)[:-FOOTER_BYTES])
    for _ in range(data.draw(st.integers(1, 4))):
        word = data.draw(st.integers(0, len(payload) // 4 - 1)) * 4
        value = data.draw(st.sampled_from([0, 1, 2, 7, 0x7FFFFFFF, 0xFFFFFFFF]))
        payload[word : word + 4] = struct.pack("<I", value)
    path = tmp_path_factory.mktemp("fuzz") / "pack"
    path.write_bytes(sanitised.read_bytes() + with_footer(bytes(payload)))
    path.chmod(0o755)
    done = subprocess.run([path, "list"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr
    path.unlink()
