"""A whole run, with compilers and CPUs that misbehave, and with studies that change meanwhile."""

import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

from memstrat.errors import NothingDoneError, ResultsError, UsageError
from memstrat.generators.study import parse_study
from memstrat.model import Stage
from memstrat.reports.frames import Results
from memstrat.reports.load import load_results
from memstrat.runner import pipeline
from memstrat.runner.compile.units import Limits
from memstrat.runner.native.harness import build_harness
from memstrat.runner.pipeline import Request, run_pipeline
from memstrat.runner.store import Store
from memstrat.runner.tables import SAMPLES, VERIFICATIONS

pytestmark = [pytest.mark.compilers, pytest.mark.native]

STUDY = """
name = "tiny"
ops = ["memset"]
sizes = [40, 168]
toolchains = ["mine"]
targets = ["gpr"]
reference = ["rep_stosq"]
[[strategies]]
name = "default"
[[strategies]]
name = "call"
memset = "libcall:-1:noalign"
[measure]
processes = 5
"""
COMMANDS = {"mine": ("gcc",)}
LIMITS = Limits(compile_s=10, isolate_s=10)


class Listening:
    """Keeps what a run says."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def begin(self, stage: Stage, total: int, stored: int) -> None:
        self.said.append(f"{stage}: {stored} of {total} stored")

    def advance(self, stage: Stage, items: int) -> None:
        pass

    def end(self, stage: Stage, summary: str) -> None:
        self.said.append(f"{stage}: {summary}")

    def warn(self, message: str) -> None:
        self.said.append(message)


class CarryOut(Protocol):
    """(study, commands, limits, whether to measure) -> what the run said; see `carry_out`."""

    def __call__(
        self,
        study: str = STUDY,
        *,
        commands: Mapping[str, tuple[str, ...]] = COMMANDS,
        limits: Limits = LIMITS,
        measure: bool = True,
    ) -> list[str]: ...


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def carry_out(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> CarryOut:
    """Runs a study into the test's folder; compilers answer from a cache of this file's tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))

    def run(
        study: str = STUDY,
        *,
        commands: Mapping[str, tuple[str, ...]] = COMMANDS,
        limits: Limits = LIMITS,
        measure: bool = True,
    ) -> list[str]:
        listening = Listening()
        request = Request(
            study=parse_study(study, "study.toml"),
            directory=folder,
            commands=commands,
            limits=limits,
            measure=measure,
        )
        with ThreadPoolExecutor(max_workers=2) as threads:
            run_pipeline(request, listening, threads)
        return listening.said

    return run


@pytest.fixture
def wrapper(tmp_path: Path) -> tuple[Path, dict[str, tuple[str, ...]]]:
    """The file of a compiler that a test writes, and the commands of a study that has it, too."""
    path = tmp_path / "wrapper"
    return path, {"mine": ("gcc",), "wrapped": (str(path),)}


WITH_WRAPPER = STUDY.replace('["mine"]', '["mine", "wrapped"]')


def write_compiler(path: Path, compiles: str) -> None:
    """A compiler that is gcc, but where it compiles: then it is `compiles`, a shell's text."""
    path.write_text(f'#!/bin/sh\ncase "$*" in\n*" -S "*) {compiles};;\n*) exec gcc "$@";;\nesac\n')
    path.chmod(0o755)


def labels(results: Results) -> set[str]:
    return set(results.emitted["label"])


def reasons(results: Results) -> dict[str, str]:
    failures = results.table("failures")
    return dict(zip(failures["subject"], failures["reason"], strict=True))


def parts(folder: Path, table: str) -> set[str]:
    return {path.name for path in (folder / "tables" / table).glob("*")}


# --- a study that changes ---


def test_new_names_are_shown_and_nothing_is_done_again(carry_out: CarryOut, folder: Path) -> None:
    carry_out()
    before = {table: parts(folder, table) for table in ("lowerings", "samples", "estimates")}
    renamed = STUDY.replace('"mine"', '"yours"').replace('"call"', '"as-linus-asked"')
    carry_out(renamed, commands={"yours": ("gcc",)})
    assert labels(load_results(folder)) == {
        "yours -O2 gpr default",
        "yours -O2 gpr as-linus-asked",
        "reference gpr rep_stosq",
    }
    assert {table: parts(folder, table) for table in before} == before
    carry_out()
    assert "mine -O2 gpr call" in labels(load_results(folder))


def test_a_name_that_moves_to_another_strategy_takes_no_rows_along(
    carry_out: CarryOut, folder: Path
) -> None:
    carry_out()
    carry_out(STUDY.replace("libcall:-1:noalign", "rep_8byte:-1:noalign"))
    emitted = load_results(folder).emitted
    assert set(emitted[emitted["strategy"] == "call"]["asked"]) == {
        "-mmemset-strategy=rep_8byte:-1:noalign"
    }


def test_the_report_is_of_the_sizes_that_are_asked_now(carry_out: CarryOut, folder: Path) -> None:
    carry_out()
    measured = parts(folder, "samples")
    carry_out(STUDY.replace("[40, 168]", "[40]"))
    results = load_results(folder)
    assert set(results.emitted["size"]) == set(results.estimates["size"]) == {40}
    assert parts(folder, "samples") == measured
    carry_out(STUDY.replace("[40, 168]", "[40, 168, 512]"))
    samples = Store.open(folder).read(SAMPLES).to_pylist()
    assert len({row["work"] for row in samples}) == len({row["size"] for row in samples}) == 3
    assert set(load_results(folder).estimates["size"]) == {40, 168, 512}


def test_an_upgrade_under_the_same_name_redoes_that_compiler_alone(
    carry_out: CarryOut, folder: Path, wrapper: tuple[Path, dict[str, tuple[str, ...]]]
) -> None:
    path, commands = wrapper
    write_compiler(path, 'exec gcc "$@"')
    carry_out(WITH_WRAPPER, commands=commands)
    before, old = parts(folder, "lowerings"), load_results(folder).table("variants")
    write_compiler(path, 'exec gcc "$@" -fno-schedule-insns2')
    carry_out(WITH_WRAPPER, commands=commands)
    new = load_results(folder).table("variants")
    assert len(parts(folder, "lowerings") - before) == 2
    assert len(new) == len(old)
    changed = new.merge(old, on="label", suffixes=("", "_old")).query("variant != variant_old")
    assert set(changed["toolchain"]) == {"wrapped"}


# --- compilers that misbehave ---


def test_wrong_code_is_named_and_not_measured(
    carry_out: CarryOut, folder: Path, wrapper: tuple[Path, dict[str, tuple[str, ...]]]
) -> None:
    path, commands = wrapper
    write_compiler(path, 'gcc "$@" | sed "s/movl\\([[:space:]]*\\).21, %ecx/movl\\1\\$20, %ecx/"')
    carry_out(WITH_WRAPPER, commands=commands)
    results = load_results(folder)
    told = reasons(results)
    assert told["wrapped -O2 gpr default memset_zero_a8_s168"].startswith("wrong: byte 160 of 168")
    verified = Store.open(folder).read(VERIFICATIONS).to_pylist()
    wrong = {row["code"] for row in verified if row["outcome"] == "wrong"}
    measured = {row["code"] for row in Store.open(folder).read(SAMPLES).to_pylist()}
    assert wrong
    assert measured
    assert not wrong & measured


@pytest.mark.parametrize(
    ("compiles", "subject", "reason"),
    [
        (
            "cat >/dev/null; printf 'no \\033[31massembly\\033[0m\\007\\n'",
            "wrapped -O2 gpr default",
            "no assembly",
        ),
        (
            't=$(cat); case "$t" in *_s168*) kill -SEGV $$;; esac; echo "$t" | gcc "$@"',
            "wrapped -O2 gpr default memset_zero_a8_s168",
            "SIGSEGV",
        ),
        (
            'gcc "$@" | sed "s/rep stosq/jmp exec_me/"',
            "wrapped -O2 gpr default memset_zero_a8_s168",
            "exec_me",
        ),
    ],
    ids=["garbage", "crash", "foreign-call"],
)
def test_a_compiler_that_fails_costs_its_own_rows_and_says_why(
    carry_out: CarryOut,
    folder: Path,
    wrapper: tuple[Path, dict[str, tuple[str, ...]]],
    compiles: str,
    subject: str,
    reason: str,
) -> None:
    path, commands = wrapper
    write_compiler(path, compiles)
    carry_out(WITH_WRAPPER, commands=commands, measure=False)
    results = load_results(folder)
    assert reason in reasons(results)[subject]
    assert "\x1b" not in reasons(results)[subject]
    assert "\x07" not in reasons(results)[subject]
    of_gcc = results.emitted[results.emitted["toolchain"] == "mine"]
    assert len(of_gcc) == 2 * 2


def test_a_compiler_that_hangs_costs_its_limit_and_its_own_rows(
    carry_out: CarryOut, folder: Path, wrapper: tuple[Path, dict[str, tuple[str, ...]]]
) -> None:
    path, commands = wrapper
    write_compiler(path, 'case "$*" in *memset-strategy*) exec sleep 600;; esac; gcc "$@"')
    limits = Limits(compile_s=1.5, isolate_s=1)
    carry_out(WITH_WRAPPER, commands=commands, limits=limits, measure=False)
    results = load_results(folder)
    assert "still running after 1.5 s" in reasons(results)["wrapped -O2 gpr call"]
    assert "mine -O2 gpr call" in labels(results)


def test_failures_are_told_under_the_names_of_today(
    carry_out: CarryOut, folder: Path, wrapper: tuple[Path, dict[str, tuple[str, ...]]]
) -> None:
    path, commands = wrapper
    write_compiler(path, 'gcc "$@" | sed "s/rep stosq/jmp exec_me/"')
    carry_out(WITH_WRAPPER, commands=commands, measure=False)
    renamed = WITH_WRAPPER.replace('"wrapped"', '"patched"')
    carry_out(renamed, commands={"mine": ("gcc",), "patched": (str(path),)}, measure=False)
    assert "patched -O2 gpr default memset_zero_a8_s168" in reasons(load_results(folder))


# --- a machine that lacks something ---


OLD_CPU = """
enum isa { gpr, sse2 };
struct features;
enum isa __wrap_features_isa(const struct features *features) { (void)features; return sse2; }
"""
WITH_AVX512 = STUDY.replace('["gpr"]', '["gpr", "avx512"]')


@pytest.fixture
def without_avx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness takes this CPU for one that has SSE2 and nothing newer."""
    source = tmp_path / "old_cpu.c"
    source.write_text(OLD_CPU)
    flags = ["-Wl,--wrap=features_isa", str(source)]
    monkeypatch.setattr(pipeline, "build_harness", partial(build_harness, extra_flags=flags))


@pytest.mark.usefixtures("without_avx")
def test_what_this_cpu_cannot_run_is_built_inspected_and_told(
    carry_out: CarryOut, folder: Path
) -> None:
    said = carry_out(WITH_AVX512.replace("[40, 168]", "[64]"))
    assert any("cannot run on this CPU" in line for line in said)
    results = load_results(folder)
    assert "AVX-512 stores" in set(results.emitted["contender"])
    skipped = results.table("verifications").query("outcome == 'skipped'")
    assert set(skipped["detail"]) == {"this CPU has no avx512"}
    assert not set(skipped["code"]) & set(results.estimates["code"])
    assert len(results.estimates) > 0


@pytest.mark.usefixtures("without_avx")
def test_a_run_that_can_measure_nothing_fails_and_keeps_what_was_emitted(
    carry_out: CarryOut, folder: Path
) -> None:
    only = WITH_AVX512.replace('["gpr", "avx512"]', '["avx512"]').replace("[40, 168]", "[64]")
    only = only.replace('["rep_stosq"]', '["avx512_stores"]').replace("libcall", "vector_loop")
    with pytest.raises(NothingDoneError, match="memstrat report"):
        carry_out(only)
    results = load_results(folder)
    assert "AVX-512 stores" in set(results.emitted["contender"])
    assert results.estimates.empty


def test_a_cache_that_cannot_be_written_is_done_without(
    carry_out: CarryOut, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", f"{os.devnull}/nowhere")
    carry_out()
    assert not load_results(folder).estimates.empty


def test_a_cpu_that_does_not_exist_is_refused_before_anything_is_built(
    carry_out: CarryOut, folder: Path
) -> None:
    with pytest.raises(UsageError, match="CPU 60000"):
        carry_out(f"{STUDY}cpu = 60000")
    assert not folder.exists()


# --- runs that are cut short ---


def test_time_that_ran_out_is_told_until_the_rest_is_measured(
    carry_out: CarryOut, folder: Path
) -> None:
    carry_out(f"{STUDY}max_seconds = 0.001")
    told = reasons(load_results(folder))
    assert any("max_seconds" in reason for reason in told.values())
    carry_out()
    results = load_results(folder)
    assert reasons(results) == {}
    assert set(results.estimates["size"]) == {40, 168}


def test_a_run_killed_before_it_wrote_down_its_machine_is_completed(
    carry_out: CarryOut, folder: Path
) -> None:
    carry_out()
    shutil.rmtree(folder / "tables" / "machine")
    shutil.rmtree(folder / "tables" / "estimates")
    samples = parts(folder, "samples")
    carry_out()
    assert parts(folder, "samples") == samples
    assert not load_results(folder).samples.empty


def test_a_folder_can_be_read_where_it_is_copied_to(
    carry_out: CarryOut, folder: Path, tmp_path: Path
) -> None:
    carry_out()
    shutil.copytree(folder, tmp_path / "elsewhere")
    assert labels(load_results(tmp_path / "elsewhere")) == labels(load_results(folder))


def test_a_second_run_into_the_same_folder_is_refused(carry_out: CarryOut, folder: Path) -> None:
    with Store.create(folder).locked(), pytest.raises(ResultsError, match="another memstrat run"):
        carry_out()
