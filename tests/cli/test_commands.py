"""The other commands, and what all commands have in common."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest


def memstrat(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "memstrat", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['memstrat', '--help']\n"
        "from memstrat.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'pandas', 'numpy', 'pyarrow', 'pydantic', 'altair', 'iced_x86', 'rich'}\n"
        "print('heavy:', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    for command in ("run", "report", "inspect", "schema", "--version"):
        assert command in done.stdout
    assert "heavy: []" in done.stdout


def test_version_is_that_of_the_installed_package() -> None:
    from importlib.metadata import version

    assert memstrat("--version").stdout == f"memstrat {version('memstrat')}\n"


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["run"], ["run", "a", "--jobs", "0"]])
def test_bad_usage_ends_with_2(arguments: list[str]) -> None:
    done = memstrat(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_schema_describes_the_shipped_studies() -> None:
    import tomllib

    schema = json.loads(memstrat("schema").stdout)
    studies = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))
    assert studies
    for study in studies:
        jsonschema.validate(tomllib.loads(study.read_text()), schema)


@pytest.mark.parametrize("arguments", [["report"], ["report", "--csv"]])
def test_a_report_of_nothing_ends_with_2(tmp_path: Path, arguments: list[str]) -> None:
    done = memstrat("report", tmp_path)
    assert done.returncode == 2
    assert "no memstrat results here" in done.stderr


@pytest.mark.compilers
def test_inspect_prints_where_gcc_changes_its_mind() -> None:
    done = memstrat(
        *("inspect", "--sizes", "8:512:8", "--op", "memset,memcpy", "--isa", "sse2,gpr", "gcc"),
        *("--json",),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [each["label"] for each in document["variants"]] == [
        "gcc -O2 sse2 default",
        "gcc -O2 gpr default",
    ]
    for each in document["variants"]:
        assert [kernel["size"] for kernel in each["kernels"]] == [*range(8, 513, 8)] * 2
        spans = [(found["first"], found["last"]) for found in each["ranges"]]
        assert spans[0][0] == 8
        assert spans[-1][1] == 512


@pytest.mark.compilers
def test_inspect_shows_the_assembly_of_a_size() -> None:
    strategy = "--memcpy-strategy=rep_8byte:-1:noalign"
    done = memstrat(
        *("inspect", "gcc", "--sizes", "168", "--op", "memcpy", "--isa", "gpr", strategy),
        "--assembly",
    )
    assert done.returncode == 0, done.stderr
    assert "rep movsq" in done.stdout
    assert "GCC selected rep_8byte" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-gcc"], "no-such-gcc"),
        (["gcc", "--sizes", "8:x:8"], "8:x:8"),
        (["gcc", "--memset-strategy", "rep_8byte:100:noalign"], "-1"),
        (["gcc", "--flag=-fplugin=evil.so"], "-fplugin"),
        (["gcc", "--toolchain", "gcc"], "NAME=COMMAND"),
    ],
)
def test_inspect_refuses_what_it_must(arguments: list[str], message: str) -> None:
    done = memstrat("inspect", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
