import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrat.runner.compile.expand_dump import DUMP_FLAG, parse_expand_dump, split_expand_dump

DUMP = """\
<stdin>:1:2: warning: something
    1 | text
      | ^~~~

;; Function small (small, funcdef_no=0, decl_uid=1979, cgraph_uid=1, symbol_order=0)

;; Generating RTL for gimple basic block 2
    1: NOTE_INSN_DELETED

;; Function big (big, funcdef_no=1, decl_uid=1980, cgraph_uid=2, symbol_order=1)

Selected stringop expansion strategy: libcall
Selected stringop expansion strategy: rep_8byte
    6: {cx:DI=0;di:DI=cx:DI<<0x3+di:DI;}
<stdin>:9:1: error: no such thing
"""


def test_keeps_what_was_selected_and_drops_the_rest() -> None:
    dump, messages = split_expand_dump(DUMP)
    assert parse_expand_dump(dump) == {"big": ("libcall", "rep_8byte")}
    assert "small" not in dump
    assert "NOTE" not in dump + messages


def test_messages_come_out_in_order() -> None:
    _, messages = split_expand_dump(DUMP)
    assert messages.splitlines() == [
        "<stdin>:1:2: warning: something",
        "    1 | text",
        "      | ^~~~",
        "<stdin>:9:1: error: no such thing",
    ]


def test_reads_the_whole_dump_as_well_as_the_kept_part() -> None:
    assert parse_expand_dump(DUMP) == parse_expand_dump(split_expand_dump(DUMP)[0])


def test_a_compiler_that_only_complains_has_no_dump() -> None:
    assert split_expand_dump("cc1: error: bad value\n") == ("", "cc1: error: bad value")


def test_a_crash_in_the_middle_of_the_dump_is_a_message() -> None:
    crash = "during RTL pass: expand\n<stdin>:3:1: internal compiler error: Segmentation fault\n"
    _, messages = split_expand_dump(DUMP + crash)
    assert "internal compiler error" in messages


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    dump, _ = split_expand_dump(text)
    assert parse_expand_dump(dump) == parse_expand_dump(text)


@pytest.mark.compilers
def test_gcc_says_what_it_selected() -> None:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("gcc is not installed")
    kernel = "void {}(void *d) {{ __builtin_memset(d, 0, {}); }}\n"
    source = kernel.format("f", 8) + kernel.format("g", 4000)
    flags = ["-O2", "-mtune=generic", "-mmemset-strategy=rep_8byte:-1:noalign", "-Wall", DUMP_FLAG]
    done = subprocess.run(
        [gcc, *flags, "-x", "c", "-", "-S", "-o", "-"],
        input=source.encode(),
        capture_output=True,
        check=True,
    )
    dump, messages = split_expand_dump(done.stderr.decode())
    assert parse_expand_dump(dump) == {"g": ("rep_8byte",)}
    assert messages == ""
