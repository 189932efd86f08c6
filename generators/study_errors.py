"""Turns pydantic's findings about a study file into lines that say what would be right."""

import difflib
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

MAX_FINDINGS = 20
"""Lines of findings in one message; the rest are counted."""

_MEANINGS = {
    "int_type": "is not a whole number",
    "float_type": "is not a number",
    "string_type": "is not a text",
    "bool_type": "is not true or false",
    "tuple_type": "is not a list; write it in [ ]",
    "too_short": "is empty; name at least one",
    "model_type": "is not a table; write it as { field = value }",
    "model_attributes_type": "is not a table; write it as { field = value }",
}


def explain(error: ValidationError, origin: str, root: type[BaseModel]) -> str:
    """All findings of `error`, one a line: origin, field path, value, and what would be right."""
    findings: list[Any] = error.errors(include_url=False)
    locations = [tuple(found["loc"]) for found in findings]
    lines = dict.fromkeys(
        f"{origin}: {_finding(found, root)}" for found in findings if not _is_echo(found, locations)
    )
    shown = list(lines)[:MAX_FINDINGS]
    if len(lines) > len(shown):
        shown.append(f"{origin}: and {len(lines) - len(shown)} more")
    return "\n".join(shown)


def field_path(location: Sequence[int | str]) -> str:
    """`("sizes", 1)` as `sizes[1]`, `("measure", "cpu")` as `measure.cpu`."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            name = part if part.isidentifier() and len(part) <= 40 else shown_value(part)
            path += f".{name}" if path else name
    return path


def shown_value(value: object) -> str:
    """`value` on one line, control characters escaped, cut to a readable length."""
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _finding(found: dict[str, Any], root: type[BaseModel]) -> str:
    kind = found["type"]
    # A union adds the name of the member that it tried, in which no reader is interested.
    location = [part for part in found["loc"] if not (isinstance(part, str) and _is_type(part))]
    path = field_path(location)
    value = shown_value(found["input"])
    if kind == "missing":
        return f"{path} is missing"
    if kind == "extra_forbidden":
        return f"{path} is no field of a study{_known_fields(location, root)}"
    if kind == "value_error":
        reason = str(found["ctx"]["error"])
        if not path or value in reason:
            return f"{path}: {reason}" if path else reason
        return f"{path} = {value}: {reason}"
    meaning = _MEANINGS.get(kind)
    if meaning is None:
        meaning = _right(kind, found.get("ctx", {}), found["msg"])
    return f"{path} = {value} {meaning}"


def _right(kind: str, context: dict[str, Any], message: str) -> str:
    if kind == "enum":
        return f"is not one of {context['expected']}"
    if kind == "string_pattern_mismatch":
        return (
            f"is not a plain name ({context['pattern']}): a study names compilers and CPUs, it "
            "gives no commands, paths or flags"
        )
    if kind == "string_too_long":
        return f"is longer than {context['max_length']} characters"
    if kind == "too_long":
        return f"has more than {context['max_length']} items"
    bounds = {
        "greater_than_equal": "is below {ge}, the least",
        "less_than_equal": "is above {le}, the most",
        "greater_than": "is not above {gt}",
    }
    return bounds[kind].format(**context) if kind in bounds else f"is refused: {message}"


def _is_echo(found: dict[str, Any], locations: list[tuple[int | str, ...]]) -> bool:
    """Whether a list is found short only because its items were refused."""
    own = tuple(found["loc"])
    return found["type"] == "too_short" and any(
        len(other) > len(own) and other[: len(own)] == own for other in locations
    )


def _is_type(part: str) -> bool:
    return part in {"bool", "float", "int", "str"} or part.startswith(("tuple[", "function-"))


def _known_fields(location: Sequence[int | str], root: type[BaseModel]) -> str:
    if len(location) != 1:
        return ""
    known = list(root.model_fields)
    near = difflib.get_close_matches(str(location[0]), known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"its fields are {', '.join(known)}"
    return f"; {hint}"
