"""Study files: what is taken, what is refused, and what an editor learns from the schema."""

import contextlib
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped,unused-ignore]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrat.errors import StudyError
from memstrat.generators.sizes import parse_sizes
from memstrat.generators.study import (
    MAX_STUDY_BYTES,
    Study,
    load_study,
    parse_study,
    study_from_document,
    study_from_options,
    study_schema,
)
from memstrat.model import Fill, Isa, Op, Optimisation, Spelling, StoreLimits

STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))

MINIMAL = """
name = "x"
ops = ["memset"]
sizes = [8]
toolchains = ["gcc"]
"""


def refusal(text: str) -> str:
    with pytest.raises(StudyError) as caught:
        parse_study(text, "x.toml")
    return str(caught.value)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.name)
def test_a_shipped_study_loads_and_obeys_the_schema(path: Path) -> None:
    study = load_study(path)
    assert study.name == path.stem
    jsonschema.validate(tomllib.loads(path.read_text()), study_schema())


def test_the_default_study_asks_what_its_name_says() -> None:
    study = load_study(next(path for path in STUDIES if path.stem == "rep-vs-unrolled"))
    assert study.ops == (Op.MEMSET, Op.MEMCPY)
    assert {target.isa for target in study.targets} == set(Isa)
    assert (min(study.all_sizes), max(study.all_sizes), len(study.all_sizes)) == (8, 8192, 80)
    assert study.reference is True


def test_a_minimal_study_has_defaults_for_the_rest() -> None:
    study = parse_study(MINIMAL, "x.toml")
    assert study.fills == (Fill.ZERO,)
    assert study.alignments == (8,)
    assert study.spellings == (Spelling.POINTER,)
    assert study.optimisations == (Optimisation.O2,)
    assert [strategy.strategy().asked for strategy in study.strategies] == ["default"]
    assert study.measure.processes == 7


def test_sizes_are_numbers_ranges_and_tables_each_size_once() -> None:
    text = MINIMAL.replace("[8]", '[64, "8:32:8", "16", { start = 30, stop = 33 }]')
    assert parse_study(text, "x.toml").all_sizes == (8, 16, 24, 30, 31, 32, 33, 64)


def test_targets_are_names_or_tables() -> None:
    text = MINIMAL + 'targets = ["gpr", { isa = "avx2", march = "znver4", mtune = "generic" }]'
    labels = [target.target().label for target in parse_study(text, "x.toml").targets]
    assert labels == ["gpr", "avx2 march=znver4 mtune=generic"]


def test_store_limits_become_a_strategy_for_clang() -> None:
    study = parse_study(MINIMAL + '[[strategies]]\nname = "a"\nlimits = { memset = 64 }', "x.toml")
    assert study.strategies[0].strategy().limits == StoreLimits(memset=64)


REFUSED = {
    "sise = 3": "x.toml: sise is no field of a study; did you mean sizes?",
    'fills = ["zerro"]': "fills[0] = 'zerro' is not one of 'zero', 'constant' or 'variable'",
    'fills = "zero"': "x.toml: fills = 'zero' is not a list",
    "fills = []": "x.toml: fills = [] is empty",
    'fills = ["zero", "zero"]': "item 1 repeats",
    "alignments = [8, 3]": "x.toml: alignments[1] = 3: an alignment is a power of two from 1 to 64",
    'alignments = ["8"]': "x.toml: alignments[0] = '8' is not a whole number",
    "alignments = [true]": "x.toml: alignments[0] = True is not a whole number",
    "alignments = [8.0]": "x.toml: alignments[0] = 8.0 is not a whole number",
    'targets = ["sse"]': "x.toml: targets[0].isa = 'sse' is not one of 'gpr', 'sse2'",
    'targets = [{ isa = "gpr", march = "x -B/" }]': "x.toml: targets[0].march = 'x -B/' is not",
    'targets = [{ isa = "gpr", march = "native" }]': "another CPU on every machine",
    'targets = [{ march = "znver4" }]': "x.toml: targets[0].isa is missing",
    "targets = [3]": "x.toml: targets[0] = 3 is not a table",
    'flags = ["-fplugin=x.so"]': "x.toml: flags = ['-fplugin=x.so']: the flag '-fplugin=x.so'",
    'flags = "-mno-sse"': "x.toml: flags = '-mno-sse' is not a list",
    'reference = ["rep_stosd"]': "x.toml: reference = ['rep_stosd']: 'rep_stosd' is no reference",
    "reference = 1": "x.toml: reference: 1 is no reference form; write true, false",
    "measure = 3": "x.toml: measure = 3 is not a table",
    "[measure]\nprocesses = 4": "x.toml: measure.processes = 4 is below 5",
    "[measure]\ncpu = -1": "x.toml: measure.cpu = -1 is below 0",
    "[measure]\nmax_seconds = nan": "x.toml: measure.max_seconds = nan is",
    '[measure]\nscenarios = ["cold"]': "x.toml: measure.scenarios[0] = 'cold' is not one of 'hot'",
    '[[strategies]]\nmemset = "loop:-1:align"': "x.toml: strategies[0].name is missing",
    '[[strategies]]\nname = "a"\nmemset = "loop:8:align"': "x.toml: strategies[0].memset",
    '[[strategies]]\nname = "a"\nlimits = { memset = 1 }': "x.toml: strategies[0].limits",
    '[[strategies]]\nname = "a"\nlimits = {}': "name no op",
    '[[strategies]]\nname = "a"\nflags = ["-B."]': "x.toml: strategies[0].flags",
    '[[strategies]]\nname = "a"\nmemset = "loop:-1:align"\n'
    '[[strategies]]\nname = "a"\nmemset = "libcall:-1:align"': "two",
    '[[strategies]]\nname = "a"': "strategy that asks for nothing",
    'title = "\\u001b[31mred"': "x.toml: title",
    'title = "two\\nlines"': "x.toml: title",
    '[[strategies]]\nname = "default"\nflags = ["-mno-sse"]': "strategy that asks for nothing",
    '[[strategies]]\nname = "a"\nmemset = "loop:-1:align"\nlimits = { memset = 9 }': "two",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=list(REFUSED))
def test_a_refusal_names_file_field_and_value(text: str, message: str) -> None:
    assert message in refusal(MINIMAL + text)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("[]", "sizes = [] is empty"),
        ("[0]", "sizes[0]: size 0 is out of range; sizes are from 1 to 1048576"),
        ("[8, -8]", "sizes[1]: size -8 is out of range"),
        ("[1048577]", "sizes[0]: size 1048577 is out of range"),
        ('["8:512"]', "sizes[0]: '8:512' is no size"),
        ('["512:8:8"]', "sizes[0] = '512:8:8': size range 512:8:8 is empty"),
        ('["8:512:0"]', "makes no progress"),
        ('["1:1048576:1"]', "more than 4096 different sizes"),
        ("[{ start = 8, stop = 4, step = 0 }]", "sizes[0].step = 0 is below 1"),
        ("[{ start = 8, end = 16 }]", "sizes[0].stop is missing"),
        ("[1.5]", "sizes[0] = 1.5: is no size"),
        ("[1979-05-27]", "sizes[0] = datetime.date(1979, 5, 27): is no size"),
    ],
)
def test_a_size_is_refused_with_its_index(sizes: str, message: str) -> None:
    assert message in refusal(MINIMAL.replace("[8]", sizes))


@pytest.mark.parametrize(
    "name", ["", "/usr/bin/gcc", "./gcc", "gcc -B.", "-x", "gcc;true", "gcc\\n", "a" * 65]
)
def test_a_toolchain_is_a_name_and_never_a_command(name: str) -> None:
    assert "toolchains[0]" in refusal(MINIMAL.replace('"gcc"', f'"{name}"'))


@pytest.mark.parametrize("name", ["gcc", "gcc-12", "clang-22", "clang-newest", "sid_gcc-16+x"])
def test_names_of_installed_and_configured_toolchains_pass(name: str) -> None:
    assert parse_study(MINIMAL.replace('"gcc"', f'"{name}"'), "x").toolchains == (name,)


def test_every_finding_has_a_line_of_its_own() -> None:
    lines = refusal('ops = ["memsat"]\nsizes = [0]').splitlines()
    assert [line.split(" ")[1] for line in lines] == ["name", "ops[0]", "sizes[0]:", "toolchains"]


def test_a_study_of_too_many_lowerings_is_refused_before_they_are_made() -> None:
    text = MINIMAL.replace("[8]", '["1:4096:1"]')
    text += (
        'alignments = [1, 2, 4, 8, 16, 32, 64]\noptimisations = ["O1", "O2", "O3", "Os", "Oz"]\n'
    )
    message = refusal(text + 'targets = ["gpr", "sse2", "avx2", "avx512"]')
    assert "28672 kernels x 20 variants are more than 500000 lowerings" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = \n", "x.toml: is not TOML: Invalid value (at line 1, column 8)"),
        ('name = "x"\nname = "y"', "x.toml: is not TOML: Cannot overwrite a value"),
        ("a = " + "[" * 5000, "nests too deeply"),
        ("a = " + "9" * 5000, "a number too long"),
    ],
    ids=["syntax", "twice", "deep", "long"],
)
def test_text_that_is_not_toml_is_refused_with_its_place(text: str, message: str) -> None:
    assert message in refusal(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin1.toml").write_bytes(b'name = "\xe9"')
    (tmp_path / "large.toml").write_bytes(b"#" * (MAX_STUDY_BYTES + 1))
    for name, message in [
        ("missing.toml", "cannot be read (No such file or directory)"),
        ("", "cannot be read (Is a directory)"),
        ("latin1.toml", "byte 8 is not UTF-8"),
        ("large.toml", "is larger than"),
    ]:
        with pytest.raises(StudyError) as caught:
            load_study(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name}: {message}")


def test_control_characters_of_a_study_do_not_reach_the_terminal() -> None:
    message = refusal('"a\\u001b[31m\\nb" = 1\nname = "\\u001b[31m\\n"')
    assert "\x1b" not in message
    assert all(line.startswith("x.toml: ") for line in message.splitlines())


TOML_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*Study.model_fields, "start", "isa", "x"]), inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*Study.model_fields, "x"]), TOML_VALUES))
def test_any_document_is_a_study_or_a_study_error(document: dict[str, Any]) -> None:
    with contextlib.suppress(StudyError):
        study_from_document(tomllib.loads(MINIMAL) | document, "x.toml")


def test_command_line_values_make_a_study() -> None:
    study = study_from_options(
        sizes="8:512:8,1024",
        ops=["memset", "memcpy"],
        isas=["sse2", "gpr"],
        toolchains=["gcc"],
    )
    assert study.all_sizes == (*range(8, 513, 8), 1024)
    assert [target.isa for target in study.targets] == [Isa.SSE2, Isa.GPR]
    assert study.reference is False


def test_command_line_values_are_checked_like_a_study() -> None:
    with pytest.raises(StudyError, match=r"command line: ops\[0\] = 'memsat'"):
        study_from_options(sizes="8", ops=["memsat"], isas=["sse2"], toolchains=["gcc"])
    with pytest.raises(StudyError, match="'8:' is no size"):
        study_from_options(sizes="8:", ops=["memset"], isas=["sse2"], toolchains=["gcc"])


@given(
    st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 300), st.integers(1, 64)), min_size=1)
)
def test_a_list_of_ranges_gives_each_of_its_sizes_once(parts: list[tuple[int, int, int]]) -> None:
    text = ", ".join(f"{start}:{start + length}:{step}" for start, length, step in parts[:5])
    expected = {
        size for start, length, step in parts[:5] for size in range(start, start + length + 1, step)
    }
    assert parse_sizes(text) == tuple(sorted(expected))


@given(st.text(alphabet="0123456789:, -x", max_size=20))
def test_any_list_of_sizes_is_sizes_or_a_study_error(text: str) -> None:
    try:
        sizes = parse_sizes(text)
    except StudyError:
        return
    assert sizes
    assert all(size >= 1 for size in sizes)


def test_the_schema_describes_every_field_and_offers_choices() -> None:
    schema = study_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for name, field in schema["properties"].items():
        assert field.get("description"), name
    assert schema["$defs"]["Isa"]["enum"] == ["gpr", "sse2", "avx2", "avx512"]
    assert "null" not in json.dumps(schema)


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": ["8:512"]},
        {"sizes": [0]},
        {"alignments": [3]},
        {"toolchains": ["/bin/sh"]},
        {"targets": [{"march": "znver4"}]},
        {"strategies": [{"name": "a", "limits": {"memset": 1}}]},
        {"reference": ["rep_stosd"]},
        {"unknown": 1},
        {"measure": {"processes": 1}},
    ],
    ids=str,
)
def test_the_schema_refuses_what_the_study_refuses(change: dict[str, Any]) -> None:
    document = {**tomllib.loads(MINIMAL), **change}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, study_schema())
