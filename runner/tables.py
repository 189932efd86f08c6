"""The tables of a results folder: their columns, types and meaning, and the schema's version.

Every table is tidy: one row per observation, plain column names, sizes in bytes, times in the unit
that the column's note gives. `SCHEMA_VERSION` changes whenever a reader of the old schema would
misread the new one.
"""

from dataclasses import dataclass

import pyarrow as pa

SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: its name, Arrow type, meaning, and whether it may be empty."""

    name: str
    type: pa.DataType
    note: str
    nullable: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table: its name, what one row is, and its columns."""

    name: str
    row: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema, with notes and `SCHEMA_VERSION` as metadata."""
        fields = [
            pa.field(c.name, c.type, nullable=c.nullable, metadata={"note": c.note})
            for c in self.columns
        ]
        return pa.schema(fields, metadata={"memstrat_schema": str(SCHEMA_VERSION), "row": self.row})


def _text(name: str, note: str, *, nullable: bool = False) -> Column:
    return Column(name=name, type=pa.string(), note=note, nullable=nullable)


def _whole(name: str, note: str, *, nullable: bool = False) -> Column:
    return Column(name=name, type=pa.int64(), note=note, nullable=nullable)


def _real(name: str, note: str, *, nullable: bool = False) -> Column:
    return Column(name=name, type=pa.float64(), note=note, nullable=nullable)


def _truth(name: str, note: str) -> Column:
    return Column(name=name, type=pa.bool_(), note=note)


def _texts(name: str, note: str) -> Column:
    return Column(name=name, type=pa.list_(pa.string()), note=note)


_WORK = _text("work", "hash of the inputs of the work item that made this row")
_OP = _text("op", "memset, memcpy or memmove")
_FILL = _text("fill", "zero, constant or variable; empty for copies", nullable=True)
_SIZE = _whole("size", "bytes set or copied")
_CODE = _text("code", "hash of the normalised machine code")
_MACHINE = _text("machine", "hash of the machine's identity")

KERNELS = Table(
    name="kernels",
    row="an op at one size, as a compiler is asked for it",
    columns=(
        _WORK,
        _text("kernel", "the kernel's name"),
        _OP,
        _FILL,
        _SIZE,
        _whole("alignment", "bytes of alignment that the compiler may assume"),
        _text("spelling", "pointer or struct"),
    ),
)

VARIANTS = Table(
    name="variants",
    row="a toolchain, an optimisation level, a target and a strategy",
    columns=(
        _WORK,
        _text("variant", "hash of everything that can change the emitted code"),
        _text("label", "the variant's name for people"),
        _text("toolchain", "name that the study uses for the compiler"),
        _text("vendor", "gcc, clang, or reference for the forms written by hand"),
        _text("version", "what the compiler says its version is"),
        _text("toolchain_target", "the triple that the compiler says it compiles for"),
        _text("toolchain_digest", "identity of the compiler that really ran"),
        _text("optimisation", "O1, O2, O3, Os or Oz"),
        _text("isa", "gpr, sse2, avx2 or avx512: the registers that kernels may use"),
        _text("march", "-march as given", nullable=True),
        _text("mtune", "-mtune as given", nullable=True),
        _text("strategy", "the study's name for what is asked"),
        _text("asked", "what is asked, as flags; `default` for nothing"),
        _texts("flags", "the whole list of flags that decide the code"),
    ),
)

LOWERINGS = Table(
    name="lowerings",
    row="what a variant really emitted for a kernel",
    columns=(
        _WORK,
        _text("variant", "hash of the variant"),
        _text("kernel", "the kernel's name"),
        _text("form", "straight, loop, unrolled_loop, vector_loop, rep_byte, ..., libcall"),
        _whole(
            "widest_store", "bytes per store of the bulk of the work; element of a rep; 0: call"
        ),
        _CODE,
        _whole("code_bytes", "bytes of machine code, padding excluded"),
        _whole("instructions", "instructions in the code"),
        _whole("executed", "instructions executed in one call; a rep is one", nullable=True),
        *(
            _whole(
                f"stores_{width}", f"stores of {width} bytes executed in one call", nullable=True
            )
            for width in (1, 2, 4, 8, 16, 32, 64)
        ),
        _text("callee", "the function that is called or jumped to", nullable=True),
        _texts("selected", "what GCC's expand dump says it selected, in order"),
    ),
)

CODES = Table(
    name="codes",
    row="distinct normalised machine code",
    columns=(
        _WORK,
        _CODE,
        _text("isa", "the least ISA that can run it"),
        Column(name="text", type=pa.binary(), note="machine code, relocated fields zeroed"),
        _text("relocations", "JSON list of the relocated fields"),
        _text("assembly", "disassembly, AT&T syntax, one instruction a line"),
    ),
)

VERIFICATIONS = Table(
    name="verifications",
    row="a code run against the expected bytes of one kernel's contract",
    columns=(
        _WORK,
        _CODE,
        _OP,
        _FILL,
        _SIZE,
        _whole("alignment", "bytes of alignment that the contract promises"),
        _text("outcome", "passed, wrong, crashed, hung, or skipped"),
        _text("detail", "what went wrong, or why it was skipped", nullable=True),
    ),
)

PREDICTIONS = Table(
    name="predictions",
    row="a static analyser's throughput for a code",
    columns=(
        _WORK,
        _CODE,
        _text("analyser", "llvm-mca and its version"),
        _text("cpu", "the model that the analyser used"),
        _real(
            "cycles",
            "predicted cycles per call; empty where the model does not apply",
            nullable=True,
        ),
        _text("reason", "why there is no figure", nullable=True),
    ),
)

SAMPLES = Table(
    name="samples",
    row="what one process measured of one code in one cell",
    columns=(
        _WORK,
        _MACHINE,
        _OP,
        _FILL,
        _SIZE,
        _text("scenario", "the state that the code met"),
        _CODE,
        _truth(
            "twin",
            "whether this is the byte-identical twin of the cell's baseline: the A/A control",
        ),
        _whole("process", "index of the process, from 0"),
        _real(
            "cycles", "core cycles per call, the call included: mean of the fastest 5 % of batches"
        ),
        _real("empty_cycles", "the same for a call that does nothing, in the same rounds"),
        _real("paired_ratio", "median over rounds of this code's ticks / the baseline's ticks"),
        _real("ticks_per_cycle", "TSC ticks per core cycle, from the dependent-add chain"),
        _whole("batches", "batches timed"),
        _whole("calls", "calls in a batch"),
    ),
)

ESTIMATES = Table(
    name="estimates",
    row="cycles per call of one code in one cell, over processes",
    columns=(
        _WORK,
        _MACHINE,
        _OP,
        _FILL,
        _SIZE,
        _text("scenario", "the state that the code met"),
        _CODE,
        _real("cycles", "core cycles per call, the call included: median over processes"),
        _real("low", "lower end of its interval"),
        _real("high", "upper end of its interval"),
        _real("empty_cycles", "the same for a call that does nothing: median over processes"),
        _real("confidence", "coverage of the interval, such as 0.96"),
        _whole("processes", "how many processes stand behind it"),
        Column(
            name="settled",
            type=pa.list_(pa.int64()),
            note="these processes, by index: those that met the machine in its fast state",
        ),
        _real("control", "A/A: the twin's cycles / the baseline's, median over processes"),
        _texts("warnings", "why this figure deserves doubt; empty when it does not"),
    ),
)

MACHINE = Table(
    name="machine",
    row="a machine on which codes were measured",
    columns=(
        _WORK,
        _MACHINE,
        _text("cpu", "the CPU's brand string"),
        _text("vendor", "the CPU's vendor string"),
        _whole("family", "CPUID family"),
        _whole("model", "CPUID model"),
        _whole("stepping", "CPUID stepping"),
        _text("microcode", "microcode revision as the system tells it"),
        _texts(
            "features", "CPUID features that matter here: erms, fsrm, fzrm, fsrs, fsrc, avx2, ..."
        ),
        _text("isa", "the widest ISA that can be measured"),
        _real("tsc_ghz", "TSC frequency, GHz"),
        _real("core_ghz_low", "lowest core clock seen while measuring, GHz"),
        _real("core_ghz_high", "highest core clock seen while measuring, GHz"),
        _whole("tsc_step", "smallest step of the TSC seen, ticks"),
        _whole("processors", "processors online"),
        _text("kernel_release", "the operating system kernel's release"),
        _text("virtualisation", "hypervisor, or none", nullable=True),
        _text("libc", "libc and its version"),
        _text("tunables", "GLIBC_TUNABLES as set", nullable=True),
        _real("load", "one-minute load average when measuring began"),
        _real("steal", "share of CPU time stolen by the hypervisor while measuring"),
        _whole("involuntary_switches", "involuntary context switches while measuring"),
    ),
)

FAILURES = Table(
    name="failures",
    row="a work item that gave no result, and why",
    columns=(
        _WORK,
        _text("stage", "build, inspect, verify, predict or measure"),
        _text("subject", "what failed, by name"),
        _text("reason", "what it said, or what happened to it"),
    ),
)

TABLES = (
    KERNELS,
    VARIANTS,
    LOWERINGS,
    CODES,
    VERIFICATIONS,
    PREDICTIONS,
    SAMPLES,
    ESTIMATES,
    MACHINE,
    FAILURES,
)
