"""The contenders: every form that a page can show, in one order and one colour each.

The colours are those of Okabe and Ito (2008), which stay apart for the common kinds of colour
blindness, each darkened for light pages or lightened for dark ones until text in it can be read.
Forms are told apart by more than colour: a loop has the colour of its stores and a dashed line,
and every line carries its name.
"""

from dataclasses import dataclass

from memstrat.model import Form, Isa, Op


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A form as a reader names it, the least ISA that can run it, and how it is drawn.

    `dash` is an SVG dash pattern; empty means a solid line.
    """

    label: str
    isa: Isa
    light: str
    dark: str
    dash: tuple[int, ...] = ()

    @property
    def css(self) -> str:
        """The CSS variable that holds the colour of the reader's theme."""
        return f"--c-{self.label.lower().replace(' ', '-')}"


LIBC_CALL = "libc call"
GPR_STORES = "GPR stores"

_BYTE = ("#c04a00", "#f28a50")
_WORD = ("#8d7a00", "#e6d845")
_QUAD = ("#b87800", "#f0b040")
_GPR = ("#00805c", "#2fc79b")
_SSE = ("#2484b8", "#6cc3ef")
_AVX2 = ("#00558c", "#4a9be0")
_AVX512 = ("#a8528a", "#dd92bf")
_CALL = ("#333333", "#dddddd")
_DASHED = (5, 3)
_DOTTED = (2, 2)


def _contender(
    label: str, isa: Isa, hues: tuple[str, str], dash: tuple[int, ...] = ()
) -> Contender:
    return Contender(label=label, isa=isa, light=hues[0], dark=hues[1], dash=dash)


CONTENDERS = (
    _contender("rep stosb", Isa.GPR, _BYTE),
    _contender("rep movsb", Isa.GPR, _BYTE),
    _contender("rep stosl", Isa.GPR, _WORD),
    _contender("rep movsl", Isa.GPR, _WORD),
    _contender("rep stosq", Isa.GPR, _QUAD),
    _contender("rep movsq", Isa.GPR, _QUAD),
    _contender(GPR_STORES, Isa.GPR, _GPR),
    _contender("SSE stores", Isa.SSE2, _SSE),
    _contender("AVX2 stores", Isa.AVX2, _AVX2),
    _contender("AVX-512 stores", Isa.AVX512, _AVX512),
    _contender("GPR loop", Isa.GPR, _GPR, _DASHED),
    _contender("unrolled GPR loop", Isa.GPR, _GPR, _DOTTED),
    _contender("SSE loop", Isa.SSE2, _SSE, _DASHED),
    _contender("AVX2 loop", Isa.AVX2, _AVX2, _DASHED),
    _contender("AVX-512 loop", Isa.AVX512, _AVX512, _DASHED),
    _contender(LIBC_CALL, Isa.GPR, _CALL),
)
"""Every contender, in the order of every table and page."""

BY_LABEL = {contender.label: contender for contender in CONTENDERS}
ORDER = {contender.label: place for place, contender in enumerate(CONTENDERS)}

_ELEMENT = {Form.REP_BYTE: "b", Form.REP_4BYTE: "l", Form.REP_8BYTE: "q"}
_REGISTERS = {8: "GPR", 16: "SSE", 32: "AVX2", 64: "AVX-512"}


def contender_label(form: str, widest_store: int, op: str) -> str:
    """The name under which a lowering competes: `rep stosq`, `SSE stores`, `libc call`.

    `widest_store` is that of the lowering, in bytes. Stores narrower than 8 bytes are GPR stores.
    """
    kind = Form(form)
    if kind is Form.LIBCALL:
        return LIBC_CALL
    if kind.is_rep:
        return f"rep {'stos' if op == Op.MEMSET else 'movs'}{_ELEMENT[kind]}"
    registers = _REGISTERS[max(widest_store, 8)]
    if kind is Form.STRAIGHT:
        return f"{registers} stores"
    if kind is Form.UNROLLED_LOOP and registers == "GPR":
        return "unrolled GPR loop"
    return f"{registers} loop"


def allowed(label: str, isa: str) -> bool:
    """Whether a contender may be emitted where only the registers of `isa` are allowed."""
    return Isa(isa).includes(BY_LABEL[label].isa)
