"""The integer state of a fake processor that follows a kernel's control flow.

A value that is not known is None. Addresses are those of a fake machine: the destination, the
source and the stack lie far apart, so that an address tells what it belongs to.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from iced_x86 import Instruction

MASK64 = (1 << 64) - 1

DESTINATION = 0x10_0000_0000
"""Where the destination lies: aligned to a page and more, as the hot scenario's buffers are."""

SOURCE = 0x20_0000_0000
"""Where the source lies: above the destination, never overlapping it."""

STACK = 0x7000_0000_0000
STACK_FLOOR = STACK - 0x10_0000
"""The stack pointer on entry, and the least address that still belongs to the stack."""

RAX, RCX, RDX, _RBX, RSP, RBP, RSI, RDI = range(8)
CALLER_SAVED = (RAX, RCX, RDX, RSI, RDI, 8, 9, 10, 11)
"""What a call leaves unknown (System V x86-64)."""


class Undecided(Exception):  # noqa: N818 - an outcome of following a path, not an error
    """The path cannot be followed any further; the message is the reason."""


ALL_BYTES = -1
"""The mask of a store that writes each of its bytes."""


class Store(NamedTuple):
    """A store instruction executed once: its index, where it wrote, how wide.

    `address` is the fake machine's. `mask` has a bit for each byte that a masked store writes; None
    where that is not known.
    """

    at: int
    address: int
    width: int
    mask: int | None = ALL_BYTES


class Repeat(NamedTuple):
    """A `rep movs` or `rep stos` executed once: its index, where it wrote, how much."""

    at: int
    address: int
    width: int
    elements: int


class PlainStore(NamedTuple):
    """A store at `displacement` from a general register, of a value that is not kept."""

    base: int
    displacement: int
    width: int


class Flags(NamedTuple):
    """The arithmetic flags after a result of `bits` bits; None for a flag that is not known."""

    result: int
    carry: bool | None
    overflow: bool | None
    bits: int


@dataclass(kw_only=True, slots=True)
class Processor:
    """State of one run: 16 general registers, 8 opmasks, flags, the stack, and what was done."""

    registers: list[int | None]
    masks: list[int | None] = field(default_factory=lambda: [None] * 8)
    flags: Flags | None = None
    stack: dict[int, tuple[int, int | None]] = field(default_factory=dict)
    stores: list[Store] = field(default_factory=list)
    repeats: list[Repeat] = field(default_factory=list)
    callees: list[str] = field(default_factory=list)

    def store(self, at: int, address: int, width: int, value: int | None = None) -> None:
        """Write `width` bytes; the stack remembers what it was given, other memory does not."""
        if STACK_FLOOR <= address < STACK + 8:
            self._spill(address, width, value)
        else:
            self.stores.append(Store(at, address, width))

    def repeat(self, at: int, address: int, width: int, elements: int) -> None:
        """Write `elements` elements of `width` bytes by one `rep` instruction."""
        self.repeats.append(Repeat(at, address, width, elements))

    def load(self, address: int, width: int) -> int | None:
        """What stands at an address: known only for what the stack was given in that width."""
        kept, value = self.stack.get(address, (0, None))
        return value if kept == width else None

    def _spill(self, address: int, width: int, value: int | None) -> None:
        covered = [
            other
            for other, (kept, _) in self.stack.items()
            if other < address + width and address < other + kept
        ]
        for other in covered:
            del self.stack[other]
        self.stack[address] = (width, value)


Action = Callable[[Processor], int | None]
Step = Action | PlainStore | int
"""One instruction compiled: see `memstrat.runner.inspect.semantics`."""

Builder = Callable[[Instruction, int], Step | None]
"""Compiles an instruction, given its index; None for one without any effect here."""
