"""The kinds of value that a study's fields take, each with its check."""

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StrictInt,
    StrictStr,
    StringConstraints,
)

from memstrat.errors import UsageError
from memstrat.generators.flags import flags_refusal
from memstrat.generators.reference import REFERENCE_FORMS
from memstrat.generators.sizes import (
    MAX_SIZE,
    MAX_SIZES,
    SIZE_PATTERN,
    SizeRange,
    merged_sizes,
    parse_size_range,
)
from memstrat.generators.strategy import MAX_STORES, MIN_STORES, parse_stringop_strategy

ALIGNMENTS = (1, 2, 4, 8, 16, 32, 64)
"""Bytes of alignment that a kernel can assume; a pack aligns its buffers to 64."""

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
_CPU_NAME = r"^[a-z0-9][a-z0-9._-]*$"

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")


def as_finding(check: Callable[_P, _R]) -> Callable[_P, _R]:
    """`check` with its UsageError turned into what pydantic collects beside other findings."""

    @wraps(check)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return check(*args, **kwargs)
        except UsageError as error:
            raise ValueError(str(error)) from None

    return wrapped


class StudyTable(BaseModel):
    """Base of a study's tables: nothing unknown passes, nothing changes afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class SizeTable(StudyTable):
    """A stepped range of sizes."""

    start: Annotated[StrictInt, Field(ge=1, le=MAX_SIZE)]
    """The first size, in bytes."""
    stop: Annotated[StrictInt, Field(ge=1, le=MAX_SIZE)]
    """The last size, in bytes, included where a step meets it."""
    step: Annotated[StrictInt, Field(ge=1, le=MAX_SIZE)] = 1
    """Bytes between two sizes."""


@as_finding
def _size_item(value: object) -> SizeRange:
    if isinstance(value, SizeRange):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return SizeRange(start=value, stop=value)
    if isinstance(value, str):
        return parse_size_range(value)
    if isinstance(value, dict):
        table = SizeTable.model_validate(value)
        return SizeRange(start=table.start, stop=table.stop, step=table.step)
    raise ValueError(
        'is no size; write a number of bytes such as 256, a range such as "8:512:8", or a table '
        "{ start = 8, stop = 512, step = 8 }"
    )


@as_finding
def _sizes(value: tuple[SizeRange, ...]) -> tuple[SizeRange, ...]:
    merged_sizes(value)
    return value


def _alignment(value: int) -> int:
    if value not in ALIGNMENTS:
        raise ValueError(f"an alignment is a power of two from 1 to {ALIGNMENTS[-1]}")
    return value


def _one_line(value: str) -> str:
    if not value.isprintable():
        raise ValueError("holds a line end or a control character; write one line of plain text")
    return value


def _cpu_name(value: str) -> str:
    if value == "native":
        raise ValueError(
            "`native` is another CPU on every machine, so that two machines would answer different "
            "questions; write the CPU's name, such as znver4"
        )
    return value


def _flags(value: tuple[str, ...]) -> tuple[str, ...]:
    refusal = flags_refusal(value)
    if refusal is not None:
        raise ValueError(refusal)
    return value


@as_finding
def _stringop_strategy(value: str) -> str:
    return str(parse_stringop_strategy(value))


def _reference(value: object) -> bool | tuple[str, ...]:
    if isinstance(value, bool):
        return value
    names = value if isinstance(value, list | tuple) else (value,)
    for name in names:
        if not isinstance(name, str) or name not in REFERENCE_FORMS:
            raise ValueError(
                f"{ascii(name)[:60]} is no reference form; write true, false, or a list of "
                f"{', '.join(REFERENCE_FORMS)}"
            )
    return tuple(dict.fromkeys(names))


def distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """`values`, when none stands there twice. Raises ValueError."""
    seen = set()
    for index, value in enumerate(values):
        if value in seen:
            raise ValueError(f"item {index} repeats an item before it; name each once")
        seen.add(value)
    return values


Several = Annotated[tuple[_T, ...], Field(min_length=1), AfterValidator(distinct)]
Name = Annotated[StrictStr, StringConstraints(pattern=_NAME, max_length=64)]
Title = Annotated[StrictStr, StringConstraints(max_length=200), AfterValidator(_one_line)]
CpuName = Annotated[
    StrictStr, StringConstraints(pattern=_CPU_NAME, max_length=32), AfterValidator(_cpu_name)
]
Stores = Annotated[
    StrictInt, Field(json_schema_extra={"minimum": MIN_STORES, "maximum": MAX_STORES})
]
StringopText = Annotated[
    StrictStr,
    StringConstraints(max_length=200),
    AfterValidator(_stringop_strategy),
    Field(examples=["rep_8byte:-1:noalign", "unrolled_loop:256:noalign,libcall:-1:noalign"]),
]
Flags = Annotated[tuple[StrictStr, ...], Field(max_length=32), AfterValidator(_flags)]
SizeItem = Annotated[
    SizeRange,
    PlainValidator(
        _size_item,
        json_schema_input_type=Annotated[int, Field(ge=1, le=MAX_SIZE)]
        | Annotated[str, StringConstraints(pattern=f"^{SIZE_PATTERN}$")]
        | SizeTable,
    ),
]
Sizes = Annotated[
    tuple[SizeItem, ...],
    Field(
        min_length=1,
        max_length=MAX_SIZES,
        examples=[[64, "8:512:8", {"start": 1024, "stop": 4096, "step": 256}]],
    ),
    AfterValidator(_sizes),
]
Alignment = Annotated[
    StrictInt, AfterValidator(_alignment), Field(json_schema_extra={"enum": list(ALIGNMENTS)})
]
ReferenceNames = Annotated[
    bool | tuple[str, ...],
    PlainValidator(
        _reference,
        json_schema_input_type=bool
        | list[Annotated[str, Field(json_schema_extra={"enum": list(REFERENCE_FORMS)})]],
    ),
]
