import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrat.runner.cache import Cache, default_cache_directory

KEY = "0123456789abcdef"


def entry_of(folder: Path) -> Path:
    (entry,) = (file for file in folder.rglob("*") if file.is_file())
    return entry


def test_gives_back_what_was_put(tmp_path: Path) -> None:
    cache = Cache(directory=tmp_path / "deep" / "cache")
    assert cache.get("build", KEY) is None
    cache.put("build", KEY, b"blob")
    assert cache.get("build", KEY) == b"blob"
    assert cache.get("other", KEY) is None


def test_the_last_write_counts(tmp_path: Path) -> None:
    cache = Cache(directory=tmp_path)
    cache.put("build", KEY, b"old")
    cache.put("build", KEY, b"new")
    assert cache.get("build", KEY) == b"new"


@given(blob=st.binary(max_size=400), position=st.integers(0), flip=st.integers(1, 255))
def test_an_entry_with_a_wrong_byte_counts_as_absent(
    tmp_path_factory: pytest.TempPathFactory, blob: bytes, position: int, flip: int
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    cache = Cache(directory=folder)
    cache.put("build", KEY, blob)
    entry = entry_of(folder)
    content = bytearray(entry.read_bytes())
    content[position % len(content)] ^= flip
    entry.write_bytes(content)
    assert cache.get("build", KEY) is None


@given(blob=st.binary(max_size=400), kept=st.integers(0))
def test_an_entry_that_was_cut_short_counts_as_absent(
    tmp_path_factory: pytest.TempPathFactory, blob: bytes, kept: int
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    cache = Cache(directory=folder)
    cache.put("build", KEY, blob)
    entry = entry_of(folder)
    content = entry.read_bytes()
    entry.write_bytes(content[: kept % len(content)])
    assert cache.get("build", KEY) is None


def test_a_cache_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    cache = Cache(directory=file)
    cache.put("build", KEY, b"blob")
    assert cache.get("build", KEY) is None


WRITER = """
import sys
from pathlib import Path
from memstrat.runner.cache import Cache

cache = Cache(directory=Path(sys.argv[1]))
for _ in range(100):
    cache.put("build", sys.argv[2], sys.argv[3].encode() * 100_000)
    assert cache.get("build", sys.argv[2]) is not None
"""


def test_processes_that_write_the_same_entry_see_whole_ones(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), KEY, letter])
        for letter in "abc"
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    entry_of(tmp_path)


def test_stands_where_the_user_keeps_caches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_directory() == tmp_path / "memstrat"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache_directory() == tmp_path / ".cache" / "memstrat"


def test_a_user_without_a_home_has_a_cache_that_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    cache = Cache(directory=default_cache_directory())
    cache.put("build", KEY, b"blob")
    assert cache.get("build", KEY) is None
