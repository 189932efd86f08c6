"""The vocabulary: what a study, a compiler and a measurement are made of.

Frozen values and enums, no I/O. Sizes and alignments are bytes throughout. A value's identity is
its content: `digest` names work by the hash of its inputs.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum


class Op(StrEnum):
    """A memory operation of fixed size."""

    MEMSET = "memset"
    MEMCPY = "memcpy"
    MEMMOVE = "memmove"


class Fill(StrEnum):
    """What a memset stores. A copy has no fill."""

    ZERO = "zero"
    CONSTANT = "constant"
    VARIABLE = "variable"


FILL_CONSTANT = 0x5A
"""The byte that `Fill.CONSTANT` kernels store: neither 0 nor 0xff, which compilers special-case."""


class Spelling(StrEnum):
    """How the C source asks for the operation."""

    POINTER = "pointer"
    STRUCT = "struct"


class Isa(StrEnum):
    """The registers that a kernel may use; `gpr` is what an OS kernel allows itself."""

    GPR = "gpr"
    SSE2 = "sse2"
    AVX2 = "avx2"
    AVX512 = "avx512"

    @property
    def widest_store(self) -> int:
        """Bytes of the widest store that this ISA has."""
        return {Isa.GPR: 8, Isa.SSE2: 16, Isa.AVX2: 32, Isa.AVX512: 64}[self]

    def includes(self, other: "Isa") -> bool:
        """Whether code written for `other` also runs where this ISA is allowed."""
        return self.widest_store >= other.widest_store


class Form(StrEnum):
    """The shape of the machine code that was really emitted."""

    STRAIGHT = "straight"
    LOOP = "loop"
    UNROLLED_LOOP = "unrolled_loop"
    VECTOR_LOOP = "vector_loop"
    REP_BYTE = "rep_byte"
    REP_4BYTE = "rep_4byte"
    REP_8BYTE = "rep_8byte"
    LIBCALL = "libcall"

    @property
    def is_rep(self) -> bool:
        """Whether the bulk of the work is one `rep` instruction."""
        return self in (Form.REP_BYTE, Form.REP_4BYTE, Form.REP_8BYTE)


class Optimisation(StrEnum):
    """A compiler's optimisation level, spelled as its flag without the dash."""

    O1 = "O1"
    O2 = "O2"
    O3 = "O3"
    OS = "Os"
    OZ = "Oz"


class Scenario(StrEnum):
    """The state that a kernel meets when it is measured."""

    HOT = "hot"


@dataclass(frozen=True, kw_only=True, order=True)
class Kernel:
    """One op at one size, as a C compiler is asked for it.

    `alignment` is what the compiler may assume of both pointers.
    """

    op: Op
    fill: Fill | None
    size: int
    alignment: int = 8
    spelling: Spelling = Spelling.POINTER

    @property
    def name(self) -> str:
        """A C identifier, unique among kernels: `memset_zero_a8_s168`, `memcpy_struct_a8_s168`."""
        parts = [self.op.value]
        if self.fill is not None:
            parts.append(self.fill.value)
        if self.spelling is Spelling.STRUCT:
            parts.append("struct")
        return "_".join([*parts, f"a{self.alignment}", f"s{self.size}"])


@dataclass(frozen=True, kw_only=True, order=True)
class Cell:
    """What is measured together: all codes that do the same to the same bytes in the same state.

    Kernels that differ only in the assumed alignment or in the spelling share a cell.
    """

    op: Op
    fill: Fill | None
    size: int
    scenario: Scenario = Scenario.HOT

    @property
    def name(self) -> str:
        """Unique among cells: `memset_zero_s168_hot`."""
        fill = [] if self.fill is None else [self.fill.value]
        return "_".join([self.op.value, *fill, f"s{self.size}", self.scenario.value])


class Vendor(StrEnum):
    """Who makes the code. `reference` is memstrat itself: the forms written by hand."""

    GCC = "gcc"
    CLANG = "clang"
    REFERENCE = "reference"


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """A compiler command and its identity.

    `digest` covers what the compiler says of itself and the bytes of what really runs, where they
    can be read, so that an upgrade under the same name is another toolchain.
    """

    name: str
    command: tuple[str, ...]
    vendor: Vendor
    version: str
    target: str
    digest: str


class StringopAlgorithm(StrEnum):
    """The algorithms of GCC's `-mmemset-strategy=` and `-mmemcpy-strategy=` (its stringop.def)."""

    LIBCALL = "libcall"
    REP_BYTE = "rep_byte"
    REP_4BYTE = "rep_4byte"
    REP_8BYTE = "rep_8byte"
    BYTE_LOOP = "byte_loop"
    LOOP = "loop"
    UNROLLED_LOOP = "unrolled_loop"
    VECTOR_LOOP = "vector_loop"


@dataclass(frozen=True, kw_only=True)
class StringopRule:
    """One `alg:max:align` of a GCC strategy; `max_size` is -1 for "no limit"."""

    algorithm: StringopAlgorithm
    max_size: int
    align: bool

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.max_size}:{'align' if self.align else 'noalign'}"


@dataclass(frozen=True, kw_only=True)
class StringopStrategy:
    """A whole GCC strategy, already checked: 1 to 4 rules, sizes increasing, the last -1."""

    rules: tuple[StringopRule, ...]

    def __str__(self) -> str:
        return ",".join(str(rule) for rule in self.rules)


@dataclass(frozen=True, kw_only=True)
class StoreLimits:
    """LLVM's `-max-store-memset/-memcpy/-memmove`, in stores; None leaves the target's default."""

    memset: int | None = None
    memcpy: int | None = None
    memmove: int | None = None


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """What is asked of a compiler beyond its default; all None is the default itself.

    A strategy with GCC strategies applies to GCC only, one with store limits to clang only, the
    default and a bare `flags` to both.
    """

    name: str
    memset: StringopStrategy | None = None
    memcpy: StringopStrategy | None = None
    limits: StoreLimits | None = None
    flags: tuple[str, ...] = ()

    def applies_to(self, vendor: Vendor) -> bool:
        """Whether this compiler understands what the strategy asks."""
        if self.memset is not None or self.memcpy is not None:
            return vendor is Vendor.GCC
        if self.limits is not None:
            return vendor is Vendor.CLANG
        return vendor is not Vendor.REFERENCE

    @property
    def asked(self) -> str:
        """What is asked, as a reader would write it: the flags' text, or `default`."""
        asked = []
        if self.memset is not None:
            asked.append(f"-mmemset-strategy={self.memset}")
        if self.memcpy is not None:
            asked.append(f"-mmemcpy-strategy={self.memcpy}")
        if self.limits is not None:
            asked += [
                f"-max-store-{op}={n}" for op, n in asdict(self.limits).items() if n is not None
            ]
        return " ".join([*asked, *self.flags]) or "default"


DEFAULT_STRATEGY = Strategy(name="default")


@dataclass(frozen=True, kw_only=True)
class Target:
    """The CPU that is compiled for, and the registers that a kernel may use."""

    isa: Isa
    march: str | None = None
    mtune: str | None = None

    @property
    def label(self) -> str:
        """`sse2`, or `sse2 march=znver4 mtune=generic`."""
        extra = [f"{name}={value}" for name in ("march", "mtune") if (value := getattr(self, name))]
        return " ".join([self.isa.value, *extra])


@dataclass(frozen=True, kw_only=True)
class Variant:
    """toolchain × optimisation level × target × strategy; one unit holds its kernels."""

    toolchain: Toolchain
    optimisation: Optimisation
    target: Target
    strategy: Strategy = DEFAULT_STRATEGY
    extra_flags: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Identity: everything that can change the emitted code, and not the names given to it."""
        # A reference form asks nothing of a compiler: its name says which macros make the code.
        reference = self.toolchain.vendor is Vendor.REFERENCE
        return digest_of(
            {
                "toolchain": self.toolchain.digest,
                "optimisation": self.optimisation,
                "target": asdict(self.target),
                "asked": self.strategy.name if reference else self.strategy.asked,
                "extra_flags": self.extra_flags,
            }
        )

    @property
    def label(self) -> str:
        """`gcc -O2 sse2 default`: unique within a study, readable aloud."""
        if self.toolchain.vendor is Vendor.REFERENCE:
            return f"reference {self.target.isa} {self.strategy.name}"
        parts = [
            self.toolchain.name,
            f"-{self.optimisation}",
            self.target.label,
            self.strategy.name,
        ]
        return " ".join([*parts, *self.extra_flags])


class RelocationKind(StrEnum):
    """What a relocated 32-bit field in a code refers to."""

    CALL = "call"
    DATA = "data"


@dataclass(frozen=True, kw_only=True)
class Relocation:
    """A 32-bit PC-relative field of a code.

    The field's value is `address(target) + addend - address(field)`. For `call`, the target is the
    function `symbol`; for `data`, it is a copy of the constant `data`, aligned to 64 bytes.
    """

    offset: int
    kind: RelocationKind
    addend: int
    symbol: str = ""
    data: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Code:
    """Normalised machine code: relocated fields zeroed, padding after its end removed.

    `isa` is the least ISA whose CPUs can run it. The same bytes are one code, whoever emitted them.
    """

    text: bytes
    relocations: tuple[Relocation, ...] = ()
    isa: Isa = Isa.GPR

    @property
    def digest(self) -> str:
        """Identity: the bytes, and what their relocated fields refer to."""
        relocations = [
            [r.offset, r.kind.value, r.addend, r.symbol, r.data.hex()] for r in self.relocations
        ]
        return digest_of({"text": self.text.hex(), "relocations": relocations})


STORE_WIDTHS = (1, 2, 4, 8, 16, 32, 64)
"""Bytes that one x86-64 store instruction can write."""


@dataclass(frozen=True, kw_only=True)
class Lowering:
    """What a variant really emitted for a kernel, decoded from its machine code.

    `executed` (instructions) and `stores` (store instructions by width in bytes, as executed; a
    `rep` counts as one instruction and no store) are None where the path through the code could not
    be decided. `widest_store` is that of the bulk of the work: 0 for a call, the element of a
    `rep`.
    `selected` is what GCC's expand dump says it chose, in order, where it said so.
    """

    kernel: Kernel
    code: Code
    form: Form
    widest_store: int
    instructions: int
    executed: int | None
    stores: dict[int, int] | None
    callee: str | None
    selected: tuple[str, ...] = field(default=())


class Stage(StrEnum):
    """Where a work item was when it failed."""

    BUILD = "build"
    INSPECT = "inspect"
    VERIFY = "verify"
    PREDICT = "predict"
    MEASURE = "measure"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A work item that gave no result, and why; it costs its own rows and nothing else.

    `subject` names it as a reader knows it: a variant's label, with the kernel's name where one is
    meant.
    """

    stage: Stage
    work: str
    subject: str
    reason: str


def digest_of(value: object) -> str:
    """The name of a piece of work: 16 hexadecimal digits of SHA-256 over its canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
