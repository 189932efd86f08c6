import os
import shutil
from pathlib import Path

import pytest

from memstrat.errors import ToolchainError
from memstrat.model import Vendor
from memstrat.runner.toolchains import binaries
from memstrat.runner.toolchains import discovery as toolchains
from memstrat.runner.toolchains.discovery import (
    candidates,
    discover,
    find_analyser,
    identify,
    resolve,
    version_order,
)

GCC_MACROS = "__x86_64__ __LP64__ __ELF__ __GNUC__=12 __GNUC_MINOR__=2 __GNUC_PATCHLEVEL__=0"
CLANG_MACROS = f"{GCC_MACROS} __clang__ __clang_major__=19 __clang_minor__=1"


def fake(folder: Path, name: str, macros: str = GCC_MACROS, *, note: str = "") -> Path:
    """A program that answers as a compiler with these predefined macros would."""
    defines = "\n".join(
        f"#define {m.replace('=', ' ') if '=' in m else m + ' 1'}" for m in macros.split()
    )
    path = folder / name
    path.write_text(
        f"""#!/bin/sh
# {note}
case " $* " in
*" -dM "*) cat <<'END'
{defines}
END
;;
*" -dumpmachine "*) echo x86_64-fake-linux ;;
*" --version "*) echo "$0 (Fake) 1" ;;
*" -print-prog-name=cc1 "*) echo cc1 ;;
*) cat ;;
esac
"""
    )
    path.chmod(0o755)
    return path


def script(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def only_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that stands first on PATH; nothing else on PATH is named like a compiler."""
    tools = tmp_path / "tools"
    here = tmp_path / "here"
    tools.mkdir()
    here.mkdir()
    for tool in ("cat", "sleep"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{tools}")
    return here


def test_a_compiler_says_its_vendor_version_and_target(tmp_path: Path) -> None:
    found = identify("mine", (str(fake(tmp_path, "cc")),))
    assert (found.vendor, found.version, found.target) == (
        Vendor.GCC,
        "12.2.0",
        "x86_64-fake-linux",
    )
    assert found.name == "mine"


def test_clang_is_not_gcc_although_it_claims_to_be(tmp_path: Path) -> None:
    found = identify("gcc", (str(fake(tmp_path, "gcc", CLANG_MACROS)),))
    assert (found.vendor, found.version) == (Vendor.CLANG, "19.1.0")


@pytest.mark.parametrize(
    ("macros", "said"),
    [
        (f"{CLANG_MACROS} __apple_build_version__", "Apple's clang"),
        (f"{CLANG_MACROS} __INTEL_LLVM_COMPILER", "Intel's icx"),
        ("__x86_64__ __LP64__ __ELF__ __TINYC__", "does not say that it is GCC or clang"),
        ("__aarch64__ __LP64__ __ELF__ __GNUC__=12", "64-bit x86"),
        ("__i386__ __ELF__ __GNUC__=12", "64-bit x86"),
        ("__x86_64__ __ILP32__ __ELF__ __GNUC__=12", "64-bit x86"),
    ],
)
def test_a_compiler_that_memstrat_does_not_know_is_refused(
    tmp_path: Path, macros: str, said: str
) -> None:
    with pytest.raises(ToolchainError, match=said) as caught:
        identify("odd", (str(fake(tmp_path, "odd", macros)),))
    assert "'odd'" in str(caught.value)


def test_a_program_that_is_no_compiler_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="does not say that it is GCC or clang"):
        identify("x", (str(script(tmp_path, "x", "echo usage: x FILE")),))


def test_a_program_that_prints_garbage_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="does not say that it is GCC or clang"):
        identify("x", (str(script(tmp_path, "x", "head -c 100000 /dev/urandom")),))


def test_a_failing_program_is_shown_with_command_code_and_output(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"(?s)-dM.*exit code 7.*\n    no licence"):
        identify("x", (str(script(tmp_path, "x", "echo no licence >&2; exit 7")),))


def test_a_program_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchains, "ANSWER_S", 0.2)
    with pytest.raises(ToolchainError, match=r"still running after 0\.2 s"):
        identify("x", (str(script(tmp_path, "x", "sleep 100")),))


def test_a_missing_command_is_refused() -> None:
    with pytest.raises(ToolchainError, match="no-such-compiler"):
        identify("x", ("no-such-compiler",))


def test_names_do_not_decide_identity(tmp_path: Path) -> None:
    program = fake(tmp_path, "gcc-12")
    link = tmp_path / "gcc"
    link.symlink_to(program)
    assert identify("a", (str(program),)).digest == identify("b", (str(link),)).digest


def test_same_answers_but_other_bytes_are_another_toolchain(tmp_path: Path) -> None:
    program = fake(tmp_path, "gcc", note="build 1")
    before = identify("gcc", (str(program),))
    fake(tmp_path, "gcc", note="build two")
    after = identify("gcc", (str(program),))
    assert before.version == after.version
    assert before.digest != after.digest


def test_arguments_in_the_command_are_part_of_identity(tmp_path: Path) -> None:
    program = str(fake(tmp_path, "gcc"))
    assert identify("a", (program,)).digest != identify("a", (program, "-fno-common")).digest


def test_an_upgraded_cc1_is_another_toolchain(tmp_path: Path) -> None:
    cc1 = tmp_path / "cc1"
    cc1.write_bytes(b"one")
    program = fake(tmp_path, "gcc")
    program.write_text(program.read_text().replace("echo cc1", f"echo {cc1}"))
    before = identify("gcc", (str(program),)).digest
    cc1.write_bytes(b"three")
    assert identify("gcc", (str(program),)).digest != before


def test_a_compiler_behind_a_wrapper_is_told_by_what_it_emits(tmp_path: Path) -> None:
    """As in a chroot: the wrapper's bytes and the answers are the same, the code is not."""
    inner = tmp_path / "inner.txt"
    inner.write_text("code of build 1")
    program = fake(tmp_path, "gcc")
    program.write_text(program.read_text().replace("*) cat ;;", f"*) cat {inner} ;;"))
    before = identify("gcc", (str(program),)).digest
    inner.write_text("code of build 2")
    assert identify("gcc", (str(program),)).digest != before


def test_a_digest_is_computed_once_per_state_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cc1"
    file.write_bytes(b"x" * 1000)
    first = binaries.file_digest(file)
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("read again"))
    assert binaries.file_digest(file) == first


def test_an_unreadable_file_has_no_digest(tmp_path: Path) -> None:
    assert binaries.file_digest(tmp_path / "absent") is None
    assert binaries.file_digest(tmp_path) is None


def test_finds_versioned_and_plain_names_only(only_here: Path) -> None:
    for name in ("gcc", "gcc-12", "clang-19", "gcc-ar-12", "clang++", "clang-format", "xgcc"):
        fake(only_here, name)
    (only_here / "gcc-13").write_text("not executable")
    assert sorted(candidates()) == ["clang-19", "gcc", "gcc-12"]


def test_discovery_leaves_out_what_does_not_answer(only_here: Path) -> None:
    fake(only_here, "gcc-12")
    fake(only_here, "clang-19", CLANG_MACROS)
    script(only_here, "gcc-13", "exit 1")
    assert [found.name for found in discover()] == ["clang-19", "gcc-12"]


def test_newest_is_decided_by_what_compilers_say(only_here: Path) -> None:
    fake(only_here, "gcc", GCC_MACROS.replace("=12", "=13"))
    fake(only_here, "gcc-9", GCC_MACROS.replace("=12", "=9"))
    fake(only_here, "gcc-99", CLANG_MACROS)
    found = resolve(["gcc-newest"])["gcc-newest"]
    assert (found.name, found.version) == ("gcc", "13.2.0")


def test_newest_prefers_the_name_with_a_version(only_here: Path) -> None:
    fake(only_here, "gcc-12")
    (only_here / "gcc").symlink_to("gcc-12")
    assert resolve(["gcc-newest"])["gcc-newest"].name == "gcc-12"


def test_newest_of_none_is_an_error(only_here: Path) -> None:
    fake(only_here, "gcc-12")
    with pytest.raises(ToolchainError, match="no clang"):
        resolve(["clang-newest"])


def test_a_configured_name_comes_before_path(only_here: Path) -> None:
    fake(only_here, "gcc-12")
    own = fake(only_here, "my-build", GCC_MACROS.replace("=12", "=17"))
    found = resolve(["gcc-12"], {"gcc-12": (str(own),)})
    assert found["gcc-12"].version == "17.2.0"


def test_a_missing_toolchain_lists_what_was_found(only_here: Path) -> None:
    fake(only_here, "gcc-12")
    with pytest.raises(ToolchainError, match=r"'gcc-16'.*on PATH: gcc-12; configured: sid"):
        resolve(["gcc-16"], {"sid": ("true",)})


def test_versions_sort_by_number() -> None:
    assert sorted(["9.1", "22.1.8", "14.0.6"], key=version_order) == ["9.1", "14.0.6", "22.1.8"]


def test_the_newest_analyser_is_taken(only_here: Path) -> None:
    for version in ("9.0.1", "22.1.8", "14.0.6"):
        number = version.split(".", maxsplit=1)[0]
        script(only_here, f"llvm-mca-{number}", f"echo 'Debian LLVM version {version}'")
    script(only_here, "llvm-mca-23", "exit 1")
    found = find_analyser()
    assert found.label == "llvm-mca 22.1.8"


def test_without_an_analyser_the_message_names_what_is_missing(only_here: Path) -> None:
    with pytest.raises(ToolchainError, match="llvm-mca"):
        find_analyser()


@pytest.mark.compilers
def test_installed_compilers_say_what_they_are() -> None:
    found = discover()
    if not found:
        pytest.skip("no gcc or clang is installed")
    for each in found:
        assert each.name.startswith(each.vendor.value)
        assert version_order(each.version) > (0,)
        assert "x86_64" in each.target
    by_program: dict[Path, set[str]] = {}
    for each in found:
        by_program.setdefault(Path(each.command[0]).resolve(), set()).add(each.digest)
    assert all(len(digests) == 1 for digests in by_program.values())
