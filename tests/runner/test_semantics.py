"""The interpreter's arithmetic against this CPU's: results, flags and conditions."""

import ctypes
import mmap
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iced_x86 import Decoder, FlowControl

from memstrat.runner.inspect.processor import RDI, RSP, STACK, Processor
from memstrat.runner.inspect.semantics import compile_step

pytestmark = pytest.mark.native

CONDITIONS = [
    "o",
    "no",
    "b",
    "ae",
    "e",
    "ne",
    "be",
    "a",
    "s",
    "ns",
    "p",
    "np",
    "l",
    "ge",
    "le",
    "g",
]

TWO_OPERANDS = ["add", "sub", "cmp", "and", "or", "xor", "test"]
ONE_OPERAND = ["inc", "dec", "neg", "not"]
SHIFTS = ["shl", "shr", "sar"]
LETTERS = {8: "b", 16: "w", 32: "l", 64: "q"}
FIRST = {8: "%al", 16: "%ax", 32: "%eax", 64: "%rax"}
SECOND = {8: "%dl", 16: "%dx", 32: "%edx", 64: "%rdx"}

OTHERS = [
    "movzbl %dl, %eax",
    "movsbq %dl, %rax",
    "movswl %dx, %eax",
    "movslq %edx, %rax",
    "movb %dl, %ah",
    "movw %dx, %ax",
    "leaq 5(%rax,%rdx,4), %rax",
    "leal -1(%rax,%rdx), %eax",
    "imulq $8, %rdx, %rax",
    "imull %edx, %eax",
    "xchgq %rax, %rdx",
    "cmpq %rdx, %rax; cmovbq %rdx, %rax",
    "cmpq %rdx, %rax; cmovgl %edx, %eax",
    "cmpl %edx, %eax; setle %al",
    "pushq %rdx; popq %rax",
    "pushq $-2; popq %rax",
    "cmpq %rdx, %rax; btq $5, %rax; cmovbq %rdx, %rax",
    "orq $-1, %rax",
    "andl $0, %eax",
    "subq %rax, %rax",
]


class Cpu:
    """Runs a few instructions on this CPU, and the same in the interpreter."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        self.call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
        self.texts: dict[str, bytes] = {}

    def text(self, body: str) -> bytes:
        """Machine code of: load rax and rdx from (rdi), the body, all conditions, rax."""
        if body not in self.texts:
            conditions = "\n".join(f"set{cc} {16 + i}(%rdi)" for i, cc in enumerate(CONDITIONS))
            source = (
                f"movq (%rdi), %rax\nmovq 8(%rdi), %rdx\ntestq %rax, %rax\n"
                f"{body.replace('; ', chr(10))}\n{conditions}\nmovq %rax, 32(%rdi)\nret\n"
            )
            output = self.directory / "body.o"
            subprocess.run(["as", "-o", output, "-"], input=source.encode(), check=True)
            binary = self.directory / "body.bin"
            subprocess.run(["objcopy", "-O", "binary", "-j", ".text", output, binary], check=True)
            self.texts[body] = binary.read_bytes()
        return self.texts[body]

    def run(self, text: bytes, first: int, second: int) -> list[int]:
        """The 16 conditions and rax."""
        memory = (ctypes.c_ubyte * 40)()
        memory[:16] = [*first.to_bytes(8, "little"), *second.to_bytes(8, "little")]
        self.page[: len(text)] = text
        self.call(ctypes.addressof(memory))
        return [*memory[16:32], int.from_bytes(memory[32:40], "little")]


def interpret(text: bytes, first: int, second: int) -> list[int | None]:
    """What `Cpu.run` gives, from the interpreter; None for what it does not know."""
    memory = STACK - 0x1000
    processor = Processor(registers=[None] * 16)
    processor.registers[RDI], processor.registers[RSP] = memory, STACK
    processor.registers[0], processor.registers[2] = first, second
    for at, instruction in enumerate(Decoder(64, text)):
        if instruction.flow_control == FlowControl.RETURN:
            break
        if at < 2:
            continue
        step = compile_step(instruction, at)
        if callable(step):
            step(processor)
        elif step is not None:
            base, displacement, width = step if isinstance(step, tuple) else (RDI, 0, 0)
            value = processor.registers[0]
            processor.store(at, memory + displacement, width, value)
            assert (base, width) == (RDI, 8)
    conditions = [processor.load(memory + 16 + i, 1) for i in range(len(CONDITIONS))]
    return [*conditions, processor.load(memory + 32, 8)]


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> Cpu:
    if shutil.which("as") is None or shutil.which("objcopy") is None:
        pytest.skip("binutils are not installed")
    try:
        made = Cpu(tmp_path_factory.mktemp("semantics"))
    except PermissionError:
        pytest.skip("this system gives no memory that is writable and executable")
    return made


def words() -> st.SearchStrategy[int]:
    edges = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 1 << 63, (1 << 64) - 1]
    return st.one_of(st.sampled_from(edges), st.integers(0, (1 << 64) - 1))


def agree(cpu: Cpu, body: str, first: int, second: int, unknown: tuple[str, ...] = ()) -> None:
    text = cpu.text(body)
    real, found = cpu.run(text, first, second), interpret(text, first, second)
    names = [*CONDITIONS, "rax"]
    open_ones = {name for name, value in zip(names, found, strict=True) if value is None}
    assert open_ones <= set(unknown), body
    for name, on_cpu, interpreted in zip(names, real, found, strict=True):
        if interpreted is not None:
            assert interpreted == on_cpu, (body, name)


@settings(max_examples=200)
@given(
    operation=st.sampled_from(TWO_OPERANDS),
    bits=st.sampled_from(sorted(LETTERS)),
    first=words(),
    second=words(),
)
def test_arithmetic_of_two_operands_is_that_of_the_cpu(
    cpu: Cpu, operation: str, bits: int, first: int, second: int
) -> None:
    agree(cpu, f"{operation} {SECOND[bits]}, {FIRST[bits]}", first, second)


@settings(max_examples=100)
@given(operation=st.sampled_from(ONE_OPERAND), bits=st.sampled_from(sorted(LETTERS)), first=words())
def test_arithmetic_of_one_operand_is_that_of_the_cpu(
    cpu: Cpu, operation: str, bits: int, first: int
) -> None:
    agree(cpu, f"{operation} {FIRST[bits]}", first, 0)


OF_OVERFLOW = ("o", "no", "l", "ge", "le", "g")


@settings(max_examples=100)
@given(
    operation=st.sampled_from(SHIFTS),
    bits=st.sampled_from(sorted(LETTERS)),
    first=words(),
    count=st.sampled_from([0, 1, 2, 3, 7]),
)
def test_shifts_are_those_of_the_cpu(
    cpu: Cpu, operation: str, bits: int, first: int, count: int
) -> None:
    agree(cpu, f"{operation} ${count}, {FIRST[bits]}", first, 0, OF_OVERFLOW)


@settings(max_examples=100)
@given(body=st.sampled_from(OTHERS), first=words(), second=words())
def test_moves_and_selections_are_those_of_the_cpu(
    cpu: Cpu, body: str, first: int, second: int
) -> None:
    after_multiplying = tuple(CONDITIONS) if body.startswith("imul") else ()
    after_a_bit_test = tuple(set(CONDITIONS) - {"b", "ae"}) if "bt" in body else ()
    agree(cpu, body, first, second, after_multiplying + after_a_bit_test)
