"""The machine: what it is called, and which changes make it another one."""

import dataclasses
from pathlib import Path

import pytest

from memstrat.errors import HarnessError
from memstrat.model import Isa
from memstrat.runner.native.harness import machine_record
from memstrat.runner.native.machine import machine_from_record, machine_row
from memstrat.runner.native.measure import Conditions
from memstrat.runner.tables import MACHINE

RECORD = {
    "record": "machine",
    "vendor": "AuthenticAMD",
    "cpu": "AMD EPYC 9R45 ",
    "family": 26,
    "model": 2,
    "stepping": 1,
    "hypervisor": "KVMKVMKVM",
    "isa": "avx512",
    "features": "erms fsrm avx avx2",
    "microcode": "0x1000065",
    "kernel_release": "6.1.0",
    "processors": 2,
    "libc": "glibc 2.36",
    "tsc_hz": 2.6e9,
    "tsc_step": 26,
    "overhead_ticks": 55.0,
    "load": 0.5,
}
MACHINE_HERE = machine_from_record(RECORD)


def conditions(**changes: int) -> Conditions:
    """What a process saw."""
    seen = {"stolen": 1, "elapsed": 50, "switches": 3, **changes}
    return Conditions(process=0, tsc_hz=2.6e9, tsc_step=26, load=1.5, **seen)


@pytest.mark.parametrize(
    "change",
    [
        {"microcode": "0x1000066"},
        {"stepping": 2},
        {"libc": "glibc 2.41"},
        {"tunables": "glibc.cpu.x86_rep_stosb_threshold=100000"},
        {"features": ("avx",)},
        {"virtualisation": None},
    ],
)
def test_what_decides_the_figures_makes_another_machine(change: dict[str, object]) -> None:
    assert dataclasses.replace(MACHINE_HERE, **change).digest != MACHINE_HERE.digest  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"load": 9.0}, {"tsc_ghz": 2.6001}, {"kernel_release": "6.2"}])
def test_what_changes_by_the_hour_does_not(change: dict[str, object]) -> None:
    assert dataclasses.replace(MACHINE_HERE, **change).digest == MACHINE_HERE.digest  # type: ignore[arg-type]


def test_the_order_of_features_does_not_matter() -> None:
    turned = dataclasses.replace(MACHINE_HERE, features=MACHINE_HERE.features[::-1])
    assert turned.digest == MACHINE_HERE.digest


def test_a_row_has_every_column_and_the_clock_that_the_additions_tell() -> None:
    seen = [conditions(), conditions(stolen=4)]
    row = machine_row(MACHINE_HERE, ticks_per_cycle=[0.65, 0.8], conditions=seen)
    assert set(row) == {column.name for column in MACHINE.columns}
    assert row["core_ghz_low"] == pytest.approx(3.25)
    assert row["core_ghz_high"] == pytest.approx(4.0)
    assert row["steal"] == pytest.approx(0.05)
    assert row["involuntary_switches"] == 6
    assert row["load"] == 1.5
    assert row["virtualisation"] == "kvm"
    assert row["cpu"] == "AMD EPYC 9R45"


def test_a_machine_on_which_nothing_was_measured_has_a_row_too() -> None:
    assert machine_row(MACHINE_HERE)["steal"] == 0.0


def test_another_record_is_refused() -> None:
    with pytest.raises(HarnessError, match="not 'sample'"):
        machine_from_record({"record": "sample"})


@pytest.mark.native
def test_this_machine_describes_itself(harness: Path) -> None:
    machine = machine_from_record(machine_record(harness))
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    flags = next(line for line in info.splitlines() if line.startswith("flags")).split()
    for feature in ("erms", "fsrm", "avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl"):
        assert (feature in machine.features) == (feature in flags), feature
    assert machine.cpu in info
    assert machine.isa is not Isa.GPR
    assert 0.5 < machine.tsc_ghz < 10
    assert machine.tsc_step >= 1
