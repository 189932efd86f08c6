"""Find compilers, and ask each what it is.

A compiler is a command. It is asked only through its standard input and output, so that it may
stand in a chroot, a container or on another machine. Names that contain a version are no evidence:
identity is what the compiler says of itself, what it makes of a small probe, and the bytes of what
really runs, where those can be read from here.
"""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from memstrat.errors import ToolchainError
from memstrat.model import Toolchain, Vendor, digest_of
from memstrat.runner.processes import failure_text, run_process
from memstrat.runner.toolchains.binaries import real_files

ANSWER_S = 30.0
"""How long a compiler may take to say what it is; a container may have to start first."""

NEWEST = {f"{vendor}-newest": vendor for vendor in (Vendor.GCC, Vendor.CLANG)}
"""Names that stand for the newest compiler of a vendor that is found on PATH."""

_COMPILER_NAME = re.compile(r"(?:gcc|clang)(?:-\d+(?:\.\d+)*)?")
_MACRO = re.compile(r"^#define (\w+) (.*)$", re.MULTILINE)

_OTHER_VENDORS = {
    "__apple_build_version__": "Apple's clang",
    "__INTEL_LLVM_COMPILER": "Intel's icx",
    "__INTEL_COMPILER": "Intel's icc",
    "__NVCOMPILER": "NVIDIA's nvc",
    "__CUDACC__": "NVIDIA's nvcc",
    "__ibmxl__": "IBM's XL",
}
"""Macros of compilers that also claim to be clang or GCC and number their versions otherwise."""

_PROBE = b"""\
void clear(void *d) { __builtin_memset(__builtin_assume_aligned(d, 8), 0, 168); }
void fill(void *d, unsigned long v) { __builtin_memset(d, (unsigned char)v, 300); }
void copy(void *d, const void *s) { __builtin_memcpy(d, s, 520); }
"""
"""A small program whose assembly becomes part of the identity."""


def candidates() -> dict[str, Path]:
    """gcc, gcc-N, clang and clang-N on PATH by name; the first on PATH counts."""
    return _programs(_COMPILER_NAME)


def discover() -> list[Toolchain]:
    """Every compiler on PATH that says what it is, by vendor and version.

    Names of what does not (a broken installation) are left out; `identify` tells why.
    """
    return sorted(_identified(candidates()), key=lambda found: (found.vendor, *_order(found)))


def identify(name: str, command: tuple[str, ...]) -> Toolchain:
    """Ask a compiler what it is. `name` is only carried along.

    Raises ToolchainError where the command does not run, does not answer in time, is no compiler,
    or is one that memstrat does not know.
    """
    macros = _macros(name, command)
    vendor, version = _vendor_and_version(name, command, macros)
    if "__x86_64__" not in macros or "__LP64__" not in macros or "__ELF__" not in macros:
        raise ToolchainError(
            f"toolchain {name!r} ({' '.join(command)}): does not compile for 64-bit x86 ELF, "
            "which is what memstrat measures"
        )
    target = _ask(name, command, "-dumpmachine").strip()
    says = {
        "macros": macros,
        "target": target,
        "version": _version_text(name, command),
        "probe": _probe(command),
    }
    runs = real_files(command, cc1=_path_of_cc1(name, command) if vendor is Vendor.GCC else None)
    # The first word may be one of several names of one program; the others are part of what is run.
    digest = digest_of({"says": says, "arguments": command[1:], "files": sorted(set(runs))})
    return Toolchain(
        name=name, command=command, vendor=vendor, version=version, target=target, digest=digest
    )


def resolve(
    names: Iterable[str], configured: Mapping[str, tuple[str, ...]] | None = None
) -> dict[str, Toolchain]:
    """The toolchains that a study asks for, by the names that it uses.

    A name means, in this order: a toolchain of the user's configuration, `gcc-newest` or
    `clang-newest`, or a compiler on PATH that `candidates` lists. The Toolchain of a `-newest` name
    has the name of the compiler that was found. Raises ToolchainError, naming what was found.
    """
    wanted = dict.fromkeys(names)
    own = configured or {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as threads:
        found = threads.map(lambda name: _resolve_one(name, own), wanted)
        return dict(zip(wanted, found, strict=True))


@dataclass(frozen=True, kw_only=True)
class Analyser:
    """A static analyser: llvm-mca's command, and its version such as `22.1.8`."""

    command: tuple[str, ...]
    version: str

    @property
    def label(self) -> str:
        """`llvm-mca 22.1.8`."""
        return f"llvm-mca {self.version}"


def find_analyser() -> Analyser:
    """The newest llvm-mca on PATH. Raises ToolchainError where there is none that answers."""
    found = []
    for path in _programs(re.compile(r"llvm-mca(?:-\d+(?:\.\d+)*)?")).values():
        done = run_process((str(path), "--version"), timeout_s=ANSWER_S)
        version = re.search(r"LLVM version (\d+(?:\.\d+)*)", done.text)
        if done.succeeded and version:
            found.append(Analyser(command=(str(path),), version=version[1]))
    if not found:
        raise ToolchainError(
            "no llvm-mca or llvm-mca-N was found on PATH; Debian's package is llvm"
        )
    return max(found, key=lambda analyser: version_order(analyser.version))


def version_order(version: str) -> tuple[int, ...]:
    """A version as numbers, to sort by: `22.1.8` is (22, 1, 8)."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _resolve_one(name: str, configured: Mapping[str, tuple[str, ...]]) -> Toolchain:
    if name in configured:
        return identify(name, configured[name])
    if name in NEWEST:
        return _newest(name, NEWEST[name])
    on_path = candidates()
    if name not in on_path:
        raise ToolchainError(
            f"toolchain {name!r} was not found; on PATH: {_list(on_path)}; "
            f"configured: {_list(configured)}"
        )
    return identify(name, (str(on_path[name]),))


def _newest(name: str, vendor: Vendor) -> Toolchain:
    """The newest of a vendor; of two names for the same compiler, the one with its version."""
    on_path = {each: path for each, path in candidates().items() if each.startswith(vendor.value)}
    found = [each for each in _identified(on_path) if each.vendor is vendor]
    if not found:
        raise ToolchainError(f"toolchain {name!r}: no {vendor} that answers was found on PATH")
    return max(found, key=_order)


def _identified(programs: Mapping[str, Path]) -> list[Toolchain]:
    def attempt(item: tuple[str, Path]) -> list[Toolchain]:
        try:
            return [identify(item[0], (str(item[1]),))]
        except ToolchainError:
            return []

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as threads:
        return [each for found in threads.map(attempt, programs.items()) for each in found]


def _order(toolchain: Toolchain) -> tuple[tuple[int, ...], int, str]:
    return version_order(toolchain.version), len(toolchain.name), toolchain.name


def _programs(name: re.Pattern[str]) -> dict[str, Path]:
    """Programs on PATH whose whole name matches, by name; the first on PATH counts."""
    found: dict[str, Path] = {}
    for folder in os.get_exec_path():
        try:
            entries = sorted(Path(folder or ".").iterdir())
        except OSError:
            continue
        for entry in entries:
            if name.fullmatch(entry.name) and shutil.which(entry) is not None:
                found.setdefault(entry.name, entry.absolute())
    return found


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _ask(name: str, command: tuple[str, ...], *question: str) -> str:
    """What the compiler prints when asked. Raises ToolchainError where it fails."""
    done = run_process((*command, *question), timeout_s=ANSWER_S)
    if not done.succeeded:
        raise ToolchainError(f"toolchain {name!r} does not say what it is: {failure_text(done)}")
    return done.text


def _version_text(name: str, command: tuple[str, ...]) -> str:
    """What `--version` prints, without its first word: in GCC's, the name it was called by."""
    return _ask(name, command, "--version").partition(" ")[2]


def _macros(name: str, command: tuple[str, ...]) -> dict[str, str]:
    return dict(_MACRO.findall(_ask(name, command, "-dM", "-E", "-x", "c", "-")))


def _vendor_and_version(
    name: str, command: tuple[str, ...], macros: Mapping[str, str]
) -> tuple[Vendor, str]:
    """Who made the compiler. Clang also defines __GNUC__, and others also define __clang__."""
    stands_for = f"toolchain {name!r} ({' '.join(command)})"
    for macro, product in _OTHER_VENDORS.items():
        if macro in macros:
            raise ToolchainError(f"{stands_for}: is {product}; memstrat knows GCC and LLVM's clang")
    if "__clang__" in macros:
        vendor, parts = Vendor.CLANG, ("__clang_major__", "__clang_minor__", "__clang_patchlevel__")
    elif "__GNUC__" in macros:
        vendor, parts = Vendor.GCC, ("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__")
    else:
        raise ToolchainError(
            f"{stands_for}: does not say that it is GCC or clang when asked for its predefined "
            "macros with -dM -E -x c -"
        )
    return vendor, ".".join(macros.get(part, "0") for part in parts)


def _probe(command: tuple[str, ...]) -> str:
    """The assembly of the probe, or how the compiler failed: that, too, tells compilers apart."""
    done = run_process(
        (*command, "-O2", "-x", "c", "-", "-S", "-o", "-"), stdin=_PROBE, timeout_s=ANSWER_S
    )
    return done.text if done.succeeded else done.detail


def _path_of_cc1(name: str, command: tuple[str, ...]) -> Path:
    """Where gcc's driver finds the compiler proper."""
    return Path(_ask(name, command, "-print-prog-name=cc1").strip())
