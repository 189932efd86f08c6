from pathlib import Path

import pytest

from memstrat.errors import ToolchainError
from memstrat.runner.toolchains.configuration import (
    ConfigurationError,
    load_configuration,
    parse_configuration,
    parse_toolchain_option,
    parse_toolchain_options,
)


def test_reads_commands_by_name() -> None:
    text = '[toolchains]\n"sid-gcc-16" = ["chroot", "/srv/sid", "gcc-16"]\n'
    assert parse_configuration(text, "x") == {"sid-gcc-16": ("chroot", "/srv/sid", "gcc-16")}


def test_without_a_file_there_are_no_toolchains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert load_configuration() == {}


def test_reads_the_users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "memstrat").mkdir()
    (tmp_path / "memstrat" / "config.toml").write_text('[toolchains]\nmine = ["gcc"]\n')
    assert load_configuration() == {"mine": ("gcc",)}


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such configuration file"):
        load_configuration(tmp_path / "absent.toml")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_configuration(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[toolchains", "not TOML"),
        ('[toolchains]\na = "gcc -O2"\n', r"toolchains\.a = 'gcc -O2'.*a list of words"),
        ("[toolchains]\na = []\n", r"toolchains\.a = \[\]"),
        ('[toolchains]\na = ["gcc", 3]\n', r"toolchains\.a\.1 = 3"),
        ('[toolchains]\na = [""]\n', r"toolchains\.a\.0 = ''"),
        ('[toolchains]\n"../a" = ["gcc"]\n', r"toolchains\.\.\./a: the name is not made of"),
        ('[toolchain]\na = ["gcc"]\n', r"toolchain: is not known"),
    ],
)
def test_an_error_names_file_field_and_value(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        parse_configuration(text, "my.toml")
    assert str(caught.value).startswith("my.toml: ")


def test_an_option_is_split_as_a_shell_would() -> None:
    name, command = parse_toolchain_option("x=env 'A=b c' gcc")
    assert (name, command) == ("x", ("env", "A=b c", "gcc"))


@pytest.mark.parametrize("text", ["gcc", "=gcc", "x=", "x='unclosed", "a b=gcc", "x=''"])
def test_an_option_that_is_no_toolchain_is_refused_by_its_text(text: str) -> None:
    with pytest.raises(ToolchainError) as caught:
        parse_toolchain_option(text)
    assert repr(text) in str(caught.value)


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(ToolchainError, match="twice"):
        parse_toolchain_options(["a=gcc", "a=clang"])
    assert parse_toolchain_options(["a=gcc", "b=clang"]) == {"a": ("gcc",), "b": ("clang",)}


def test_a_user_without_a_home_has_no_toolchains(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    assert load_configuration() == {}
