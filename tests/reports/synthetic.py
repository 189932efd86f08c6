"""Tables as a run would leave them, made from simple cycle models of a Zen 5.

The models follow what was measured by hand: `rep stosb` and `rep stosq` jump at 128 bytes,
`rep movsq` at 256, both meet 8-byte stores near 768, glibc's own `rep` path starts above 2 KiB.
Each process adds its own noise, so that everything after measuring can be tested without a clock.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from memstrat.model import digest_of

Row = dict[str, Any]

SIZES = [
    *range(8, 257, 8),
    *range(288, 1025, 32),
    *range(1152, 2049, 128),
    *range(2304, 4097, 256),
    *range(4608, 8193, 512),
]
EMPTY_CALL = 4.0
WIDTHS = {"gpr": 8, "sse2": 16, "avx2": 32, "avx512": 64}
MEMSET = ("memset", "zero")
MEMCPY = ("memcpy", None)


def model_cycles(op: str, form: str, width: int, size: int) -> float:
    """Cycles per call, empty call excluded, of a form whose bulk stores are `width` bytes wide."""
    if form == "libcall":
        slow = 26.0 if size > 2112 else 0.0
        return 7.0 + size / 40 + slow
    if form.startswith("rep"):
        return _rep_cycles(op, width, size)
    stores = -(-size // width)
    if form == "straight":
        return max(1.3, stores / 2) + (0.4 if size % width and size > width else 0.0)
    return 5.0 + stores / (1.2 if form == "loop" else 1.8)


def _rep_cycles(op: str, width: int, size: int) -> float:
    if op == "memset":
        if size < 128:
            return 5.0 if width == 1 else 10.7
        return (24.0 if width == 1 else 29.0) + (size - 128) * 0.030
    cliff = 128 if width == 1 else 256
    if size < cliff:
        return 7.0 if width == 1 else 6.0 + size / 38
    return 26.0 + (size - 128) * 0.030


@dataclass(frozen=True, kw_only=True)
class World:
    """What differs between two synthetic runs."""

    seed: int = 1
    processes: int = 7
    noise: float = 0.005
    sizes: list[int] = field(default_factory=lambda: list(SIZES))
    ops: tuple[tuple[str, str | None], ...] = (MEMSET, MEMCPY)
    isas: tuple[str, ...] = ("gpr", "sse2", "avx2", "avx512")
    control: float = 1.0
    hostile: str = ""


@dataclass(frozen=True, kw_only=True)
class Lowered:
    """One compiler's answer for one kernel."""

    form: str
    width: int


def gcc12(op: str, isa: str, size: int, strategy: str) -> Lowered:
    """gcc 12's generic tuning: by-pieces limits first, then the strategy's table."""
    width = {"gpr": 8}.get(isa, 16)
    limit = {"memset": 5, "memcpy": 16}[op] * width
    if strategy == "libcall":
        return (
            Lowered(form="straight", width=width)
            if size <= 16 * width
            else Lowered(form="libcall", width=0)
        )
    if size <= limit:
        return Lowered(form="straight", width=width)
    if strategy == "unrolled256":
        form = "unrolled_loop" if size <= 256 else "libcall"
        return Lowered(form=form, width=8 if size <= 256 else 0)
    return Lowered(form="rep_8byte", width=8) if size <= 8192 else Lowered(form="libcall", width=0)


def clang19(op: str, isa: str, size: int, _strategy: str) -> Lowered:
    """clang 19: straight code to a limit by register width, then a call."""
    width = WIDTHS[isa]
    limit = (8 if isa == "gpr" and op == "memcpy" else 16 if op == "memset" else 8) * width
    if size <= limit:
        return Lowered(form="straight", width=width)
    if isa == "gpr" and op == "memcpy" and size <= 128:
        return Lowered(form="rep_8byte", width=8)
    return Lowered(form="libcall", width=0)


REFERENCES = {
    "memset": {
        "rep_stosb": ("gpr", "rep_byte", 1),
        "rep_stosq": ("gpr", "rep_8byte", 8),
        "gpr_stores": ("gpr", "straight", 8),
        "sse_stores": ("sse2", "straight", 16),
        "avx2_stores": ("avx2", "straight", 32),
        "avx512_stores": ("avx512", "straight", 64),
        "libc_call": ("gpr", "libcall", 0),
    },
    "memcpy": {
        "rep_movsb": ("gpr", "rep_byte", 1),
        "rep_movsq": ("gpr", "rep_8byte", 8),
        "gpr_stores": ("gpr", "straight", 8),
        "sse_stores": ("sse2", "straight", 16),
        "avx2_stores": ("avx2", "straight", 32),
        "avx512_stores": ("avx512", "straight", 64),
        "libc_call": ("gpr", "libcall", 0),
    },
}
ASKED = {
    "default": "default",
    "libcall": "-mmemset-strategy=libcall:-1:noalign -mmemcpy-strategy=libcall:-1:noalign",
    "unrolled256": "-mmemset-strategy=unrolled_loop:256:noalign,libcall:-1:noalign "
    "-mmemcpy-strategy=unrolled_loop:256:noalign,libcall:-1:noalign",
}


def _variant(toolchain: str, vendor: str, version: str, isa: str, strategy: str) -> Row:
    reference = vendor == "reference"
    label = f"reference {isa} {strategy}" if reference else f"{toolchain} -O2 {isa} {strategy}"
    digest = digest_of(label)
    return {
        "work": digest,
        "variant": digest,
        "label": label,
        "toolchain": toolchain,
        "vendor": vendor,
        "version": version,
        "toolchain_target": "x86_64-linux-gnu",
        "toolchain_digest": digest_of(toolchain),
        "optimisation": "O2",
        "isa": isa,
        "march": None,
        "mtune": None,
        "strategy": strategy,
        "asked": ASKED.get(strategy, strategy),
        "flags": ["-O2"],
    }


def make_tables(world: World | None = None) -> dict[str, pd.DataFrame]:
    """All tables of a results folder, as pandas reads them."""
    world = world or World()
    variants, lowerings, kernels = _inventory(world)
    lowered = pd.DataFrame(lowerings)
    samples = _samples(world, lowered)
    estimates = _estimates(world, samples)
    return {
        "kernels": pd.DataFrame(kernels),
        "variants": pd.DataFrame(variants),
        "lowerings": lowered.drop(columns=["op", "fill", "size", "isa"]),
        "codes": _codes(lowered),
        "verifications": _verifications(lowered),
        "predictions": _predictions(lowered),
        "samples": samples,
        "estimates": estimates,
        "machine": _machine(),
        "failures": _failures(world),
    }


def _inventory(
    world: World,
) -> tuple[list[Row], list[Row], list[Row]]:
    compilers = [
        (_variant(name, vendor, version, isa, strategy), lower, strategy)
        for isa in world.isas
        for name, vendor, version, lower, strategies in (
            ("gcc", "gcc", "12.2.0", gcc12, ("default", "libcall", "unrolled256")),
            ("clang-19", "clang", "19.1.7", clang19, ("default",)),
        )
        for strategy in strategies
    ]
    variants = {v["variant"]: v for v, _, _ in compilers}
    kernels: list[Row] = []
    lowerings: list[Row] = []
    for op, fill in world.ops:
        for size in world.sizes:
            name = "_".join([op, *([fill] if fill else []), "a8", f"s{size}"])
            kernels.append(
                {
                    "work": digest_of(name),
                    "kernel": name,
                    "op": op,
                    "fill": fill,
                    "size": size,
                    "alignment": 8,
                    "spelling": "pointer",
                }
            )
            common: Row = {"kernel": name, "op": op, "fill": fill, "size": size}
            for strategy, (isa, form, width) in REFERENCES[op].items():
                if isa not in world.isas or (form == "straight" and size < width):
                    continue
                variant = _variant("reference", "reference", "1", isa, strategy)
                variants.setdefault(variant["variant"], variant)
                lowered = Lowered(form=form, width=width)
                lowerings.append(_lowering(variant, common, lowered, "reference"))
            for variant, lower, strategy in compilers:
                lowered = lower(op, str(variant["isa"]), size, strategy)
                width = (
                    min(lowered.width, 1 << (size.bit_length() - 1))
                    if lowered.form == "straight"
                    else lowered.width
                )
                narrowed = Lowered(form=lowered.form, width=width)
                lowerings.append(_lowering(variant, common, narrowed, str(variant["vendor"])))
    return list(variants.values()), lowerings, kernels


def _lowering(variant: Row, common: Row, lowered: Lowered, vendor: str) -> Row:
    size = int(str(common["size"]))
    stores = size // lowered.width if lowered.form == "straight" else 0
    return {
        "work": digest_of([variant["variant"], common["kernel"]]),
        "variant": variant["variant"],
        **common,
        "isa": variant["isa"],
        "form": lowered.form,
        "widest_store": lowered.width,
        "code": digest_of([vendor, lowered.form, lowered.width, common["kernel"]]),
        "code_bytes": 5 * stores + 6,
        "instructions": stores + 2,
        "executed": stores + 2 if lowered.form != "libcall" else None,
        **{f"stores_{w}": stores if w == lowered.width else 0 for w in (1, 2, 4, 8, 16, 32, 64)},
        "callee": common["op"] if lowered.form == "libcall" else None,
        "selected": [],
    }


def _samples(world: World, lowered: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(world.seed)
    codes = lowered.drop_duplicates(["op", "fill", "size", "code"])
    rows = []
    groups: Any = codes.groupby(["op", "fill", "size"], dropna=False, sort=False)
    for (op, fill, size), cell in groups:
        models = [
            model_cycles(op, form, max(width, 1), size)
            for form, width in zip(cell["form"], cell["widest_store"], strict=True)
        ]
        contents = [*zip(cell["code"], models, [False] * len(models), strict=True)]
        contents.append((contents[0][0], models[0], True))
        for process in range(world.processes):
            state = 1 + abs(rng.normal(0, world.noise))
            baseline = (models[0] + EMPTY_CALL) * state
            for code, cycles, twin in contents:
                factor = rng.normal(1, world.noise / (6 if twin else 1)) * (
                    world.control if twin else 1
                )
                called = (cycles + EMPTY_CALL) * state * factor
                rows.append(
                    {
                        "work": digest_of([op, size, process]),
                        "machine": "m1",
                        "op": op,
                        "fill": fill if isinstance(fill, str) else None,
                        "size": size,
                        "scenario": "hot",
                        "code": code,
                        "twin": twin,
                        "process": process,
                        "cycles": called,
                        "empty_cycles": EMPTY_CALL * state,
                        "paired_ratio": called / baseline * rng.normal(1, world.noise),
                        "ticks_per_cycle": 0.72,
                        "batches": 600,
                        "calls": 256,
                    }
                )
                if not twin and code == contents[0][0]:
                    baseline = called
                    rows[-1]["paired_ratio"] = 1.0
    return pd.DataFrame(rows)


def _estimates(world: World, samples: pd.DataFrame) -> pd.DataFrame:
    keys = ["machine", "op", "fill", "size", "scenario", "code"]
    grouped = samples[~samples["twin"]].groupby(keys, dropna=False, sort=False)["cycles"]
    frame = grouped.agg(["median", "min", "max"]).reset_index()
    frame.columns = pd.Index([*keys, "cycles", "low", "high"])
    frame["fill"] = frame["fill"].astype(object).where(frame["fill"].notna(), None)
    frame["empty_cycles"] = EMPTY_CALL
    frame["confidence"] = 0.984
    frame["processes"] = world.processes
    frame["settled"] = [list(range(world.processes))] * len(frame)
    frame["control"] = world.control
    frame["warnings"] = [[] for _ in range(len(frame))]
    frame["work"] = "w"
    return frame


def _codes(lowered: pd.DataFrame) -> pd.DataFrame:
    frame = lowered.drop_duplicates("code")[["code", "isa"]].copy()
    frame["work"] = "w"
    frame["text"] = b"\xc3"
    frame["relocations"] = "[]"
    frame["assembly"] = "ret"
    return frame


def _verifications(lowered: pd.DataFrame) -> pd.DataFrame:
    frame = lowered.drop_duplicates("code")[["code", "op", "fill", "size"]].copy()
    frame["work"] = "w"
    frame["alignment"] = 8
    frame["outcome"] = "passed"
    frame["detail"] = None
    return frame


def _predictions(lowered: pd.DataFrame) -> pd.DataFrame:
    frame = lowered.drop_duplicates("code")
    modelled = ~frame["form"].str.startswith("rep") & (frame["form"] != "libcall")
    cycles = [
        max(1.0, size / max(width, 1)) if ok else None
        for size, width, ok in zip(frame["size"], frame["widest_store"], modelled, strict=True)
    ]
    reasons = [None if ok else "not applicable: no model of rep or of a call" for ok in modelled]
    return pd.DataFrame(
        {
            "work": "w",
            "code": frame["code"].to_list(),
            "analyser": "llvm-mca 22.1.0",
            "cpu": "znver5",
            "cycles": pd.Series(cycles, dtype="float64").to_list(),
            "reason": reasons,
        }
    )


def _machine() -> pd.DataFrame:
    row = {
        "work": "w",
        "machine": "m1",
        "cpu": "AMD EPYC 9B45",
        "vendor": "AuthenticAMD",
        "family": 26,
        "model": 2,
        "stepping": 1,
        "microcode": "0xb002151",
        "features": ["erms", "fsrm", "avx2", "avx512f"],
        "isa": "avx512",
        "tsc_ghz": 2.6,
        "core_ghz_low": 3.5,
        "core_ghz_high": 3.7,
        "tsc_step": 26,
        "processors": 2,
        "kernel_release": "6.1.0-21-amd64",
        "virtualisation": "kvm",
        "libc": "glibc 2.36",
        "tunables": None,
        "load": 1.25,
        "steal": 0.002,
        "involuntary_switches": 41,
    }
    return pd.DataFrame([row])


def _failures(world: World) -> pd.DataFrame:
    reason = world.hostile or "internal compiler error: Segmentation fault"
    row = {
        "work": "w",
        "stage": "build",
        "subject": f"clang-22 -O2 sse2 limit1 {world.hostile}".strip(),
        "reason": reason,
    }
    return pd.DataFrame([row])
