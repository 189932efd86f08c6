"""Build translation units: C to assembly by the toolchain, assembly to an object by binutils here.

The toolchain reads C from standard input and writes assembly to standard output, so nothing has to
be shared with the place where it runs. What was built is kept in a cache under the hash of all that
decides it. Failures are not kept: a hang may be the machine's fault, and a wrapper such as ssh has
exit codes of its own; so a compiler that fails is asked again next time.
"""

import functools
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memstrat.errors import ToolchainError
from memstrat.generators.emit import c_source
from memstrat.generators.flags import variant_flags
from memstrat.generators.plan import TranslationUnit
from memstrat.generators.reference import reference_source
from memstrat.model import Failure, Kernel, Stage, Variant, Vendor, digest_of
from memstrat.runner.cache import Cache
from memstrat.runner.compile.expand_dump import DUMP_FLAG, split_expand_dump
from memstrat.runner.isolate import isolate
from memstrat.runner.processes import Completed, failure_text, printable, run_process
from memstrat.runner.toolchains.probe import ignored_limits

_FORMAT = 1
"""Changes whenever an entry of the cache is made otherwise from the same inputs."""

_OUTPUT_FLAGS = {
    Vendor.GCC: (DUMP_FLAG,),
    # Binutils does not know .addrsig; a crash report would leave files in the user's /tmp.
    Vendor.CLANG: ("-fno-addrsig", "-fno-crash-diagnostics"),
}

_ENVIRONMENT = {"LLVM_DISABLE_SYMBOLIZATION": "1"}
"""A clang that crashes would spend a second on naming the functions of its stack."""

_REASON_LINES = 6
_REASON_WIDTH = 300


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a compile may cost, and how long to look for the kernels that make one fail.

    `compile_s` is wall time of one compiler process, `memory_bytes` the address space of each of
    its processes, `isolate_s` wall time for all attempts of one unit after the first.
    """

    compile_s: float = 60.0
    memory_bytes: int = 8 * 2**30
    isolate_s: float = 60.0
    nice: int = 0


@dataclass(frozen=True, kw_only=True)
class Built:
    """One object: its bytes, the assembly, and what GCC's expand dump says that it selected.

    `dump` is what `expand_dump.parse_expand_dump` reads; empty for other compilers.
    """

    object: bytes
    assembly: str
    dump: str


@dataclass(frozen=True, kw_only=True)
class BuiltPart:
    """The kernels of one object."""

    kernels: tuple[Kernel, ...]
    built: Built


@dataclass(frozen=True, kw_only=True)
class BuildResult:
    """What became of a unit: usually one part and no failure.

    Where a unit fails as a whole, `parts` hold the kernels that compile without the others, and
    each failure names one kernel, or the variant where no kernel alone is to blame.
    """

    unit: TranslationUnit
    parts: tuple[BuiltPart, ...]
    failures: tuple[Failure, ...]


def build_unit(unit: TranslationUnit, *, cache: Cache, limits: Limits) -> BuildResult:
    """Build one unit; where that fails, find the kernels to blame and build the others.

    Raises ToolchainError where the local assembler is missing: nothing can be built then.
    """
    refusal = _refusal(unit.variant, cache, limits)
    if refusal is not None:
        return BuildResult(unit=unit, parts=(), failures=(_failure(unit.variant, (), refusal),))

    def attempt(kernels: tuple[Kernel, ...], timeout_s: float | None) -> Built | str:
        allowed = limits if timeout_s is None else replace(limits, compile_s=timeout_s)
        return _build(unit.variant, kernels, cache, allowed)

    found = isolate(unit.kernels, attempt, budget_s=limits.isolate_s)
    parts = tuple(BuiltPart(kernels=part.items, built=part.result) for part in found.parts)
    failures = [
        failure
        for blamed in found.failures
        for failure in _failures(unit, blamed.items, blamed.reason)
    ]
    return BuildResult(unit=unit, parts=parts, failures=tuple(failures))


def _refusal(variant: Variant, cache: Cache, limits: Limits) -> str | None:
    """Why this variant is not even tried, or None: its strategy has no effect on its toolchain."""
    if variant.strategy.limits is None:
        return None
    return ignored_limits(variant, cache=cache, timeout_s=limits.compile_s)


def _failures(unit: TranslationUnit, kernels: tuple[Kernel, ...], reason: str) -> list[Failure]:
    """One failure for a unit that failed as a whole, else one for each kernel."""
    if kernels == unit.kernels and len(kernels) > 1:
        return [_failure(unit.variant, (), reason)]
    return [_failure(unit.variant, (kernel,), reason) for kernel in kernels]


def _failure(variant: Variant, kernels: tuple[Kernel, ...], reason: str) -> Failure:
    names = [kernel.name for kernel in kernels]
    return Failure(
        stage=Stage.BUILD,
        work=digest_of({"build": variant.digest, "kernels": names}),
        subject=" ".join([variant.label, *names]),
        reason=reason,
    )


def _build(
    variant: Variant, kernels: tuple[Kernel, ...], cache: Cache, limits: Limits
) -> Built | str:
    """Build from the cache or anew, or say why not."""
    command, source = compile_command(variant), source_of(variant, kernels)
    key = digest_of(
        {
            "format": _FORMAT,
            "toolchain": variant.toolchain.digest,
            "flags": command[len(variant.toolchain.command) :],
            "source": source,
            "assembler": assembler().version,
        }
    )
    kept = cache.get("build", key)
    if kept is not None:
        return _unpack(kept)
    built = _build_anew(variant.toolchain.vendor, command, source, limits)
    if not isinstance(built, str):
        cache.put("build", key, _pack(built))
    return built


def _build_anew(
    vendor: Vendor, command: tuple[str, ...], source: str, limits: Limits
) -> Built | str:
    if vendor is Vendor.REFERENCE:
        assembly, dump = source, ""
    else:
        done = _run(command, source, limits)
        dump, messages = "", done.error_text
        if vendor is Vendor.GCC:
            dump, messages = split_expand_dump(messages)
        if not done.succeeded:
            return _reason("compiler", done, messages)
        assembly = done.text
    made = assemble(assembly, limits)
    return made if isinstance(made, str) else Built(object=made, assembly=assembly, dump=dump)


def source_of(variant: Variant, kernels: Sequence[Kernel]) -> str:
    """What is compiled: C, or assembly for a reference form."""
    if variant.toolchain.vendor is Vendor.REFERENCE:
        return reference_source(variant.strategy.name, kernels)
    return c_source(kernels)


def compile_command(variant: Variant) -> tuple[str, ...]:
    """The command that turns C on standard input into assembly on standard output.

    A reference form has none.
    """
    vendor = variant.toolchain.vendor
    if vendor is Vendor.REFERENCE:
        return ()
    return (
        *variant.toolchain.command,
        *variant_flags(variant),
        *_OUTPUT_FLAGS[vendor],
        *("-x", "c", "-", "-S", "-o", "-"),
    )


def assemble(assembly: str, limits: Limits) -> bytes | str:
    """The object that binutils makes of `assembly`, or why it makes none."""
    with tempfile.TemporaryDirectory(prefix="memstrat-") as folder:
        file = Path(folder, "unit.o")
        done = _run((*assembler().command, "-o", str(file), "--"), assembly, limits)
        if not done.succeeded:
            return _reason("assembler", done, done.error_text)
        return file.read_bytes()


@dataclass(frozen=True, kw_only=True)
class Assembler:
    """The local assembler: its command, and what it says its version is."""

    command: tuple[str, ...]
    version: str


@functools.cache
def assembler() -> Assembler:
    """Binutils' `as`, asked once. Raises ToolchainError where there is none."""
    done = run_process(("as", "--version"), timeout_s=30)
    if not done.succeeded or "GNU" not in done.text:
        raise ToolchainError(
            "no GNU assembler: `as` of binutils is needed on this machine, whatever compilers "
            f"are used\n{failure_text(done)}"
        )
    return Assembler(command=("as", "--64"), version=done.text.splitlines()[0])


def _run(command: tuple[str, ...], text: str, limits: Limits) -> Completed:
    return run_process(
        command,
        stdin=text.encode(),
        timeout_s=limits.compile_s,
        memory_bytes=limits.memory_bytes,
        environment=_ENVIRONMENT,
        nice=limits.nice,
    )


def _reason(what: str, done: Completed, messages: str) -> str:
    """How a step ended and the first lines of what it said; for people, in one short text."""
    lines = [line.strip() for line in printable(messages).splitlines() if line.strip()]
    said = "\n".join(line[:_REASON_WIDTH] for line in lines[:_REASON_LINES])
    return f"{what}: {done.detail}" + (f"\n{said}" if said else "")


def _pack(built: Built) -> bytes:
    blobs = [built.object, built.assembly.encode(), built.dump.encode()]
    return json.dumps([len(blob) for blob in blobs]).encode() + b"\n" + b"".join(blobs)


def _unpack(packed: bytes) -> Built:
    head, _, blobs = packed.partition(b"\n")
    first, second, _ = json.loads(head)
    return Built(
        object=blobs[:first],
        assembly=blobs[first : first + second].decode(),
        dump=blobs[first + second :].decode(),
    )
