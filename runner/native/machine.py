"""The machine on which codes are measured: who it is, and in what state it was.

Its identity decides whether figures may be compared (another CPU, microcode or C library is
another machine); its state, such as load and clock, is recorded but is not part of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from memstrat.errors import HarnessError
from memstrat.model import Isa, digest_of
from memstrat.runner.native.harness import Record
from memstrat.runner.native.measure import Conditions
from memstrat.runner.rows import Row

_HYPERVISORS = {
    "KVMKVMKVM": "kvm",
    "VMwareVMware": "vmware",
    "Microsoft Hv": "hyper-v",
    "XenVMMXenVMM": "xen",
    "TCGTCGTCGTCG": "qemu",
    "VBoxVBoxVBox": "virtualbox",
    "bhyve bhyve": "bhyve",
}
"""What hypervisors say in CPUID leaf 0x40000000, and what they are called."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine as its CPUID, its kernel and its C library describe it."""

    cpu: str
    vendor: str
    family: int
    model: int
    stepping: int
    microcode: str
    features: tuple[str, ...]
    isa: Isa
    tsc_ghz: float
    tsc_step: int
    processors: int
    kernel_release: str
    virtualisation: str | None
    libc: str
    tunables: str | None
    load: float

    @property
    def digest(self) -> str:
        """Identity: all that decides what figures mean, and nothing that changes by the hour."""
        return digest_of(
            {
                "cpu": self.cpu,
                "vendor": self.vendor,
                "signature": [self.family, self.model, self.stepping],
                "microcode": self.microcode,
                "features": sorted(self.features),
                "isa": self.isa,
                "virtualisation": self.virtualisation,
                "libc": self.libc,
                "tunables": self.tunables,
            }
        )


def machine_from_record(record: Record) -> Machine:
    """The machine that the harness's `machine` record describes."""
    if record.get("record") != "machine":
        raise HarnessError(f"a machine's record was expected, not {record.get('record')!r}")
    hypervisor = record.get("hypervisor")
    return Machine(
        cpu=record["cpu"].strip(),
        vendor=record["vendor"],
        family=record["family"],
        model=record["model"],
        stepping=record["stepping"],
        microcode=record["microcode"],
        features=tuple(record["features"].split()),
        isa=Isa(record["isa"]),
        tsc_ghz=record["tsc_hz"] / 1e9,
        tsc_step=record["tsc_step"],
        processors=record["processors"],
        kernel_release=record["kernel_release"],
        virtualisation=None if hypervisor is None else _HYPERVISORS.get(hypervisor, hypervisor),
        libc=record["libc"],
        tunables=record.get("tunables"),
        load=record["load"],
    )


def machine_row(
    machine: Machine,
    *,
    ticks_per_cycle: Iterable[float] = (),
    conditions: Iterable[Conditions] = (),
) -> Row:
    """A row of `machine`: who it is, and what it was like while samples were taken.

    `ticks_per_cycle` are those of the samples: the core clock is the TSC's divided by them; where
    there are none, nothing is known of it and it is given as the TSC's.
    """
    seen = list(conditions)
    clocks = [machine.tsc_ghz / ticks for ticks in ticks_per_cycle]
    elapsed = sum(c.elapsed for c in seen)
    return {
        "work": digest_of([machine.digest, [repr(c) for c in seen]]),
        "machine": machine.digest,
        "cpu": machine.cpu,
        "vendor": machine.vendor,
        "family": machine.family,
        "model": machine.model,
        "stepping": machine.stepping,
        "microcode": machine.microcode,
        "features": list(machine.features),
        "isa": machine.isa.value,
        "tsc_ghz": machine.tsc_ghz,
        "core_ghz_low": min(clocks, default=machine.tsc_ghz),
        "core_ghz_high": max(clocks, default=machine.tsc_ghz),
        "tsc_step": machine.tsc_step,
        "processors": machine.processors,
        "kernel_release": machine.kernel_release,
        "virtualisation": machine.virtualisation,
        "libc": machine.libc,
        "tunables": machine.tunables,
        "load": max((c.load for c in seen), default=machine.load),
        "steal": sum(c.stolen for c in seen) / elapsed if elapsed else 0.0,
        "involuntary_switches": sum(c.switches for c in seen),
    }
