import shutil
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from memstrat.errors import ToolchainError
from memstrat.generators.plan import TranslationUnit
from memstrat.generators.reference import reference_variants, supports
from memstrat.model import (
    DEFAULT_STRATEGY,
    Fill,
    Isa,
    Kernel,
    Op,
    Optimisation,
    Stage,
    StoreLimits,
    Strategy,
    Target,
    Toolchain,
    Variant,
    Vendor,
    digest_of,
)
from memstrat.runner.cache import Cache
from memstrat.runner.compile import units as build
from memstrat.runner.compile.expand_dump import parse_expand_dump
from memstrat.runner.compile.units import BuildResult, Limits, build_unit
from memstrat.runner.toolchains.discovery import candidates, resolve

KERNELS = tuple(Kernel(op=Op.MEMSET, fill=Fill.ZERO, size=size) for size in range(8, 168, 8))

EMIT = """\
grep -o 'memset_zero_a8_s[0-9]*)' "$1" | tr -d ')' | while read name; do
    printf '.section .text.memstrat.%s,"ax",@progbits\\n.globl %s\\n%s:\\nret\\n' $name $name $name
done
"""

pytestmark = pytest.mark.skipif(shutil.which("as") is None, reason="binutils is not installed")

Fake = Callable[..., Variant]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Makes a variant whose compiler is a script: `body` runs with the source in the file $1."""

    def make(
        body: str, vendor: Vendor = Vendor.GCC, strategy: Strategy = DEFAULT_STRATEGY
    ) -> Variant:
        path = tmp_path / f"compiler-{digest_of(body)}"
        head = f"#!/bin/sh\necho run >> {path}.runs\ncat > {path}.$$.c\nset -- {path}.$$.c"
        path.write_text(f'{head} "$@"\n{body}\n{EMIT}')
        path.chmod(0o755)
        toolchain = Toolchain(
            name="fake",
            command=(str(path),),
            vendor=vendor,
            version="12.2.0",
            target="x86_64-fake-linux",
            digest=digest_of(body),
        )
        target = Target(isa=Isa.SSE2)
        return Variant(
            toolchain=toolchain, optimisation=Optimisation.O2, target=target, strategy=strategy
        )

    return make


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(directory=tmp_path / "cache")


def runs(variant: Variant) -> int:
    return len(Path(f"{variant.toolchain.command[0]}.runs").read_text().splitlines())


def unit(variant: Variant, kernels: tuple[Kernel, ...] = KERNELS) -> TranslationUnit:
    return TranslationUnit(variant=variant, kernels=kernels)


def built_kernels(result: BuildResult) -> list[Kernel]:
    return [kernel for part in result.parts for kernel in part.kernels]


def symbols(result: BuildResult) -> set[str]:
    found: set[str] = set()
    for part in result.parts:
        elf = ELFFile(BytesIO(part.built.object))
        table = elf.get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        found |= {symbol.name for symbol in table.iter_symbols()}
    return found


def test_a_unit_becomes_one_object_with_all_its_kernels(fake: Fake, cache: Cache) -> None:
    result = build_unit(unit(fake("")), cache=cache, limits=Limits())
    assert not result.failures
    assert len(result.parts) == 1
    assert built_kernels(result) == list(KERNELS)
    assert symbols(result) >= {kernel.name for kernel in KERNELS}


def test_what_was_built_is_not_built_again(fake: Fake, cache: Cache) -> None:
    variant = fake("")
    first = build_unit(unit(variant), cache=cache, limits=Limits())
    second = build_unit(unit(variant), cache=cache, limits=Limits(compile_s=99))
    assert first == second
    assert runs(variant) == 1


def test_another_source_is_built_anew(fake: Fake, cache: Cache) -> None:
    variant = fake("")
    build_unit(unit(variant), cache=cache, limits=Limits())
    build_unit(unit(variant, KERNELS[1:]), cache=cache, limits=Limits())
    assert runs(variant) == 2


def test_another_compiler_under_the_same_name_is_asked_anew(fake: Fake, cache: Cache) -> None:
    for body in ("# one", "# two"):
        variant = fake(body)
        build_unit(unit(variant), cache=cache, limits=Limits())
        assert runs(variant) == 1


def test_a_compiler_that_refuses_its_flags_is_told_once_with_its_message(
    fake: Fake, cache: Cache
) -> None:
    variant = fake("echo 'cc1: error: bad value' >&2; exit 1")
    result = build_unit(unit(variant), cache=cache, limits=Limits())
    assert not result.parts
    (failure,) = result.failures
    assert failure.stage is Stage.BUILD
    assert failure.subject == variant.label
    assert failure.reason == "compiler: exit code 1\ncc1: error: bad value"
    assert runs(variant) == 2, "once for the unit, once for nothing at all"


def test_a_failure_is_not_kept(fake: Fake, cache: Cache, tmp_path: Path) -> None:
    variant = fake(f"[ -e {tmp_path}/ready ] || exit 9")
    assert build_unit(unit(variant), cache=cache, limits=Limits()).failures
    (tmp_path / "ready").touch()
    assert not build_unit(unit(variant), cache=cache, limits=Limits()).failures


def test_a_crash_on_two_kernels_costs_those_two(fake: Fake, cache: Cache) -> None:
    variant = fake("grep -qE 's(40|136)\\)' $1 && kill -SEGV $$")
    result = build_unit(unit(variant), cache=cache, limits=Limits())
    lost = ["memset_zero_a8_s40", "memset_zero_a8_s136"]
    assert [failure.subject for failure in result.failures] == [
        f"{variant.label} {name}" for name in lost
    ]
    assert all("SIGSEGV" in failure.reason for failure in result.failures)
    assert len({failure.work for failure in result.failures}) == 2
    assert [k.name for k in built_kernels(result)] == [
        k.name for k in KERNELS if k.name not in lost
    ]
    assert len(result.parts) == 1
    assert symbols(result).isdisjoint(lost)


def test_a_hang_with_a_hanging_child_is_ended_and_isolated(fake: Fake, cache: Cache) -> None:
    variant = fake("grep -q 's40)' $1 && { sleep 1000 & wait; }")
    begun = time.monotonic()
    limits = Limits(compile_s=1, isolate_s=6)
    result = build_unit(unit(variant, KERNELS[3:7]), cache=cache, limits=limits)
    assert time.monotonic() - begun < 60
    (failure,) = result.failures
    assert failure.subject.endswith("memset_zero_a8_s40")
    assert "still running" in failure.reason
    assert [kernel.size for kernel in built_kernels(result)] == [32, 48, 56]


def test_a_compiler_that_always_hangs_costs_its_unit_two_limits(fake: Fake, cache: Cache) -> None:
    result = build_unit(unit(fake("sleep 1000")), cache=cache, limits=Limits(compile_s=0.5))
    assert not result.parts
    (failure,) = result.failures
    assert "still running after 0.5 s" in failure.reason


def test_a_compiler_that_floods_its_output_is_stopped(
    fake: Fake, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = build_unit(unit(fake("yes")), cache=cache, limits=Limits())
    (failure,) = result.failures
    assert "printed more than is accepted" in failure.reason


def test_a_compiler_that_eats_memory_is_stopped(fake: Fake, cache: Cache) -> None:
    python = shutil.which("python3")
    if python is None:
        pytest.skip("no python3 on PATH to be the memory hog")
    variant = fake(f"{python} -S -c 'x = bytearray(3 << 30)' || exit 1")
    result = build_unit(unit(variant), cache=cache, limits=Limits(memory_bytes=1 << 30))
    (failure,) = result.failures
    assert "ran out of its 1024 MiB" in failure.reason


def test_assembly_that_is_none_is_told_with_the_assemblers_message(
    fake: Fake, cache: Cache
) -> None:
    result = build_unit(unit(fake("echo frobnicate")), cache=cache, limits=Limits())
    (failure,) = result.failures
    assert failure.reason.startswith("assembler: exit code 1")
    assert "frobnicate" in failure.reason


def test_a_compiler_that_is_gone_is_told(fake: Fake, cache: Cache) -> None:
    variant = fake("")
    Path(variant.toolchain.command[0]).unlink()
    (failure,) = build_unit(unit(variant), cache=cache, limits=Limits()).failures
    assert "no program" in failure.reason


def test_messages_are_cut_to_a_few_lines(fake: Fake, cache: Cache) -> None:
    result = build_unit(unit(fake("seq 1 100000 >&2; exit 1")), cache=cache, limits=Limits())
    (failure,) = result.failures
    assert len(failure.reason) < 2000
    assert len(failure.reason.splitlines()) < 10


def test_gccs_dump_is_cut_down_and_kept_with_the_object(fake: Fake, cache: Cache) -> None:
    name = KERNELS[0].name
    body = (
        f"echo ';; Function {name} ({name}, funcdef_no=0)' >&2; echo '    1: NOTE' >&2\n"
        "echo 'Selected stringop expansion strategy: loop' >&2"
    )
    result = build_unit(unit(fake(body)), cache=cache, limits=Limits())
    assert parse_expand_dump(result.parts[0].built.dump) == {name: ("loop",)}
    assert "NOTE" not in result.parts[0].built.dump


def test_without_an_assembler_nothing_can_be_built(
    fake: Fake, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.assembler.cache_clear()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolchainError, match="binutils"):
        build_unit(unit(fake("")), cache=cache, limits=Limits())


LIMITED = Strategy(name="few", limits=StoreLimits(memset=2))


def test_store_limits_that_change_nothing_are_a_visible_failure(fake: Fake, cache: Cache) -> None:
    variant = fake("", Vendor.CLANG, LIMITED)
    for _ in range(2):
        result = build_unit(unit(variant), cache=cache, limits=Limits())
        assert not result.parts
        (failure,) = result.failures
        assert "accepted and ignored by clang 12.2.0" in failure.reason
        assert runs(variant) == 2, "the second answer comes from the cache"


def test_store_limits_that_change_the_code_are_believed(fake: Fake, cache: Cache) -> None:
    variant = fake('echo "# $*"', Vendor.CLANG, LIMITED)
    assert not build_unit(unit(variant), cache=cache, limits=Limits()).failures


def test_a_clang_that_does_not_know_store_limits_is_told(fake: Fake, cache: Cache) -> None:
    variant = fake("echo 'Unknown command line argument' >&2; exit 1", Vendor.CLANG, LIMITED)
    (failure,) = build_unit(unit(variant), cache=cache, limits=Limits()).failures
    assert "does not take -mllvm -max-store-memset" in failure.reason
    assert "Unknown command line argument" in failure.reason


def test_units_are_built_in_other_processes(fake: Fake, cache: Cache) -> None:
    good, bad = fake("# good"), fake("exit 1")
    with ProcessPoolExecutor(2) as executor:
        started = [
            executor.submit(build_unit, unit(variant), cache=cache, limits=Limits())
            for variant in (good, bad)
        ]
        built, failed = (future.result() for future in started)
    assert len(built_kernels(built)) == len(KERNELS)
    assert len(failed.failures) == 1


def test_reference_forms_are_assembled_and_not_compiled(cache: Cache) -> None:
    for variant in reference_variants([Isa.AVX512]):
        kernels = tuple(each for each in KERNELS if supports(variant.strategy.name, each))
        result = build_unit(unit(variant, kernels), cache=cache, limits=Limits())
        assert not result.failures, result.failures
        assert built_kernels(result) == list(kernels)


@pytest.mark.compilers
@pytest.mark.parametrize("name", sorted(candidates()) or ["none"])
def test_every_installed_compiler_builds_every_kind_of_kernel(name: str, cache: Cache) -> None:
    if name == "none":
        pytest.skip("no gcc or clang is installed")
    toolchain = resolve([name])[name]
    fills: list[tuple[Op, Fill | None]] = [(Op.MEMSET, fill) for fill in Fill]
    fills += [(Op.MEMCPY, None), (Op.MEMMOVE, None)]
    kernels = tuple(
        Kernel(op=op, fill=fill, size=size) for op, fill in fills for size in (1, 17, 168, 5000)
    )
    for isa in Isa:
        variant = Variant(toolchain=toolchain, optimisation=Optimisation.O2, target=Target(isa=isa))
        result = build_unit(unit(variant, kernels), cache=cache, limits=Limits())
        assert not result.failures, result.failures
        assert symbols(result) >= {kernel.name for kernel in kernels}


@pytest.mark.compilers
def test_a_store_limit_of_one_costs_clang_22_its_crashing_kernels_only(cache: Cache) -> None:
    """facts: limit 1, alignment 8, constant fill, size % 8 in 3, 5, 6, 7, size <= 128 crash."""
    if "clang-22" not in candidates():
        pytest.skip("clang-22 is not installed")
    toolchain = resolve(["clang-22"])["clang-22"]
    strategy = Strategy(name="one", limits=StoreLimits(memset=1))
    variant = Variant(
        toolchain=toolchain,
        optimisation=Optimisation.O2,
        target=Target(isa=Isa.SSE2),
        strategy=strategy,
    )
    kernels = tuple(Kernel(op=Op.MEMSET, fill=Fill.CONSTANT, size=size) for size in range(64, 72))
    result = build_unit(unit(variant, kernels), cache=cache, limits=Limits())
    lost = {failure.subject.rsplit("_s", 1)[1] for failure in result.failures}
    assert lost == {"67", "69", "70", "71"}
    assert {kernel.size for kernel in built_kernels(result)} == {64, 65, 66, 68}


@pytest.mark.compilers
@pytest.mark.parametrize(
    ("name", "obeys"), [("clang-14", False), ("clang-19", False), ("clang-22", True)]
)
def test_which_clang_obeys_store_limits(name: str, obeys: bool, cache: Cache) -> None:
    if name not in candidates():
        pytest.skip(f"{name} is not installed")
    variant = Variant(
        toolchain=resolve([name])[name],
        optimisation=Optimisation.O2,
        target=Target(isa=Isa.SSE2),
        strategy=Strategy(name="all", limits=StoreLimits(memset=9, memcpy=9, memmove=9)),
    )
    assert bool(build_unit(unit(variant), cache=cache, limits=Limits()).parts) is obeys
