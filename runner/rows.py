"""Values of the model as rows of the tables, and codes back from their rows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from memstrat.model import (
    STORE_WIDTHS,
    Code,
    Failure,
    Isa,
    Kernel,
    Lowering,
    Relocation,
    RelocationKind,
    Variant,
    digest_of,
)

Row = dict[str, Any]
"""One row of a table: column name to plain value."""


def kernel_row(kernel: Kernel) -> Row:
    """A row of `kernels`; its work is the kernel's name, for nothing else decides it."""
    return {
        "work": digest_of(kernel.name),
        "kernel": kernel.name,
        "op": kernel.op.value,
        "fill": None if kernel.fill is None else kernel.fill.value,
        "size": kernel.size,
        "alignment": kernel.alignment,
        "spelling": kernel.spelling.value,
    }


def variant_work(variant: Variant) -> str:
    """The name of a variant's row: the variant, and the names that the study gives it."""
    names = [variant.label, variant.toolchain.name, variant.strategy.name]
    return digest_of([variant.digest, *names])


def variant_row(variant: Variant, flags: Sequence[str]) -> Row:
    """A row of `variants`; `flags` is the whole list that the compiler is given."""
    return {
        "work": variant_work(variant),
        "variant": variant.digest,
        "label": variant.label,
        "toolchain": variant.toolchain.name,
        "vendor": variant.toolchain.vendor.value,
        "version": variant.toolchain.version,
        "toolchain_target": variant.toolchain.target,
        "toolchain_digest": variant.toolchain.digest,
        "optimisation": variant.optimisation.value,
        "isa": variant.target.isa.value,
        "march": variant.target.march,
        "mtune": variant.target.mtune,
        "strategy": variant.strategy.name,
        "asked": variant.strategy.asked,
        "flags": list(flags),
    }


def lowering_row(work: str, variant: Variant, lowering: Lowering) -> Row:
    """A row of `lowerings`."""
    stores = lowering.stores
    return {
        "work": work,
        "variant": variant.digest,
        "kernel": lowering.kernel.name,
        "form": lowering.form.value,
        "widest_store": lowering.widest_store,
        "code": lowering.code.digest,
        "code_bytes": len(lowering.code.text),
        "instructions": lowering.instructions,
        "executed": lowering.executed,
        **{
            f"stores_{width}": None if stores is None else stores.get(width, 0)
            for width in STORE_WIDTHS
        },
        "callee": lowering.callee,
        "selected": list(lowering.selected),
    }


def code_row(code: Code, assembly: str) -> Row:
    """A row of `codes`."""
    relocations = [
        {
            "offset": relocation.offset,
            "kind": relocation.kind.value,
            "addend": relocation.addend,
            "symbol": relocation.symbol,
            "data": relocation.data.hex(),
        }
        for relocation in code.relocations
    ]
    return {
        "work": code.digest,
        "code": code.digest,
        "isa": code.isa.value,
        "text": code.text,
        "relocations": json.dumps(relocations),
        "assembly": assembly,
    }


def code_from_row(row: Mapping[str, Any]) -> Code:
    """The code that `code_row` wrote down."""
    relocations = tuple(
        Relocation(
            offset=item["offset"],
            kind=RelocationKind(item["kind"]),
            addend=item["addend"],
            symbol=item["symbol"],
            data=bytes.fromhex(item["data"]),
        )
        for item in json.loads(row["relocations"])
    )
    return Code(text=row["text"], relocations=relocations, isa=Isa(row["isa"]))


def failure_row(failure: Failure) -> Row:
    """A row of `failures`."""
    return {
        "work": failure.work,
        "stage": failure.stage.value,
        "subject": failure.subject,
        "reason": failure.reason,
    }
