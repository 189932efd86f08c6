"""Verification: planted wrong kernels are found and named; right ones pass.

Codes are written here as bytes, with the assembly beside them, so that nothing but the harness is
under test.
"""

from pathlib import Path

import pytest

from memstrat.model import Code, Fill, Isa, Kernel, Op, Relocation, RelocationKind
from memstrat.runner.native.verify import Obligation, Outcome, Verification, verify_codes

pytestmark = pytest.mark.native

SIZE = 100


def stosb(count: int, fill: int = 0) -> bytes:
    """Mov eax,fill; mov ecx,count; rep stosb."""
    return (
        b"\xb8" + fill.to_bytes(4, "little") + b"\xb9" + count.to_bytes(4, "little") + b"\xf3\xaa"
    )


def movsb(count: int) -> bytes:
    """Mov ecx,count; rep movsb."""
    return b"\xb9" + count.to_bytes(4, "little") + b"\xf3\xa4"


RET = b"\xc3"


def clear(text: bytes, *, size: int = SIZE, alignment: int = 8, isa: Isa = Isa.GPR) -> Obligation:
    """The code `text`, which is to clear `size` bytes."""
    code = Code(text=text, isa=isa)
    return Obligation(code=code, op=Op.MEMSET, fill=Fill.ZERO, size=size, alignment=alignment)


def copy(text: bytes, *, op: Op = Op.MEMCPY, size: int = SIZE, alignment: int = 8) -> Obligation:
    """The code `text`, which is to copy `size` bytes."""
    return Obligation(code=Code(text=text), op=op, fill=None, size=size, alignment=alignment)


@pytest.fixture
def verify(harness: Path, tmp_path: Path) -> "Verify":
    return Verify(harness, tmp_path)


class Verify:
    """Runs obligations with a short limit."""

    def __init__(self, harness: Path, folder: Path) -> None:
        self.harness = harness
        self.folder = folder

    def __call__(self, *obligations: Obligation) -> list[Verification]:
        return verify_codes(
            obligations, harness=self.harness, pack=self.folder / "pack", limit_ms=200
        )


SSE_ALL_BUT_LAST = (
    b"\x66\x0f\xef\xc0"  # clears xmm0
    b"\x0f\x11\x07\x0f\x11\x47\x10\x0f\x11\x47\x20"  # three stores through it: 48 bytes
)

WRONG = {
    "one byte short": (clear(stosb(SIZE - 1) + RET), "byte 99 of 100"),
    "one byte long": (clear(stosb(SIZE + 1) + RET), "1 byte(s) behind the end"),
    "wrong fill": (clear(stosb(SIZE, 1) + RET), "byte 0 of 100: expected 0x00, got 0x01"),
    "last vector skipped": (clear(SSE_ALL_BUT_LAST + RET, size=64), "byte 48 of 64"),
    "writes before the start": (
        clear(stosb(SIZE) + b"\xc6\x47\x9b\x00" + RET),  # mov byte [rdi-101],0: rdi is at the end
        "1 byte(s) before the start",
    ),
    "clobbers rbx": (clear(stosb(SIZE) + b"\x31\xdb" + RET), "register rbx is not preserved"),
    "clobbers r15": (clear(stosb(SIZE) + b"\x45\x31\xff" + RET), "register r15 is not preserved"),
    "sets DF": (clear(stosb(SIZE) + b"\xfd" + RET), "direction flag is left set"),
    "changes mxcsr": (
        # mov dword [rsp-4],0x9f80; ldmxcsr [rsp-4]: flush to zero
        clear(stosb(SIZE) + b"\xc7\x44\x24\xfc\x80\x9f\0\0\x0f\xae\x54\x24\xfc" + RET),
        "floating-point control register",
    ),
    "wrong at one offset only": (
        # mov edx,edi; and edx,63; cmp edx,24; je to the ret: nothing is cleared there
        clear(b"\x89\xfa\x83\xe2\x3f\x83\xfa\x18\x74\x0c" + stosb(SIZE) + RET),
        "destination % 64 = 24",
    ),
    "uses the upper bytes of a variable fill": (
        # stores all of rsi
        Obligation(
            code=Code(text=b"\x48\x89\x37" + RET),
            op=Op.MEMSET,
            fill=Fill.VARIABLE,
            size=8,
            alignment=8,
        ),
        "byte 1 of 8",
    ),
    "relies on a register being zero": (
        clear(b"\xb9\x64\0\0\0\xf3\xaa" + RET),  # rep stosb without clearing eax
        "byte 0 of 100",
    ),
    "changes the source": (
        copy(movsb(SIZE) + b"\xc6\x46\xff\xaa" + RET),  # mov byte [rsi-1],0xaa
        "the source is changed at its byte 99",
    ),
    "copies from one byte further": (
        copy(b"\x48\xff\xce" + movsb(SIZE) + RET),  # dec rsi
        "",  # a wrong byte or a crash on the guard page, whichever offset comes first
    ),
}


@pytest.mark.parametrize("name", [name for name, (_, words) in WRONG.items() if words])
def test_a_planted_fault_is_found_and_described(name: str, verify: Verify) -> None:
    obligation, words = WRONG[name]
    (verification,) = verify(obligation)
    # At some offsets the byte too many lies on a guard page, and the crash says so.
    guarded = verification.outcome is Outcome.CRASHED and "SIGSEGV at destination" in str(
        verification.detail
    )
    assert guarded or (
        verification.outcome is Outcome.WRONG and words in str(verification.detail)
    ), verification


@pytest.mark.parametrize("name", WRONG)
def test_no_planted_fault_passes(name: str, verify: Verify) -> None:
    (verification,) = verify(WRONG[name][0])
    assert verification.outcome in (Outcome.WRONG, Outcome.CRASHED)


def test_a_crash_says_where(verify: Verify) -> None:
    past_the_end = b"\xc6\x87\x64\x10\0\0\0"  # mov byte [rdi+4196],0
    (verification,) = verify(clear(past_the_end + stosb(SIZE) + RET))
    assert verification.outcome is Outcome.CRASHED
    assert verification.detail == "SIGSEGV at destination + 4196, block of 100 bytes"


def test_an_illegal_instruction_is_a_crash(verify: Verify) -> None:
    (verification,) = verify(clear(b"\x0f\x0b"))  # ud2
    assert (verification.outcome, verification.detail) == (Outcome.CRASHED, "SIGILL")


def test_a_breakpoint_is_a_crash(verify: Verify) -> None:
    (verification,) = verify(clear(b"\xcc" + stosb(SIZE) + RET))
    assert (verification.outcome, verification.detail) == (Outcome.CRASHED, "SIGTRAP")


def test_a_lost_stack_is_a_crash(verify: Verify) -> None:
    (verification,) = verify(clear(b"\x31\xe4" + RET))  # xor esp,esp
    assert verification.outcome is Outcome.CRASHED


def test_an_endless_loop_hangs_and_is_ended(verify: Verify) -> None:
    (verification,) = verify(clear(b"\xeb\xfe"))  # jmp to itself
    assert verification.outcome is Outcome.HUNG
    assert verification.detail == "did not return within 200 ms"


def test_a_wrong_code_costs_its_neighbours_nothing(verify: Verify) -> None:
    right = clear(stosb(SIZE) + RET)
    bad = [clear(b"\x0f\x0b"), clear(stosb(SIZE - 1) + RET), clear(b"\x31\xe4" + RET)]
    found = verify(
        right, bad[0], copy(movsb(SIZE) + RET), bad[1], bad[2], clear(stosb(7) + RET, size=7)
    )
    assert [verification.outcome for verification in found] == [
        Outcome.PASSED,
        Outcome.CRASHED,
        Outcome.PASSED,
        Outcome.WRONG,
        Outcome.CRASHED,
        Outcome.PASSED,
    ]


@pytest.mark.parametrize("alignment", [1, 2, 8, 64, 4096])
@pytest.mark.parametrize("size", [1, 7, 64, 100, 4096, 5000])
def test_right_codes_pass_at_every_alignment(size: int, alignment: int, verify: Verify) -> None:
    found = verify(
        clear(stosb(size) + RET, size=size, alignment=alignment),
        copy(movsb(size) + RET, size=size, alignment=alignment),
    )
    assert [verification.outcome for verification in found] == [Outcome.PASSED] * 2


def test_a_code_that_needs_alignment_passes_only_with_that_promise(verify: Verify) -> None:
    movaps = b"\x66\x0f\xef\xc0\x0f\x29\x07" + RET  # pxor xmm0,xmm0; movaps [rdi],xmm0
    promised, unpromised = verify(
        clear(movaps, size=16, alignment=16), clear(movaps, size=16, alignment=8)
    )
    assert promised.outcome is Outcome.PASSED
    assert unpromised.outcome is Outcome.CRASHED


def test_a_forward_copy_is_a_memcpy_but_no_memmove(verify: Verify) -> None:
    as_memcpy, as_memmove = verify(copy(movsb(SIZE) + RET), copy(movsb(SIZE) + RET, op=Op.MEMMOVE))
    assert as_memcpy.outcome is Outcome.PASSED
    assert as_memmove.outcome is Outcome.WRONG
    assert "source - destination = -" in str(as_memmove.detail)


def test_a_copy_that_loads_everything_first_is_a_memmove(verify: Verify) -> None:
    # mov rax,[rsi]; mov rcx,[rsi+8]; mov [rdi],rax; mov [rdi+8],rcx
    text = bytes.fromhex("488b06 488b4e08 488907 48894f08 c3")
    (verification,) = verify(copy(text, op=Op.MEMMOVE, size=16))
    assert verification.outcome is Outcome.PASSED


def test_calls_and_constants_are_relocated(verify: Verify) -> None:
    # mov edx,100; jmp memcpy
    call = Relocation(offset=6, kind=RelocationKind.CALL, addend=-4, symbol="memcpy")
    tail_call = Code(text=b"\xba\x64\0\0\0\xe9\0\0\0\0", relocations=(call,))
    # movups xmm0,[rip+constant]; movups [rdi],xmm0
    data = Relocation(offset=3, kind=RelocationKind.DATA, addend=-4, data=b"\x5a" * 16)
    constant = Code(text=b"\x0f\x10\x05\0\0\0\0\x0f\x11\x07\xc3", relocations=(data,))
    found = verify(
        Obligation(code=tail_call, op=Op.MEMCPY, fill=None, size=100, alignment=1),
        Obligation(code=constant, op=Op.MEMSET, fill=Fill.CONSTANT, size=16, alignment=1),
    )
    assert [verification.outcome for verification in found] == [Outcome.PASSED] * 2


def test_a_code_that_calls_what_a_pack_lacks_is_skipped_with_the_reason(verify: Verify) -> None:
    call = Relocation(offset=1, kind=RelocationKind.CALL, addend=-4, symbol="strlen")
    code = Code(text=b"\xe9\0\0\0\0", relocations=(call,))
    (verification,) = verify(
        Obligation(code=code, op=Op.MEMCPY, fill=None, size=8, alignment=8),
    )
    assert verification.outcome is Outcome.SKIPPED
    assert "strlen" in str(verification.detail)


def test_an_obligation_is_that_of_every_kernel_that_asks_the_same() -> None:
    kernel = Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=SIZE)
    obligation = Obligation.of(kernel, Code(text=stosb(SIZE) + RET))
    assert obligation == clear(stosb(SIZE) + RET)
    assert obligation.work != clear(stosb(SIZE) + RET, alignment=1).work
