"""Kernels as C: one translation unit for a sequence of kernels.

The text depends on the kernels and their order alone, so that what is built can be named by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import jinja2

from memstrat.model import FILL_CONSTANT, Fill, Kernel, Op, Spelling

_ELEMENTS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long"}
"""C types by their size and alignment in bytes, which are the same on x86-64 Linux."""

_WIDEST_ELEMENT = 8

_VALUES = {Fill.ZERO: "0", Fill.CONSTANT: hex(FILL_CONSTANT), Fill.VARIABLE: "(int)value"}
"""What `__builtin_memset` is given; of a variable value it takes the low byte."""


@dataclass(frozen=True, kw_only=True)
class _Block:
    """A struct of exactly `count` elements and no padding, aligned to `alignment` bytes."""

    name: str
    alignment: int
    element: str
    count: int
    over_aligned: bool


@dataclass(frozen=True, kw_only=True)
class _Function:
    """The parts of a kernel's C function."""

    name: str
    parameters: str
    statement: str


def c_source(kernels: Sequence[Kernel]) -> str:
    """The C11 translation unit of `kernels`, one function each, in their order.

    `kernel.name` is the symbol; it stands in section `.text.memstrat.<kernel.name>`, aligned to 64
    bytes. Raises ValueError for a kernel that C cannot spell (see `can_spell`).
    """
    for kernel in kernels:
        if not can_spell(kernel):
            raise ValueError(f"C has no {kernel.spelling} spelling of {kernel.name}")
    shapes = {(k.alignment, k.size): k for k in kernels if k.spelling is Spelling.STRUCT}
    return _template().render(
        blocks=[_block(shapes[shape]) for shape in sorted(shapes)],
        kernels=[_function(kernel) for kernel in kernels],
    )


def can_spell(kernel: Kernel) -> bool:
    """Whether C can ask for `kernel` as its spelling says.

    A struct is as long as a multiple of its alignment, assignment is a memcpy, and clearing a
    struct is a memset to zero; there is no struct that moves or takes another fill.
    """
    if kernel.spelling is Spelling.POINTER:
        return True
    if kernel.size % kernel.alignment != 0:
        return False
    return kernel.op is Op.MEMCPY or (kernel.op is Op.MEMSET and kernel.fill is Fill.ZERO)


def _function(kernel: Kernel) -> _Function:
    parameters = ["void *destination"]
    if kernel.op is not Op.MEMSET:
        parameters.append("const void *source")
    elif kernel.fill is Fill.VARIABLE:
        parameters.append("unsigned long value")
    spell = _struct_statement if kernel.spelling is Spelling.STRUCT else _pointer_statement
    return _Function(name=kernel.name, parameters=", ".join(parameters), statement=spell(kernel))


def _pointer_statement(kernel: Kernel) -> str:
    destination = _aligned("destination", kernel.alignment)
    if kernel.fill is not None:
        return f"__builtin_memset({destination}, {_VALUES[kernel.fill]}, {kernel.size})"
    source = _aligned("source", kernel.alignment)
    return f"__builtin_{kernel.op}({destination}, {source}, {kernel.size})"


def _aligned(pointer: str, alignment: int) -> str:
    return pointer if alignment == 1 else f"__builtin_assume_aligned({pointer}, {alignment})"


def _struct_statement(kernel: Kernel) -> str:
    block = _block(kernel).name
    if kernel.op is Op.MEMSET:
        return f"*(struct {block} *)destination = (struct {block}){{0}}"
    return f"*(struct {block} *)destination = *(const struct {block} *)source"


def _block(kernel: Kernel) -> _Block:
    width = min(kernel.alignment, _WIDEST_ELEMENT)
    return _Block(
        name=f"block_a{kernel.alignment}_s{kernel.size}",
        alignment=kernel.alignment,
        element=_ELEMENTS[width],
        count=kernel.size // width,
        over_aligned=kernel.alignment > _WIDEST_ELEMENT,
    )


@cache
def _template() -> jinja2.Template:
    text = files("memstrat.templates").joinpath("kernels.c.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(  # noqa: S701 (C text, not HTML)
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(text)
