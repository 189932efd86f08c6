"""From an object to lowerings: what a variant really emitted for each of its kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memstrat.errors import ObjectError
from memstrat.model import Code, Form, Kernel, Lowering
from memstrat.runner.inspect.classify import classify, stores_by_width
from memstrat.runner.inspect.decode import UnsupportedCode, att_text, decode
from memstrat.runner.inspect.objects import extract_codes
from memstrat.runner.inspect.trace import Trace, trace


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """The lowerings of a translation unit, and the kernels that gave none with the reason."""

    lowerings: tuple[Lowering, ...]
    problems: tuple[tuple[Kernel, str], ...]


@dataclass(frozen=True, kw_only=True)
class _Findings:
    """What a code alone says of its lowering, whichever variant emitted it."""

    form: Form
    widest_store: int
    instructions: int
    executed: int | None
    stores: dict[int, int] | None
    callee: str | None


def inspect_object(
    data: bytes, kernels: Sequence[Kernel], selected: Mapping[str, tuple[str, ...]]
) -> Inspection:
    """The lowerings of the kernels that an object defines.

    `selected` is what GCC's expand dump says it chose, by kernel name. Nothing is raised for an
    object that is damaged: then every kernel is a problem, with that reason.
    """
    try:
        codes = extract_codes(data, kernels)
    except ObjectError as error:
        return Inspection(lowerings=(), problems=tuple((kernel, str(error)) for kernel in kernels))
    lowerings, problems = [], []
    for kernel in kernels:
        code = codes[kernel.name]
        found = _findings(code, kernel) if isinstance(code, Code) else code
        if isinstance(code, str) or isinstance(found, str):
            problems.append((kernel, str(found)))
            continue
        lowerings.append(
            Lowering(
                kernel=kernel,
                code=code,
                form=found.form,
                widest_store=found.widest_store,
                instructions=found.instructions,
                executed=found.executed,
                stores=found.stores,
                callee=found.callee,
                selected=selected.get(kernel.name, ()),
            )
        )
    return Inspection(lowerings=tuple(lowerings), problems=tuple(problems))


def executed_path(code: Code, kernel: Kernel) -> tuple[str, ...] | None:
    """The instructions that one call executes, in order, in AT&T syntax as llvm-mca reads them.

    A `rep` and a call stand once; branches stand as they are, their targets meaning nothing. None
    where the path is undecided, and for bytes that memstrat cannot decode.
    """
    try:
        followed = trace(code, kernel)
    except UnsupportedCode:
        return None
    if followed.undecided:
        return None
    instructions = decode(code.text).instructions
    texts = {at: att_text(instructions[at]) for at in set(followed.path)}
    return tuple(texts[at] for at in followed.path)


def coverage(code: Code, kernel: Kernel) -> bool | None:
    """Whether the code writes each byte of the kernel's destination and no other, read statically.

    None where that cannot be told (see `Trace.covers`). Running the code is what verifies it; this
    says the same without a CPU that has the code's ISA.
    """
    try:
        return trace(code, kernel).covers(kernel.size)
    except UnsupportedCode:
        return None


@lru_cache(maxsize=8192)
def _findings(code: Code, kernel: Kernel) -> _Findings | str:
    try:
        decoded = decode(code.text)
        followed: Trace = trace(code, kernel)
        shape = classify(followed, decoded, code, kernel)
    except UnsupportedCode as reason:
        return str(reason)
    decided = not followed.undecided
    return _Findings(
        form=shape.form,
        widest_store=shape.widest_store,
        instructions=len(decoded.instructions),
        executed=len(followed.path) if decided else None,
        stores=stores_by_width(followed) if decided else None,
        callee=shape.callee,
    )
