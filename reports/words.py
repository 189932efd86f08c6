"""Sizes, ratios and ops as sentences and axes name them."""

from memstrat.model import FILL_CONSTANT, Fill, Isa

ISA_NAMES = {
    Isa.GPR: "general registers only",
    Isa.SSE2: "SSE2",
    Isa.AVX2: "AVX2",
    Isa.AVX512: "AVX-512",
}


def size_text(size: int) -> str:
    """`768`, `8 KiB`, `1 MiB`: whole KiB and MiB where it is such, bytes otherwise."""
    if size >= 1 << 20 and size % (1 << 20) == 0:
        return f"{size >> 20} MiB"
    return f"{size // 1024} KiB" if size >= 1024 and size % 1024 == 0 else str(size)


def bytes_text(size: int) -> str:
    """The same with its unit: `768 bytes`, `8 KiB`."""
    text = size_text(size)
    return text if text.endswith("iB") else f"{text} bytes"


def operation_text(op: str, fill: str) -> str:
    """`memset 0`, `memset 0x5a`, `memset variable`, `memcpy`."""
    fills = {
        "": "",
        Fill.ZERO: " 0",
        Fill.CONSTANT: f" {FILL_CONSTANT:#x}",
        Fill.VARIABLE: " variable",
    }
    return op + fills[fill]


def cycles_text(cycles: float) -> str:
    """Tenths where cycles are few, whole ones where they are many."""
    return f"{cycles:.1f}" if cycles < 99.95 else f"{cycles:.0f}"


def joined(parts: list[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"
