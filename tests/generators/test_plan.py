"""The matrix of a study: which variants get which kernels, what is left out, and in what order."""

from pathlib import Path

import pytest

from memstrat.generators.plan import MAX_UNIT_KERNELS, Plan, covers, plan_study
from memstrat.generators.reference import REFERENCE_FORMS
from memstrat.generators.strategy import parse_stringop_strategy
from memstrat.generators.study import load_study, parse_study
from memstrat.model import Fill, Isa, Op, Spelling, StoreLimits, Strategy, Toolchain, Vendor

STUDIES = Path(__file__).parents[2] / "studies"


def toolchain(name: str, vendor: Vendor, version: str, digest: str = "") -> Toolchain:
    return Toolchain(
        name=name,
        command=(name,),
        vendor=vendor,
        version=version,
        target="x86_64-linux-gnu",
        digest=digest or name,
    )


GCC = toolchain("gcc", Vendor.GCC, "12.2.0")
GCC_11 = toolchain("gcc-11", Vendor.GCC, "11.3.0")
CLANG = toolchain("clang-22", Vendor.CLANG, "22.1.8")
TOOLCHAINS = {"gcc": GCC, "gcc-11": GCC_11, "clang-newest": CLANG}


def plan(text: str, toolchains: dict[str, Toolchain] | None = None) -> Plan:
    head = 'name = "x"\n' + ("sizes = [8, 16]\n" if "sizes" not in text else "")
    head += 'ops = ["memset"]\n' if "ops" not in text else ""
    head += 'toolchains = ["gcc"]\n' if "toolchains" not in text else ""
    head += "reference = false\n" if "reference" not in text else ""
    return plan_study(parse_study(head + text, "x.toml"), toolchains or TOOLCHAINS)


def labels(planned: Plan) -> list[str]:
    return [unit.variant.label for unit in planned.units]


def test_every_variant_gets_every_kernel_in_the_order_of_the_study() -> None:
    planned = plan(
        'ops = ["memcpy", "memset"]\ntargets = ["sse2", "gpr"]\noptimisations = ["O2", "Os"]'
    )
    assert labels(planned) == [
        "gcc -O2 sse2 default",
        "gcc -O2 gpr default",
        "gcc -Os sse2 default",
        "gcc -Os gpr default",
    ]
    names = ["memcpy_a8_s8", "memcpy_a8_s16", "memset_zero_a8_s8", "memset_zero_a8_s16"]
    assert {tuple(k.name for k in unit.kernels) for unit in planned.units} == {tuple(names)}
    assert [kernel.name for kernel in planned.kernels] == names
    assert planned.notes == ()


def test_kernels_that_do_the_same_share_a_cell() -> None:
    planned = plan('ops = ["memcpy"]\nalignments = [1, 8]\nspellings = ["pointer", "struct"]')
    assert len(planned.kernels) == 8
    assert [cell.name for cell in planned.cells] == ["memcpy_s8_hot", "memcpy_s16_hot"]


def test_fills_belong_to_memset_only() -> None:
    planned = plan('ops = ["memset", "memmove"]\nfills = ["zero", "variable"]\nsizes = [8]')
    assert {(kernel.op, kernel.fill) for kernel in planned.kernels} == {
        (Op.MEMSET, Fill.ZERO),
        (Op.MEMSET, Fill.VARIABLE),
        (Op.MEMMOVE, None),
    }


def test_kernels_without_a_struct_spelling_are_left_out_with_a_note() -> None:
    planned = plan('ops = ["memset"]\nspellings = ["struct"]\nsizes = [8, 12]\nfills = ["zero"]')
    assert [kernel.name for kernel in planned.kernels] == ["memset_zero_struct_a8_s8"]
    assert planned.notes == ("memset_zero_struct_a8: 1 of 2 sizes have no struct spelling",)


STRATEGIES = """
toolchains = ["gcc", "clang-newest"]
[[strategies]]
name = "default"
[[strategies]]
name = "for-gcc"
memset = "libcall:-1:noalign"
[[strategies]]
name = "for-clang"
limits = { memset = 64 }
"""


def test_a_strategy_goes_to_the_compilers_that_understand_it() -> None:
    assert labels(plan(STRATEGIES)) == [
        "gcc -O2 sse2 default",
        "gcc -O2 sse2 for-gcc",
        "clang-22 -O2 sse2 default",
        "clang-22 -O2 sse2 for-clang",
    ]


def test_a_strategy_is_compiled_only_for_the_ops_that_it_governs() -> None:
    planned = plan('ops = ["memset", "memcpy"]' + STRATEGIES)
    ops = {unit.variant.strategy.name: {k.op for k in unit.kernels} for unit in planned.units}
    assert ops["default"] == {Op.MEMSET, Op.MEMCPY}
    assert ops["for-gcc"] == ops["for-clang"] == {Op.MEMSET}


@pytest.mark.parametrize(
    ("strategy", "ops"),
    [
        (Strategy(name="default"), set(Op)),
        (Strategy(name="f", flags=("-mno-sse",)), set(Op)),
        (Strategy(name="s", memcpy=parse_stringop_strategy("loop:-1:align")), {Op.MEMCPY}),
        (Strategy(name="l", limits=StoreLimits(memmove=9)), {Op.MEMMOVE}),
    ],
)
def test_what_a_strategy_governs(strategy: Strategy, ops: set[Op]) -> None:
    assert {op for op in Op if covers(strategy, op)} == ops


def test_a_vector_loop_is_left_out_where_there_are_no_vectors() -> None:
    planned = plan(
        'targets = ["gpr", "sse2"]\n[[strategies]]\nname = "v"\nmemset = "vector_loop:-1:noalign"'
    )
    assert labels(planned) == ["gcc -O2 sse2 v"]
    assert "strategy v is left out for gpr" in planned.notes[0]


def test_a_level_that_a_compiler_lacks_is_left_out_with_a_note() -> None:
    planned = plan('toolchains = ["gcc", "gcc-11", "clang-newest"]\noptimisations = ["Oz"]')
    assert labels(planned) == ["gcc -Oz sse2 default", "clang-22 -Oz sse2 default"]
    assert planned.notes == ("gcc-11 11.3.0 has no -Oz",)


def test_two_names_of_one_compiler_are_planned_once() -> None:
    twin = toolchain("gcc-12", Vendor.GCC, "12.2.0", digest="gcc")
    planned = plan('toolchains = ["gcc", "gcc-12"]', {"gcc": GCC, "gcc-12": twin})
    assert labels(planned) == ["gcc -O2 sse2 default"]
    assert planned.notes == ("gcc-12 is the same compiler as gcc",)


def test_two_strategies_that_ask_the_same_are_planned_once() -> None:
    asked = 'memset = "libcall:-1:noalign"'
    planned = plan(
        f'[[strategies]]\nname = "one"\n{asked}\n[[strategies]]\nname = "other"\n{asked}'
    )
    assert labels(planned) == ["gcc -O2 sse2 one"]
    assert planned.notes == ("strategy other asks the same as one",)


def test_a_compiler_that_was_not_found_costs_its_own_variants_only() -> None:
    planned = plan('toolchains = ["gcc", "gcc-99"]', {"gcc": GCC})
    assert labels(planned) == ["gcc -O2 sse2 default"]


def test_many_kernels_are_split_into_units_of_bounded_size() -> None:
    planned = plan('sizes = ["1:1100:1"]')
    assert [len(unit.kernels) for unit in planned.units] == [512, 512, 1100 - 2 * MAX_UNIT_KERNELS]
    assert len({kernel for unit in planned.units for kernel in unit.kernels}) == 1100
    assert len(planned.variants) == 1


def test_reference_forms_come_with_the_isas_of_the_study() -> None:
    planned = plan('reference = true\ntargets = ["sse2"]')
    forms = {
        u.variant.strategy.name for u in planned.units if u.variant.toolchain.name == "reference"
    }
    assert {"rep_stosq", "gpr_stores", "sse_stores"} <= forms
    assert not {"avx2_stores", "rep_movsq"} & forms


def test_reference_forms_can_be_named() -> None:
    planned = plan('reference = ["rep_stosq", "avx512_stores"]')
    assert labels(planned)[1:] == ["reference gpr rep_stosq"]


def test_structs_are_compared_with_the_reference_forms_of_their_pointer_twins() -> None:
    planned = plan('reference = ["rep_stosq"]\nspellings = ["pointer", "struct"]')
    reference = planned.units[-1]
    assert {kernel.spelling for kernel in reference.kernels} == {Spelling.POINTER}
    assert [kernel.size for kernel in reference.kernels] == [8, 16]


def test_the_plan_of_a_study_is_always_the_same() -> None:
    study = load_study(STUDIES / "rep-vs-unrolled.toml")
    assert plan_study(study, TOOLCHAINS) == plan_study(study, TOOLCHAINS)


def test_the_default_study_covers_every_isa_and_every_reference_form() -> None:
    planned = plan_study(load_study(STUDIES / "rep-vs-unrolled.toml"), TOOLCHAINS)
    compiled = [u for u in planned.units if u.variant.toolchain.vendor is not Vendor.REFERENCE]
    assert {unit.variant.target.isa for unit in compiled} == set(Isa)
    forms = {unit.variant.strategy.name for unit in planned.units} & set(REFERENCE_FORMS)
    assert forms == set(REFERENCE_FORMS)
    assert len(planned.cells) == 160
    assert len({variant.label for variant in planned.variants}) == len(planned.variants)
