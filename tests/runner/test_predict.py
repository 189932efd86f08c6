import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrat.runner.predict import throughput as predict_module
from memstrat.runner.predict.mca import Analysis, Region, analyse, resolve_cpu
from memstrat.runner.predict.throughput import (
    Prediction,
    batches_of,
    not_applicable,
    predict,
    region_of,
)
from memstrat.runner.toolchains.discovery import Analyser

FAKE = """\
import json, os, re, sys, time

options = dict(word.lstrip("-").split("=") for word in sys.argv[1:] if "=" in word)
iterations, cpu = int(options["iterations"]), options["mcpu"]
known = {"native": "fakecpu", "fakecpu": "fakecpu"}
if cpu not in known:
    print(f"'{cpu}' is not a recognized processor for this target", file=sys.stderr)
regions, failed = {}, False
for number, line in enumerate(sys.stdin.read().splitlines(), 1):
    if line.startswith("# LLVM-MCA-BEGIN"):
        name = line.split()[-1]
        regions[name] = 0
    elif line.startswith("unknown"):
        failed = True
        print(f"<stdin>:{number}:1: error: invalid instruction mnemonic", file=sys.stderr)
    elif line == "crash":
        os.abort()
    elif line == "hang":
        time.sleep(1000)
    elif not line.startswith("#") and line != "silently dropped":
        regions[name] += 1
if failed:
    sys.exit(1)
views = []
for name, count in regions.items():
    run = count * iterations
    summary = {"Instructions": run, "TotalCycles": 7 + 2 * run}
    if count:
        views.append({"Name": name, "SummaryView": summary})
target = {"CPUName": known.get(cpu, cpu), "Resources": ["Fk4ALU0", "Fk4FP1", "Fk4Port"]}
print(json.dumps({"CodeRegions": views, "TargetInfo": target}))
"""


@pytest.fixture
def fake(tmp_path: Path) -> Analyser:
    """An analyser that says 7 cycles, and 2 more for each instruction of each iteration."""
    path = tmp_path / "fake.py"
    path.write_text(FAKE)
    return Analyser(command=(sys.executable, "-S", str(path)), version="99.1")


def told(
    paths: Mapping[str, tuple[str, ...]], analyser: Analyser, cpu: str = "native"
) -> dict[str, Prediction | str]:
    """Predictions for the model that the analyser has for a CPU."""
    model = resolve_cpu(analyser, cpu)
    assert model is not None
    return predict(paths, analyser, model)


def cycles(found: dict[str, Prediction | str], name: str) -> float:
    prediction = found[name]
    assert isinstance(prediction, Prediction), prediction
    return prediction.cycles


def test_cycles_are_the_slope_without_what_fills_the_pipeline(fake: Analyser) -> None:
    found = told({"a": ("nop",) * 3, "b": ("nop",) * 600}, fake)
    assert cycles(found, "a") == 6
    assert cycles(found, "b") == 1200


def test_a_prediction_says_who_made_it_for_which_model(fake: Analyser) -> None:
    found = told({"a": ("nop",)}, fake)
    assert found["a"] == Prediction(cycles=2, analyser="llvm-mca 99.1", cpu="fakecpu (Fk4)")


def test_a_cpu_that_the_analyser_does_not_know_has_no_model(fake: Analyser) -> None:
    assert resolve_cpu(fake, "zen9") is None


@pytest.mark.parametrize("says", ["garbage", "[]", "{}", '{"TargetInfo": 3}'])
def test_what_answers_like_no_analyser_has_no_model(tmp_path: Path, says: str) -> None:
    path = tmp_path / "llvm-mca"
    path.write_text(f"#!/bin/sh\ncat >/dev/null; echo '{says}'\n")
    path.chmod(0o755)
    assert resolve_cpu(Analyser(command=(str(path),), version="99.1"), "native") is None


def test_a_return_costs_nothing_and_nothing_costs_nothing(fake: Analyser) -> None:
    found = told({"a": ("nop", "ret"), "b": ("ret",), "c": ("repz retq",)}, fake)
    assert [cycles(found, name) for name in "abc"] == [2, 0, 0]
    assert told({"b": ("ret",)}, fake)["b"] == found["b"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (("xor %eax,%eax", "rep stosq %rax,%es:(%rdi)", "ret"), "`rep`"),
        (("call 0x20", "ret"), "called"),
        (("callq memset", "ret"), "called"),
        (("mov %rdi,%rax", "jmp 0xa"), "jumped to"),
    ],
)
def test_rep_and_calls_are_not_applicable(path: tuple[str, ...], said: str, fake: Analyser) -> None:
    found = told({"a": path}, fake)["a"]
    assert isinstance(found, str)
    assert found.startswith("not applicable: ")
    assert said in found


def test_branches_inside_a_loop_are_applicable() -> None:
    assert not_applicable(("movq $0,(%rdi)", "jb 2", "jmp 0xa", "repz ret")) is None


def test_an_unknown_instruction_costs_its_own_path(fake: Analyser) -> None:
    paths = {"a": ("nop",), "b": ("nop", "unknown %xmm0"), "c": ("nop",)}
    found = told(paths, fake)
    assert (cycles(found, "a"), cycles(found, "c")) == (2, 2)
    assert found["b"] == "llvm-mca 99.1: 'unknown %xmm0': invalid instruction mnemonic"


def test_a_figure_with_a_dropped_instruction_is_no_figure(fake: Analyser) -> None:
    found = told({"a": ("nop",), "b": ("nop", "silently dropped")}, fake)
    assert cycles(found, "a") == 2
    assert isinstance(found["b"], str)
    assert "counted" in found["b"]


def test_a_path_whose_instructions_are_all_dropped_is_no_figure(fake: Analyser) -> None:
    found = told({"b": ("silently dropped",)}, fake)
    assert isinstance(found["b"], str)


def test_a_path_that_crashes_the_analyser_costs_itself(fake: Analyser) -> None:
    paths = {f"p{index}": ("nop",) for index in range(8)} | {"bad": ("crash",)}
    found = told(paths, fake)
    bad = found.pop("bad")
    assert isinstance(bad, str)
    assert "SIGABRT" in bad
    assert all(cycles(found, name) == 2 for name in found)


def test_a_path_that_hangs_the_analyser_costs_itself(
    fake: Analyser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predict_module, "_PROCESS_S", 1.0)
    monkeypatch.setattr(predict_module, "_ISOLATE_S", 8.0)
    found = told({"a": ("nop",), "bad": ("hang",)}, fake)
    assert cycles(found, "a") == 2
    assert isinstance(found["bad"], str)
    assert "still running" in found["bad"]


def test_an_analyser_that_is_gone_has_no_model() -> None:
    assert resolve_cpu(Analyser(command=("no-mca",), version="1"), "native") is None


def test_every_path_has_one_answer(fake: Analyser) -> None:
    paths = {f"p{n}": ("nop",) * n for n in range(1, 40)} | {"rep": ("rep movsb",)}
    assert sorted(told(paths, fake)) == sorted(paths)
    assert told({}, fake) == {}


@pytest.mark.parametrize(
    ("path", "fresh"),
    [
        (("mov (%rsi),%rax", "mov %rax,(%rdi)"), ()),
        (("movzbl %sil,%esi", "imul %rax,%rsi", "mov %rsi,(%rdi)"), ("mov %rbp,%rsi",)),
        (("movups %xmm0,(%rdi,%rdx)", "add $0x40,%rdi", "cmp %rdi,%rax"), ("mov %rbx,%rdi",)),
        (("cmp %rax,%rdi", "test %sil,%sil"), ()),
        (("mulx %rax,%rsi,%rdi",), ("mov %rbx,%rdi", "mov %rbp,%rsi")),
        (("inc %rdi", "movups %xmm0,(%rax,%rdi,8)"), ("mov %rbx,%rdi",)),
        (("mov %rdi,%rax", "movsq %ds:(%rsi),%es:(%rdi)"), ()),
    ],
)
def test_arguments_that_a_kernel_changes_are_set_anew(
    path: tuple[str, ...], fresh: tuple[str, ...]
) -> None:
    assert region_of((*path, "ret")) == fresh + path


@given(st.lists(st.integers(0, 7000), max_size=300))
def test_batches_hold_every_region_once_and_are_bounded(lengths: list[int]) -> None:
    regions = [
        Region(name=str(index), instructions=("nop",) * length)
        for index, length in enumerate(lengths)
    ]
    batches = batches_of(regions)
    held = [region.name for batch in batches for region in batch.regions]
    assert sorted(held) == sorted(region.name for region in regions)
    for batch in batches:
        sizes = [len(region.instructions) for region in batch.regions]
        assert len(sizes) == 1 or 3 * batch.iterations * sum(sizes) <= 1_000_000
        assert all(batch.iterations * size >= 512 or size == 0 for size in sizes)
        assert all(batch.iterations >= 2 for size in sizes)


def installed() -> list[str]:
    return [name for name in ("llvm-mca-14", "llvm-mca-19", "llvm-mca-22") if shutil.which(name)]


Real = Callable[[str], Analyser]


@pytest.mark.compilers
@pytest.mark.parametrize("name", installed() or ["none"])
class TestInstalledAnalysers:
    @pytest.fixture
    def real(self, name: str) -> Analyser:
        if name == "none":
            pytest.skip("no llvm-mca is installed")
        return Analyser(command=(name,), version=name.rsplit("-", 1)[1])

    def test_counts_stores(self, real: Analyser) -> None:
        stores = tuple(f"movups %xmm0,{16 * n:#x}(%rdi)" for n in range(64))
        found = told({"set": (*stores, "ret")}, real, "skylake-avx512")
        prediction = found["set"]
        assert isinstance(prediction, Prediction), prediction
        assert prediction.cycles == 64, "this model stores once in a cycle"
        assert prediction.cpu == "skylake-avx512 (SKX)"

    def test_reads_what_iced_writes(self, real: Analyser) -> None:
        path = (
            "movabs $0x5a5a5a5a5a5a5a5a,%rax",
            "movq $0,(%rdi)",
            "movdqa (%rip),%xmm0",
            "mulx %rax,%rsi,%rdx",
            "vmovdqu64 %zmm0,0x40(%rdi,%rax,8)",
            "vpbroadcastb %xmm0,%zmm16",
            "jb 2",
            "vzeroupper",
        )
        found = told({"a": path}, real, "skylake-avx512")
        assert cycles(found, "a") > 0

    def test_an_instruction_from_the_future_costs_its_own_path(self, real: Analyser) -> None:
        paths = {"a": ("nop",), "b": ("nop", "frobnicate %xmm0"), "c": ("nop", "nop")}
        found = told(paths, real, "skylake-avx512")
        assert cycles(found, "a") > 0
        assert cycles(found, "c") > 0
        assert isinstance(found["b"], str)
        assert "frobnicate" in found["b"]

    def test_this_cpu_has_a_name_and_a_fantasy_has_none(self, real: Analyser) -> None:
        assert resolve_cpu(real, "native")
        assert resolve_cpu(real, "no-such-cpu") is None

    def test_a_batch_is_analysed_in_one_process(self, real: Analyser) -> None:
        regions = tuple(Region(name=f"r{n}", instructions=("nop",) * n) for n in range(1, 30))
        done = analyse(regions, iterations=4, analyser=real, cpu="native", timeout_s=60)
        assert isinstance(done, Analysis), done
        assert sorted(done.cycles) == sorted(region.name for region in regions)
        assert not done.refused
