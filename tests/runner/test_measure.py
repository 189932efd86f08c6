"""Measuring: what the harness reports, and how lines become samples. No test asserts a time."""

import math
from pathlib import Path

import pytest

from memstrat.errors import HarnessError
from memstrat.model import Cell, Code, Fill, Isa, Op, Stage
from memstrat.runner.native.measure import (
    CellFailure,
    CellSample,
    CodeSample,
    Conditions,
    Finding,
    HarnessMeasurer,
    MeasureProtocol,
    MockMeasurer,
    measure_failures,
    sample_rows,
    sample_work,
)
from memstrat.runner.native.pack import PackCell, PackContents, write_pack
from memstrat.runner.tables import SAMPLES

STOSB = Code(text=b"\x31\xc0\xb9\x40\0\0\0\xf3\xaa\xc3")  # xor eax,eax; mov ecx,64; rep stosb; ret
STORE = Code(text=b"\x31\xc0" + b"\x48\x89\x47\x08" * 8 + b"\xc3")  # mov [rdi+8],rax, 8 times
CRASH = Code(text=b"\x0f\x0b")  # ud2
HANG = Code(text=b"\xeb\xfe")  # jmp to itself
FAR = Code(text=b"\xc3", isa=Isa.AVX512)
# Ends the process: mov edi,7; mov eax,231 (exit_group); syscall
EXIT = Code(text=b"\xbf\x07\0\0\0\xb8\xe7\0\0\0\x0f\x05")

CELL = Cell(op=Op.MEMSET, fill=Fill.ZERO, size=64)
QUICK = MeasureProtocol(min_rounds=3, max_rounds=40, budget_us=2000)


def contents_of(*codes: Code, cells: int = 1, baseline: int = 0) -> PackContents:
    """A pack with all codes in each of `cells` cells of different sizes."""
    members = tuple(range(len(codes)))
    return PackContents(
        codes=codes,
        cells=tuple(
            PackCell(
                cell=Cell(op=Op.MEMSET, fill=Fill.ZERO, size=64 * (i + 1)),
                codes=members,
                baseline=baseline,
            )
            for i in range(cells)
        ),
    )


def measure(
    harness: Path, folder: Path, contents: PackContents, *, protocol: MeasureProtocol = QUICK
) -> list[Finding]:
    """What one process finds in all cells."""
    pack = folder / "pack"
    write_pack(pack, harness, contents)
    measurer = HarnessMeasurer(pack=pack, contents=contents, cpu=0, protocol=protocol)
    return list(measurer.measure(range(len(contents.cells)), process=3))


def the_sample(findings: list[Finding]) -> CellSample:
    """The one cell's sample."""
    (sample,) = [finding for finding in findings if isinstance(finding, CellSample)]
    return sample


@pytest.mark.native
def test_a_cell_gives_every_code_the_twin_and_the_clock(harness: Path, tmp_path: Path) -> None:
    sample = the_sample(measure(harness, tmp_path, contents_of(STOSB, STORE)))
    assert [(code.code, code.twin) for code in sample.codes] == [
        (STOSB.digest, False),
        (STOSB.digest, True),
        (STORE.digest, False),
    ]
    assert (sample.cell, sample.process) == (CELL, 3)
    figures = [sample.ticks_per_cycle, sample.empty_ticks, *(code.ticks for code in sample.codes)]
    assert all(math.isfinite(figure) and figure > 0 for figure in figures)
    assert len({code.calls for code in sample.codes}) == 1
    assert len({code.batches for code in sample.codes}) == 1
    assert sample.codes[0].paired_ratio == 1.0


@pytest.mark.native
def test_rounds_stay_between_their_limits(harness: Path, tmp_path: Path) -> None:
    long = MeasureProtocol(min_rounds=1, max_rounds=7, budget_us=10_000_000)
    short = MeasureProtocol(min_rounds=5, max_rounds=1000, budget_us=0)
    for protocol, rounds in ((long, 7), (short, 5)):
        sample = the_sample(measure(harness, tmp_path, contents_of(STORE), protocol=protocol))
        assert {code.batches for code in sample.codes} == {rounds}


@pytest.mark.native
def test_every_cell_is_measured_once_and_conditions_come_last(
    harness: Path, tmp_path: Path
) -> None:
    *samples, conditions = measure(harness, tmp_path, contents_of(STORE, STOSB, cells=9))
    assert isinstance(conditions, Conditions)
    assert conditions.elapsed >= 0
    sizes = [sample.cell.size for sample in samples if isinstance(sample, CellSample)]
    assert sorted(sizes) == [64 * (i + 1) for i in range(9)]
    assert sizes != sorted(sizes)  # in an order of its own


@pytest.mark.native
@pytest.mark.parametrize(("code", "reason"), [(CRASH, "SIGILL"), (HANG, "hung")])
def test_a_crash_or_hang_takes_nothing_else_along(
    code: Code, reason: str, harness: Path, tmp_path: Path
) -> None:
    sample = the_sample(measure(harness, tmp_path, contents_of(STORE, code, STOSB)))
    assert {found.code for found in sample.codes} == {STORE.digest, STOSB.digest}
    assert reason in sample.dropped[code.digest]


@pytest.mark.native
def test_a_code_that_ends_the_process_costs_its_own_cells_alone(
    harness: Path, tmp_path: Path
) -> None:
    good = contents_of(STORE, STOSB, EXIT, cells=5)
    cells = tuple(
        PackCell(cell=packed.cell, codes=(0, 1, 2) if i == 2 else (0, 1), baseline=0)
        for i, packed in enumerate(good.cells)
    )
    findings = measure(harness, tmp_path, PackContents(codes=good.codes, cells=cells))
    failed = [finding for finding in findings if isinstance(finding, CellFailure)]
    assert [failure.cell.size for failure in failed] == [192]
    assert "exit code 7" in failed[0].reason
    assert sum(isinstance(finding, CellSample) for finding in findings) == 4


@pytest.mark.native
def test_a_cell_without_its_baseline_fails_with_the_reason(harness: Path, tmp_path: Path) -> None:
    failure, _ = measure(harness, tmp_path, contents_of(CRASH, STORE))
    assert isinstance(failure, CellFailure)
    assert failure.reason.startswith("its baseline cannot be measured")
    assert "SIGILL" in failure.reason


@pytest.mark.native
def test_a_code_for_another_cpu_is_dropped_with_the_reason(harness: Path, tmp_path: Path) -> None:
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    sample = the_sample(measure(harness, tmp_path, contents_of(STORE, FAR)))
    expected = {} if "avx512vl" in flags else {FAR.digest: "this CPU has no avx512"}
    assert sample.dropped == expected


@pytest.mark.native
def test_a_cpu_that_does_not_exist_is_refused(harness: Path, tmp_path: Path) -> None:
    write_pack(tmp_path / "pack", harness, contents_of(STORE))
    measurer = HarnessMeasurer(pack=tmp_path / "pack", contents=contents_of(STORE), cpu=9999)
    with pytest.raises(HarnessError, match="cannot be pinned"):
        list(measurer.measure([0], process=0))


SAMPLE = CellSample(
    cell=CELL,
    process=2,
    codes=(
        CodeSample(code="a", twin=False, ticks=8.0, paired_ratio=1.0, batches=500, calls=60),
        CodeSample(code="a", twin=True, ticks=8.0, paired_ratio=1.0, batches=500, calls=60),
        CodeSample(code="b", twin=False, ticks=12.0, paired_ratio=1.5, batches=500, calls=60),
    ),
    ticks_per_cycle=0.8,
    empty_ticks=4.0,
    switches=1,
    dropped={"c": "SIGILL while it was measured"},
)


def test_rows_are_in_cycles_with_the_empty_call_beside_them() -> None:
    rows = sample_rows(SAMPLE, work="w", machine="m")
    assert [set(row) for row in rows] == [{column.name for column in SAMPLES.columns}] * 3
    assert [row["cycles"] for row in rows] == pytest.approx([10.0, 10.0, 15.0])
    assert [row["empty_cycles"] for row in rows] == pytest.approx([5.0, 5.0, 5.0])
    assert [row["twin"] for row in rows] == [False, True, False]


def test_what_was_dropped_and_what_failed_are_failures_of_measuring() -> None:
    (dropped,) = measure_failures(SAMPLE, work="w")
    assert dropped.stage is Stage.MEASURE
    assert "code c" in dropped.subject
    assert dropped.reason == "SIGILL while it was measured"
    lost = CellFailure(cell=CELL, process=1, reason="killed by signal 9")
    (failure,) = measure_failures(lost, work="w")
    assert failure.subject == "memset_zero_s64_hot, process 1"


def test_the_mock_returns_the_times_that_it_was_given() -> None:
    contents = contents_of(STORE, STOSB, cells=2)
    times = {STORE.digest: 8.0, STOSB.digest: 30.0}
    mock = MockMeasurer(contents=contents, cycles=lambda cell, code, _: times[code] + cell.size)
    first, second = mock.measure([0, 1], process=4)
    assert isinstance(first, CellSample)
    assert isinstance(second, CellSample)
    rows = sample_rows(second, work="w", machine="m")
    assert [(row["code"], row["twin"], row["cycles"]) for row in rows] == [
        (STORE.digest, False, 136.0),
        (STOSB.digest, False, 158.0),
        (STORE.digest, True, 136.0),
    ]


def test_work_is_named_by_all_codes_of_the_cell_the_machine_and_the_protocol() -> None:
    def work(contents: PackContents, **changes: object) -> str:
        known = {"machine": "m", "process": 0, "protocol": QUICK, **changes}
        return sample_work(contents, 0, **known)  # type: ignore[arg-type]

    base = contents_of(STORE, STOSB)
    assert work(base) == work(contents_of(STOSB, STORE, baseline=1))
    others = {
        work(contents_of(STORE, STOSB, CRASH)),
        work(contents_of(STORE, STOSB, baseline=1)),
        work(base, machine="n"),
        work(base, process=1),
        work(base, protocol=MeasureProtocol()),
    }
    assert work(base) not in others
    assert len(others) == 5
