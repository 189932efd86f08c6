"""What `make setup` does to a machine, seen from fakes of apt, python and the compilers."""

import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

TOOLS = ("bash", "env", "dirname", "basename", "cat", "sha256sum", "tr", "mkdir", "cp", "rm")

# Answers like an interpreter; `-m venv` puts a copy of itself into the environment.
PYTHON = """#!/bin/bash
echo "python $*" >>"$CALLS"
case "$*" in
    *sys.exit*) exit "${PYTHON_IS_OLD:-0}" ;;
    --version) echo "Python 3.11.2" ;;
    *sys.version*) echo "3.11.2 /usr" ;;
    "-m venv --clear"*) rm -rf "$4"; mkdir -p "$4/bin"; cp "$0" "$4/bin/python" ;;
    *--editable*) cp "$0" "$(dirname "$0")/memstrat" ;;
esac
"""
SUCCEEDS = "#!/bin/bash\n"
APT_GET = '#!/bin/bash\necho "apt-get $*" >>"$CALLS"\nexit "${APT_FAILS:-0}"\n'
APT_CACHE = '#!/bin/bash\n[[ $2 == clang-21 ]] && echo "  Candidate: 1:21.1-1"\nexit 0\n'
ROOT_ID = "#!/bin/bash\necho 0\n"
USER_ID = "#!/bin/bash\necho 1000\n"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A checkout, and a PATH that holds only what a test puts there."""

    checkout: Path
    commands: Path
    calls: Path

    def offer(self, **texts: str) -> None:
        """Put commands on PATH; `_` in a name stands for `-`."""
        for name, text in texts.items():
            path = self.commands / name.replace("_", "-")
            path.write_text(text)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def offer_everything(self) -> None:
        """All that the set-up looks for."""
        self.offer(python3=PYTHON, gcc=SUCCEEDS, ld=SUCCEEDS, clang_19=SUCCEEDS)
        self.offer(llvm_mca_19=SUCCEEDS)

    def set_up(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the set-up and say how it ended."""
        variables = {"PATH": str(self.commands), "CALLS": str(self.calls), **environment}
        command = [str(self.commands / "bash"), "tools/setup.sh"]
        return subprocess.run(
            command,
            cwd=self.checkout,
            env=variables,
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def said(self) -> str:
        """What the fakes were asked since the last time."""
        text = self.calls.read_text()
        self.calls.write_text("")
        return text


@pytest.fixture
def machine(tmp_path: Path, root: Path) -> Machine:
    """A machine that has a shell and nothing else."""
    made = Machine(
        checkout=tmp_path / "checkout", commands=tmp_path / "bin", calls=tmp_path / "calls"
    )
    made.commands.mkdir()
    made.calls.touch()
    (made.checkout / "tools").mkdir(parents=True)
    for name in ("requirements.txt", "pyproject.toml", "tools/setup.sh"):
        shutil.copy(root / name, made.checkout / name)
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None, tool
        (made.commands / tool).symlink_to(found)
    made.offer(id=USER_ID)
    return made


def test_without_rights_the_missing_packages_and_the_command_are_named(machine: Machine) -> None:
    machine.offer(python3=PYTHON, ld=SUCCEEDS, apt_get=APT_GET, apt_cache=APT_CACHE)
    done = machine.set_up()
    assert done.returncode != 0
    assert "missing: gcc libc6-dev clang-21 llvm\n" in done.stderr
    assert "apt-get install --no-install-recommends gcc libc6-dev clang-21 llvm\n" in done.stderr
    assert "apt-get" not in machine.said()


def test_a_machine_without_python_is_told_so(machine: Machine) -> None:
    done = machine.set_up(SYSTEM_PACKAGES="skip")
    assert done.returncode != 0
    assert "missing: python3 python3-venv\n" in done.stderr


def test_root_installs_what_is_missing_without_being_asked(machine: Machine) -> None:
    machine.offer_everything()
    machine.offer(id=ROOT_ID, apt_get=APT_GET, apt_cache=APT_CACHE)
    (machine.commands / "clang-19").unlink()
    done = machine.set_up()
    asked = machine.said()
    assert " update\n" in asked
    assert " install --yes --no-install-recommends clang-21\n" in asked
    # The fake installs nothing: what is still missing is an error, not a surprise later.
    assert done.returncode != 0
    assert "missing: clang-21\n" in done.stderr


def test_an_apt_that_fails_is_reported_with_the_command(machine: Machine) -> None:
    machine.offer_everything()
    machine.offer(id=ROOT_ID, apt_get=APT_GET, apt_cache=APT_CACHE)
    (machine.commands / "gcc").unlink()
    done = machine.set_up(APT_FAILS="100")
    assert done.returncode != 0
    assert "apt-get install --no-install-recommends gcc libc6-dev\n" in done.stderr


def test_packages_are_installed_from_the_lock_with_hashes(machine: Machine) -> None:
    machine.offer_everything()
    done = machine.set_up()
    assert done.returncode == 0, done.stderr
    asked = machine.said()
    assert "--require-hashes" in asked
    assert "-r requirements.txt" in asked
    assert "index-url" not in asked
    assert (machine.checkout / ".venv/bin/memstrat").exists()


def test_repeated_set_up_installs_nothing_and_calls_no_apt(machine: Machine) -> None:
    machine.offer_everything()
    machine.offer(id=ROOT_ID, apt_get=APT_GET)
    assert machine.set_up().returncode == 0
    machine.said()
    assert machine.set_up().returncode == 0
    asked = machine.said()
    assert "install" not in asked
    assert "apt-get" not in asked


@pytest.mark.parametrize(
    ("changed", "reinstalls_packages"), [("requirements.txt", True), ("pyproject.toml", False)]
)
def test_a_change_redoes_only_what_depends_on_it(
    changed: str, reinstalls_packages: bool, machine: Machine
) -> None:
    machine.offer_everything()
    assert machine.set_up().returncode == 0
    machine.said()
    with (machine.checkout / changed).open("a") as file:
        file.write("\n# changed\n")
    assert machine.set_up().returncode == 0
    asked = machine.said()
    assert ("--require-hashes" in asked) is reinstalls_packages
    assert "--editable" in asked


def test_an_environment_moved_with_its_checkout_is_built_anew(machine: Machine) -> None:
    machine.offer_everything()
    assert machine.set_up().returncode == 0
    moved = machine.checkout.rename(machine.checkout.with_name("moved"))
    machine.said()
    there = Machine(checkout=moved, commands=machine.commands, calls=machine.calls)
    assert there.set_up().returncode == 0
    assert "--require-hashes" in machine.said()


def test_a_python_that_is_too_old_is_refused_by_name(machine: Machine) -> None:
    machine.offer_everything()
    machine.offer(python3_9=PYTHON)
    done = machine.set_up(PYTHON="python3-9", PYTHON_IS_OLD="1")
    assert done.returncode != 0
    assert "PYTHON=python3-9 is not a Python of version 3.11 to 3.14" in done.stderr
