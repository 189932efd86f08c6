"""Reference forms: kernels written by hand, so that every form exists at every size.

Compilers expand small blocks by pieces before any strategy is asked, so no flag can make them emit
`rep stosq` for 64 bytes. The macros in `kernels/reference` can; this module joins them with the
kernels of a study into one assembler unit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import jinja2

from memstrat.model import (
    Isa,
    Kernel,
    Op,
    Optimisation,
    Spelling,
    Strategy,
    Target,
    Toolchain,
    Variant,
    Vendor,
    digest_of,
)

MACRO_FILES = (
    "fill.S",
    "straight.S",
    "gpr_stores.S",
    "sse_stores.S",
    "avx2_stores.S",
    "avx512_stores.S",
    "rep.S",
    "libc_call.S",
)
"""The macro files of `kernels/reference`, those that others use first."""


@dataclass(frozen=True, kw_only=True)
class ReferenceForm:
    """A form written by hand: what it needs, and for which kernels it exists.

    `memmove_words` is (bytes, registers): how wide and how many the registers are that must hold
    the whole block of a memmove before its first store; None where there is no memmove.
    """

    name: str
    isa: Isa
    ops: frozenset[Op]
    smallest: int = 1
    memmove_words: tuple[int, int] | None = None


_ALL = frozenset(Op)

REFERENCE_FORMS = {
    form.name: form
    for form in (
        ReferenceForm(name="rep_stosb", isa=Isa.GPR, ops=frozenset({Op.MEMSET})),
        ReferenceForm(name="rep_stosq", isa=Isa.GPR, ops=frozenset({Op.MEMSET}), smallest=8),
        ReferenceForm(name="rep_movsb", isa=Isa.GPR, ops=frozenset({Op.MEMCPY})),
        ReferenceForm(name="rep_movsq", isa=Isa.GPR, ops=frozenset({Op.MEMCPY}), smallest=8),
        ReferenceForm(name="gpr_stores", isa=Isa.GPR, ops=_ALL, memmove_words=(8, 8)),
        ReferenceForm(name="sse_stores", isa=Isa.SSE2, ops=_ALL, memmove_words=(16, 16)),
        ReferenceForm(name="avx2_stores", isa=Isa.AVX2, ops=_ALL, memmove_words=(32, 16)),
        ReferenceForm(name="avx512_stores", isa=Isa.AVX512, ops=_ALL, memmove_words=(64, 32)),
        ReferenceForm(name="libc_call", isa=Isa.GPR, ops=_ALL),
    )
}
"""The reference forms by name; a name is that of the strategy of a reference variant."""


def supports(form: str, kernel: Kernel) -> bool:
    """Whether the reference form `form` exists for `kernel`.

    A kernel spelled as a struct asks for the same bytes as its pointer twin and gets no reference
    form of its own. Raises KeyError for a name that is not in `REFERENCE_FORMS`.
    """
    known = REFERENCE_FORMS[form]
    if kernel.spelling is Spelling.STRUCT or kernel.op not in known.ops:
        return False
    if kernel.size < known.smallest:
        return False
    if kernel.op is Op.MEMMOVE and known.memmove_words is not None:
        width, registers = known.memmove_words
        return kernel.size <= width * registers
    return True


def reference_source(form: str, kernels: Sequence[Kernel]) -> str:
    """The assembler unit (GAS, AT&T syntax) of the reference form `form` for `kernels`.

    Each kernel is the function `kernel.name` in section `.text.memstrat.<kernel.name>`, aligned to
    64 bytes. Raises ValueError for a kernel that the form does not support.
    """
    for kernel in kernels:
        if not supports(form, kernel):
            raise ValueError(f"reference form {form} does not exist for {kernel.name}")
    template = files("memstrat.templates").joinpath("reference.S.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(  # noqa: S701 (assembler text, not HTML)
        undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(template).render(
        form=form, kernels=kernels, macro_files=_macro_texts()
    )


def reference_toolchain() -> Toolchain:
    """The toolchain of the reference forms: `digest` covers the macros, `command` assembles."""
    return Toolchain(
        name="reference",
        command=("cc",),
        vendor=Vendor.REFERENCE,
        version="1",
        target="x86_64",
        digest=digest_of(_macro_texts()),
    )


def reference_variants(isas: Iterable[Isa]) -> list[Variant]:
    """One variant per reference form that code for any of `isas` may use.

    A kernel that may use AVX2 may also use SSE and general registers, so those forms come with it.
    """
    allowed = list(isas)
    toolchain = reference_toolchain()
    return [
        Variant(
            toolchain=toolchain,
            optimisation=Optimisation.O2,
            target=Target(isa=form.isa),
            strategy=Strategy(name=form.name),
        )
        for form in REFERENCE_FORMS.values()
        if any(isa.includes(form.isa) for isa in allowed)
    ]


@cache
def _macro_texts() -> tuple[str, ...]:
    folder = files("memstrat.kernels").joinpath("reference")
    return tuple(folder.joinpath(name).read_text(encoding="utf-8") for name in MACRO_FILES)
