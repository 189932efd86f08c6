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

_BYTE = {"light": "#c04a00", "dark": "#f28a50"}
_WORD = {"light": "#8d7a00", "dark": "#e6d845"}
_QUAD = {"light": "#b87800", "dark": "#f0b040"}
_GPR = {"light": "#00805c", "dark": "#2fc79b"}
_SSE = {"light": "#2484b8", "dark": "#6cc3ef"}
_AVX2 = {"light": "#00558c", "dark": "#4a9be0"}
_AVX512 = {"light": "#a8528a", "dark": "#dd92bf"}
_CALL = {"light": "#333333", "dark": "#dddddd"}
_DASHED = (5, 3)
_DOTTED = (2, 2)

CONTENDERS = (
    Contender(label="rep stosb", isa=Isa.GPR, **_BYTE),
    Contender(label="rep movsb", isa=Isa.GPR, **_BYTE),
    Contender(label="rep stosl", isa=Isa.GPR, **_WORD),
    Contender(label="rep movsl", isa=Isa.GPR, **_WORD),
    Contender(label="rep stosq", isa=Isa.GPR, **_QUAD),
    Contender(label="rep movsq", isa=Isa.GPR, **_QUAD),
    Contender(label=GPR_STORES, isa=Isa.GPR, **_GPR),
    Contender(label="SSE stores", isa=Isa.SSE2, **_SSE),
    Contender(label="AVX2 stores", isa=Isa.AVX2, **_AVX2),
    Contender(label="AVX-512 stores", isa=Isa.AVX512, **_AVX512),
    Contender(label="GPR loop", isa=Isa.GPR, dash=_DASHED, **_GPR),
    Contender(label="unrolled GPR loop", isa=Isa.GPR, dash=_DOTTED, **_GPR),
    Contender(label="SSE loop", isa=Isa.SSE2, dash=_DASHED, **_SSE),
    Contender(label="AVX2 loop", isa=Isa.AVX2, dash=_DASHED, **_AVX2),
    Contender(label="AVX-512 loop", isa=Isa.AVX512, dash=_DASHED, **_AVX512),
    Contender(label=LIBC_CALL, isa=Isa.GPR, **_CALL),
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
