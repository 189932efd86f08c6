"""The user's own configuration: compilers under names of the user's choice.

A file in TOML, `$XDG_CONFIG_HOME/memstrat/config.toml` unless another is named:

    [toolchains]
    "sid-gcc-16" = ["chroot", "/srv/sid", "gcc-16"]

Commands come from here or from the command line, and never from a study, since studies arrive from
others.
"""

import re
import shlex
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from memstrat.errors import ToolchainError, UsageError
from memstrat.runner.folders import user_folder

TOOLCHAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
"""What a toolchain may be called: it becomes part of labels, file names and tables."""

_NAME_RULE = "letters, digits, '.', '_', '+' and '-', the first a letter or a digit"


class ConfigurationError(UsageError):
    """The configuration file cannot be read or does not say what it should."""


_Word = Annotated[str, Field(min_length=1, strict=True)]
_Command = Annotated[list[_Word], Field(min_length=1)]


class _Configuration(BaseModel):
    """The file's content."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    toolchains: dict[Annotated[str, Field(pattern=f"^(?:{TOOLCHAIN_NAME.pattern})$")], _Command] = (
        Field(default_factory=dict)
    )


def default_path() -> Path | None:
    """Where the configuration is looked for when no file is named; None for want of a home."""
    folder = user_folder("XDG_CONFIG_HOME", ".config")
    return None if folder is None else folder / "config.toml"


def load_configuration(path: Path | None = None) -> dict[str, tuple[str, ...]]:
    """The commands of the user's toolchains by name.

    Without a `path` the default file is read, and may be absent. Raises ConfigurationError.
    """
    file = default_path() if path is None else path
    if file is None:
        return {}
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if path is None:
            return {}
        raise ConfigurationError(f"{file}: there is no such configuration file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file}: cannot be read: {error}") from error
    return parse_configuration(text, str(file))


def parse_configuration(text: str, origin: str) -> dict[str, tuple[str, ...]]:
    """The commands of the toolchains in `text`; `origin` names it in a ConfigurationError."""
    try:
        content = _Configuration.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{origin}: not TOML: {error}") from error
    except ValidationError as error:
        problems = "\n".join(_problem(origin, each) for each in error.errors())
        raise ConfigurationError(problems) from error
    return {name: tuple(command) for name, command in content.toolchains.items()}


def parse_toolchain_option(text: str) -> tuple[str, tuple[str, ...]]:
    """A toolchain as the command line gives it: `NAME=COMMAND`, its words as a shell splits them.

    >>> parse_toolchain_option("sid-gcc=chroot /srv/sid gcc-16")
    ('sid-gcc', ('chroot', '/srv/sid', 'gcc-16'))

    Raises ToolchainError.
    """
    name, equals, command = text.partition("=")
    right = "NAME=COMMAND, such as 'sid-gcc=chroot /srv/sid gcc-16'"
    if not equals:
        raise ToolchainError(f"--toolchain {text!r}: has no '='; write {right}")
    if not TOOLCHAIN_NAME.fullmatch(name):
        raise ToolchainError(f"--toolchain {text!r}: the name {name!r} is not made of {_NAME_RULE}")
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise ToolchainError(
            f"--toolchain {text!r}: the command cannot be split: {error}"
        ) from error
    if not words or not words[0]:
        raise ToolchainError(f"--toolchain {text!r}: the command is empty; write {right}")
    return name, words


def parse_toolchain_options(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Several toolchains as the command line gives them.

    Raises ToolchainError, also for a name that is given twice.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, words = parse_toolchain_option(text)
        if name in found:
            raise ToolchainError(f"--toolchain {text!r}: the name {name!r} is given twice")
        found[name] = words
    return found


def _problem(origin: str, error: ErrorDetails) -> str:
    """One of pydantic's complaints as: file, field, value, what is wrong."""
    location = error["loc"]
    field = ".".join(str(part) for part in location if part != "[key]")
    if "[key]" in location:
        return f"{origin}: {field}: the name is not made of {_NAME_RULE}"
    if error["type"] == "extra_forbidden":
        return f"{origin}: {field}: is not known; the file may have [toolchains] only"
    right = 'a toolchain is a list of words, such as ["chroot", "/srv/sid", "gcc-16"]'
    return f"{origin}: {field} = {error['input']!r}: {error['msg']}; {right}"
