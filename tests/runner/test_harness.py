"""Compiling and running the harness: reproducible, cached, and clear about what goes wrong."""

import shutil
from pathlib import Path

import pytest

from memstrat.errors import HarnessError
from memstrat.runner.native.harness import (
    HarnessEndedError,
    build_harness,
    harness_records,
    index_ranges,
    machine_record,
)


@pytest.mark.native
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_harness_compiles_without_warnings(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    made = build_harness(tmp_path, compiler=(compiler,))
    assert machine_record(made)["record"] == "machine"


@pytest.mark.native
def test_a_harness_is_compiled_once_per_set_of_flags(tmp_path: Path) -> None:
    flags = ["-O0"]  # compiles fastest
    made = build_harness(tmp_path, extra_flags=flags)
    before = made.stat().st_mtime_ns
    assert build_harness(tmp_path, extra_flags=flags) == made
    assert made.stat().st_mtime_ns == before
    assert build_harness(tmp_path, extra_flags=["-O0", "-g"]) != made


def test_a_missing_compiler_is_named_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"no C compiler 'no-such-cc'.*install gcc or clang"):
        build_harness(tmp_path, compiler=("no-such-cc",))


@pytest.mark.native
def test_a_compiler_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="no-such-flag"):
        build_harness(tmp_path, extra_flags=["-fno-such-flag"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.native
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], "give one of the commands"),
        (["measure", "--seed"], "an option is unknown"),
        (["measure", "--min-rounds", "9", "--max-rounds", "8"], "--min-rounds is larger"),
        (["verify"], "does not end in a pack"),
    ],
)
def test_the_harness_says_what_is_wrong_with_its_arguments(
    arguments: list[str], words: str, harness: Path
) -> None:
    with pytest.raises(HarnessEndedError, match=words):
        list(harness_records(harness, arguments, silence_s=10))


def script(folder: Path, text: str) -> Path:
    """A program that stands in for a pack."""
    path = folder / "pack"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_lines_before_an_early_end_are_kept(tmp_path: Path) -> None:
    pack = script(tmp_path, """echo '{"record": "cell"}'; kill -KILL $$""")
    records = harness_records(pack, [], silence_s=10)
    assert next(records) == {"record": "cell"}
    with pytest.raises(HarnessEndedError, match="signal 9"):
        next(records)


def test_a_harness_that_says_nothing_is_ended(tmp_path: Path) -> None:
    pack = script(tmp_path, "exec sleep 60")
    with pytest.raises(HarnessEndedError, match=r"said nothing for 0\.2 s"):
        list(harness_records(pack, [], silence_s=0.2))


def test_a_pack_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="absent cannot be started"):
        list(harness_records(tmp_path / "absent", [], silence_s=1))


@pytest.mark.parametrize(
    ("indices", "text"),
    [([0, 1, 2, 7], "0-2,7"), ([3], "3"), ([2, 1, 0], "2,1,0"), ([], ""), ([5, 6, 1], "5-6,1")],
)
def test_indices_are_written_as_ranges_in_their_order(indices: list[int], text: str) -> None:
    assert index_ranges(indices) == text
