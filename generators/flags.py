"""Compiler flags: which a study may ask for, and which a variant is compiled with.

Study files arrive in pull requests, so a flag is refused unless it stands on a list of flags that
do nothing but change how these kernels are lowered. A list of what to refuse could not hold: every
new compiler brings flags that run a program (`-fplugin=`, `-wrapper`, `-B`), read a file (`@file`,
`-specs=`, `-include`) or write one (`-o`, `-save-temps`, `-fdump-...`). Whoever needs another flag
gives it as a part of a toolchain's command, in their own configuration.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict

from memstrat.errors import FlagError
from memstrat.model import (
    Isa,
    Optimisation,
    StoreLimits,
    Strategy,
    StringopAlgorithm,
    Target,
    Variant,
    Vendor,
)

_OPTIMISER_SWITCHES = (
    # How memory operations are recognised and split.
    "builtin|builtin-memset|builtin-memcpy|builtin-memmove|freestanding|inline-stringops"
    "|tree-loop-distribute-patterns|tree-loop-distribution|store-merging|tree-sra|ipa-sra"
    # Vectors and loops: what becomes of a string operation once it is expanded.
    "|tree-vectorize|tree-loop-vectorize|tree-slp-vectorize|vectorize|slp-vectorize|unroll-loops"
    "|unroll-all-loops|peel-loops|tree-loop-ivcanon|ivopts|rerun-cse-after-loop|gcse|gcse-las"
    # Instruction order and registers.
    "|schedule-insns|schedule-insns2|sched-pressure|ira-share-save-slots|rename-registers"
    "|omit-frame-pointer|optimize-sibling-calls|reorder-blocks|tree-ter|tree-dse|tree-dce|dse|dce"
    "|cprop-registers|peephole2|split-wide-types|caller-saves|if-conversion|if-conversion2"
    # What an operating-system kernel compiles with, and what it may cost.
    "|strict-aliasing|strict-overflow|wrapv|delete-null-pointer-checks|common|jump-tables"
    "|allow-store-data-races|conserve-stack|unwind-tables|math-errno|trapping-math"
)

_NARROWING = "sse|sse2|sse3|ssse3|sse4|sse4\\.1|sse4\\.2|sse4a|avx|avx2|avx512[a-z0-9]+|mmx|80387"

_ALLOWED = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"-f(no-)?({_OPTIMISER_SWITCHES})",
        r"-finline-stringops=(memcmp|memcpy|memmove|memset)(,(memcmp|memcpy|memmove|memset))*",
        rf"-mno-({_NARROWING})",
        r"-m(no-)?(inline-all-stringops|inline-stringops-dynamically|align-stringops)",
        rf"-mstringop-strategy=({'|'.join(StringopAlgorithm)})",
        r"-mtune-ctrl=\^?[a-z0-9_]+(,\^?[a-z0-9_]+)*",
        r"-m(move-max|store-max|prefer-vector-width)=(128|256|512)",
        r"-mprefer-vector-width=none",
        r"-mgeneral-regs-only|-m(no-)?(red-zone|vzeroupper|implicit-float|accumulate-outgoing-args)",
        r"-mno-fp-ret-in-387|-mskip-rax-setup|-mpreferred-stack-boundary=[3-6]",
        r"-mstack-alignment=(8|16|32|64)",
        r"-mavx256-split-unaligned-(load|store)",
        r"-mbranch-cost=[0-5]",
    )
)

_ALLOWED_PAIRS = (
    (re.compile(r"-mllvm"), re.compile(r"-x86-use-fsrm-for-memcpy|-disable-loop-idiom-all")),
)

# There is no driver flag for these; they change what LLVM believes of a CPU's `rep`.
_TARGET_FEATURE = re.compile(r"[+-](ermsb|fsrm|slow-unaligned-mem-16|slow-unaligned-mem-32)")
_TARGET_FEATURE_PREFIX = ("-Xclang", "-target-feature", "-Xclang")

_OWN_FIELDS = (
    (re.compile(r"-O.*"), 'write the level in `optimisations`, such as "O2"'),
    (re.compile(r"-march=.*"), "write it as `march` of a target"),
    (re.compile(r"-mtune=.*"), "write it as `mtune` of a target"),
    (re.compile(r"-mcpu=.*"), "write it as `march` or `mtune` of a target"),
    (re.compile(r"-m(sse|avx|ssse|fma|general).*"), "write the registers as `isa` of a target"),
    (re.compile(r"-mmemset-strategy=.*"), "write it as `memset` of a strategy"),
    (re.compile(r"-mmemcpy-strategy=.*"), "write it as `memcpy` of a strategy"),
    (re.compile(r"-max-store-mem.*"), "write it in `limits` of a strategy"),
    (
        re.compile(r"-m(32|x32|16)|-mabi=.*|-mcmodel=.*|-fpi[ce]|-fno-pi[ce]|-fPI[CE]|-fno-PI[CE]"),
        "memstrat's harness calls 64-bit System V kernels, compiled with -fPIE",
    ),
    (
        re.compile(
            r"-pg|-fcf-protection.*|-fstack-protector.*|-finstrument.*|-fsanitize.*|-mfentry"
        ),
        "it adds code to every kernel, which would then be counted and measured as part of it",
    ),
    (
        re.compile(r"-mfunction-return=.*|-mindirect-branch=.*|-mharden-sls=.*"),
        "it replaces a kernel's return, which then cannot be told from its work",
    ),
    (re.compile(r"-flto.*|-fno-lto"), "memstrat reads the machine code that one compile gives"),
)

_ANYWHERE_ELSE = (
    "it is not on the list of flags that only change how a kernel is lowered "
    "(default deny: a study must not run, read or write anything); give it as a part of a "
    "toolchain's command in your own configuration"
)

_FIXED = (
    "-std=c11",  # the language of templates/kernels.c.j2
    "-fPIE",  # a pack is position-independent; the distributions' compilers differ in the default
    "-fno-lto",  # machine code is wanted, not an intermediate form
    "-fcf-protection=none",  # no endbr64 at the head: Debian's and Ubuntu's defaults differ
    "-fno-stack-protector",  # Ubuntu's default is -fstack-protector-strong
    "-fno-asynchronous-unwind-tables",  # less to assemble; a kernel keeps no frame
    "-fomit-frame-pointer",  # some distributions default to frame pointers
)

_FIXED_BY_VENDOR = {
    # Two kernels may come to the same code, and each must keep its own. GCC 11 and 12 merge none of
    # them even without it, as the assumed alignments tell them apart; no later GCC may either.
    Vendor.GCC: ("-fno-ipa-icf",),
    Vendor.CLANG: (),
}

_DEFAULT_MARCH = {
    Isa.GPR: "x86-64",
    Isa.SSE2: "x86-64",
    Isa.AVX2: "x86-64-v3",
    Isa.AVX512: "x86-64-v4",
}

# What keeps a kernel to its ISA, whatever -march allows. No -march=x86-64 has AVX, so that the
# restriction changes nothing there. 512 bits are preferred by no compiler on its own for v4.
_ISA_FLAG = {
    Isa.GPR: "-mgeneral-regs-only",
    Isa.SSE2: "-mno-avx",
    Isa.AVX2: "-mno-avx512f",
    Isa.AVX512: "-mprefer-vector-width=512",
}


def check_flags(flags: Sequence[str], *, where: str) -> None:
    """Accept `flags`, or raise FlagError naming `where` they stand, the flag, and what is right."""
    refusal = flags_refusal(flags)
    if refusal is not None:
        raise FlagError(f"{where}: {refusal}")


def flags_refusal(flags: Sequence[str]) -> str | None:
    """Why `flags` are refused, or None.

    A flag that takes its value as the next argument is accepted only together with it.
    """
    rest = tuple(flags)
    while rest:
        taken = _accepted(rest)
        if taken == 0:
            return _refusal(rest)
        rest = rest[taken:]
    return None


def variant_flags(variant: Variant) -> tuple[str, ...]:
    """All flags that decide the code of `variant`, but for its kernels; none for a reference form.

    The order is fixed, memstrat's own, the level, the target, the strategy, then the study's:
    of two contradicting flags compilers take the later.
    """
    vendor = variant.toolchain.vendor
    if vendor is Vendor.REFERENCE:
        return ()
    return (
        *_FIXED,
        *_FIXED_BY_VENDOR[vendor],
        f"-{variant.optimisation}",
        *target_flags(variant.target),
        *strategy_flags(variant.strategy),
        *variant.extra_flags,
    )


def target_flags(target: Target) -> tuple[str, ...]:
    """`-march`, `-mtune`, and what keeps the code to the target's ISA."""
    march = target.march or _DEFAULT_MARCH[target.isa]
    tune = () if target.mtune is None else (f"-mtune={target.mtune}",)
    return (f"-march={march}", *tune, _ISA_FLAG[target.isa])


def strategy_flags(strategy: Strategy) -> tuple[str, ...]:
    """What asks a compiler for `strategy`."""
    flags = []
    if strategy.memset is not None:
        flags.append(f"-mmemset-strategy={strategy.memset}")
    if strategy.memcpy is not None:
        flags.append(f"-mmemcpy-strategy={strategy.memcpy}")
    if strategy.limits is not None:
        flags += _limit_flags(strategy.limits)
    return (*flags, *strategy.flags)


def supports_optimisation(optimisation: Optimisation, vendor: Vendor, version: str) -> bool:
    """Whether a compiler of this version has the level: GCC has -Oz from 12 on."""
    if optimisation is not Optimisation.OZ or vendor is Vendor.CLANG:
        return True
    major = re.match(r"[0-9]+", version)
    return major is not None and int(major.group()) >= 12


def _limit_flags(limits: StoreLimits) -> list[str]:
    return [
        part
        for op, stores in asdict(limits).items()
        if stores is not None
        for part in ("-mllvm", f"-max-store-{op}={stores}")
    ]


def _accepted(flags: Sequence[str]) -> int:
    """How many of the first of `flags` form one accepted flag; 0 for none."""
    if any(pattern.fullmatch(flags[0]) for pattern in _ALLOWED):
        return 1
    if len(flags) >= 2 and any(
        name.fullmatch(flags[0]) and value.fullmatch(flags[1]) for name, value in _ALLOWED_PAIRS
    ):
        return 2
    if tuple(flags[:3]) == _TARGET_FEATURE_PREFIX and len(flags) >= 4:
        return 4 if _TARGET_FEATURE.fullmatch(flags[3]) else 0
    return 0


def _refusal(flags: Sequence[str]) -> str:
    shown = repr(" ".join(flags[:4]) if flags[0] in ("-mllvm", "-Xclang") else flags[0])
    if len(shown) > 100:
        shown = shown[:97] + "..."
    asked = flags[1] if flags[0] == "-mllvm" and len(flags) > 1 else flags[0]
    for pattern, right in _OWN_FIELDS:
        if pattern.fullmatch(asked):
            return f"the flag {shown} is refused here: {right}"
    return f"the flag {shown} is refused: {_ANYWHERE_ELSE}"
