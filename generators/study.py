"""Study files: what is asked, of which compilers, for which sizes.

A study is TOML. It arrives in pull requests, so nothing in it can name a command, a path or a flag
outside the list of generators/flags.py; toolchains are names that the reader's machine resolves.
"""

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from memstrat.errors import StudyError
from memstrat.generators.sizes import merged_sizes, parse_sizes
from memstrat.generators.strategy import check_store_limits, parse_stringop_strategy
from memstrat.generators.study_errors import explain
from memstrat.generators.study_fields import (
    Alignment,
    CpuName,
    Flags,
    Name,
    ReferenceNames,
    Several,
    Sizes,
    Stores,
    StringopText,
    StudyTable,
    Title,
    as_finding,
)
from memstrat.model import (
    DEFAULT_STRATEGY,
    Fill,
    Isa,
    Op,
    Optimisation,
    Scenario,
    Spelling,
    StoreLimits,
    Strategy,
    Target,
)

MAX_STUDY_BYTES = 256 * 1024
"""A study file larger than this is not read."""

MAX_LOWERINGS = 500_000
"""Kernels x variants of one study, before the rules of the plan skip some."""

MIN_PROCESSES = 5
"""Fewer processes give an interval that is no use."""


def _target_item(value: object) -> object:
    return {"isa": value} if isinstance(value, str) else value


class TargetTable(StudyTable):
    """The CPU that is compiled for, and the registers that a kernel may use."""

    isa: Isa
    """The widest registers allowed: gpr (as in an operating-system kernel), sse2, avx2, avx512."""
    march: CpuName | None = None
    """-march. Default: x86-64, x86-64-v3 for avx2, x86-64-v4 for avx512. `isa` still restricts."""
    mtune: CpuName | None = None
    """-mtune. Default: what -march brings."""

    def target(self) -> Target:
        """The same as a value of the model."""
        return Target(isa=self.isa, march=self.march, mtune=self.mtune)


TargetItem = Annotated[
    TargetTable, BeforeValidator(_target_item, json_schema_input_type=Isa | TargetTable)
]


class LimitsTable(StudyTable):
    """LLVM's -max-store-*: how many stores at most replace a call. Needs clang 22 or newer."""

    memset: Stores | None = None
    """Stores that may replace a memset."""
    memcpy: Stores | None = None
    """Stores that may replace a memcpy."""
    memmove: Stores | None = None
    """Stores that may replace a memmove."""

    @model_validator(mode="after")
    @as_finding
    def _check(self) -> Self:
        check_store_limits(self.limits())
        return self

    def limits(self) -> StoreLimits:
        """The same as a value of the model."""
        return StoreLimits(**self.model_dump())


class StrategyTable(StudyTable):
    """What is asked of a compiler beyond its default; with nothing but a name, the default itself.

    `memset` and `memcpy` make it a strategy for GCC, `limits` one for clang.
    """

    name: Annotated[Name, Field(examples=["default", "rep-8byte", "stores-64"])]
    """What reports call it."""
    memset: StringopText | None = None
    """GCC's -mmemset-strategy: algorithm:max_size:align rules, at most 4, the last up to -1."""
    memcpy: StringopText | None = None
    """GCC's -mmemcpy-strategy, written like `memset`."""
    limits: LimitsTable | None = None
    """LLVM's store limits."""
    flags: Flags = ()
    """Further flags, from the list that generators/flags.py allows."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.limits is not None and (self.memset is not None or self.memcpy is not None):
            raise ValueError(
                "memset and memcpy are for GCC, limits are for clang: no compiler takes both; "
                "write two strategies"
            )
        if (self.strategy().asked == DEFAULT_STRATEGY.asked) != (
            self.name == DEFAULT_STRATEGY.name
        ):
            raise ValueError(
                f"{self.name}: reports call a compiler's own choice `default`, so that is the name "
                "of a strategy that asks for nothing, and of no other"
            )
        return self

    def strategy(self) -> Strategy:
        """The same as a value of the model."""
        return Strategy(
            name=self.name,
            memset=None if self.memset is None else parse_stringop_strategy(self.memset),
            memcpy=None if self.memcpy is None else parse_stringop_strategy(self.memcpy),
            limits=None if self.limits is None else self.limits.limits(),
            flags=self.flags,
        )


class MeasureTable(StudyTable):
    """How codes are measured."""

    scenarios: Several[Scenario] = (Scenario.HOT,)
    """The states in which codes are measured."""
    processes: Annotated[StrictInt, Field(ge=MIN_PROCESSES, le=101)] = 7
    """How many processes measure every cell; intervals are made over them."""
    cpu: Annotated[StrictInt, Field(ge=0, le=65535)] | None = None
    """The processor to pin to. Default: memstrat chooses."""
    max_seconds: Annotated[StrictFloat, Field(gt=0, le=86400)] | None = None
    """Stop measuring after so many seconds; what is missing is reported."""


class Study(StudyTable):
    """A memstrat study: kernels x toolchains x levels x targets x strategies."""

    model_config = ConfigDict(title="memstrat study")

    name: Name
    """Short name, used for the results folder."""
    title: Title = ""
    """One line for the head of the report."""
    description: Annotated[StrictStr, StringConstraints(max_length=10_000)] = ""
    """What the study is about, for its readers."""
    ops: Several[Op]
    """The memory operations: memset, memcpy, memmove."""
    sizes: Sizes
    """Sizes in bytes: numbers, ranges "START:STOP:STEP", or tables { start, stop, step }."""
    fills: Several[Fill] = (Fill.ZERO,)
    """What a memset stores: zero, constant (a byte known when compiling), variable."""
    alignments: Several[Alignment] = (8,)
    """Alignments in bytes that the compiler may assume of both pointers."""
    spellings: Several[Spelling] = (Spelling.POINTER,)
    """How C asks: pointer (a call of the builtin) or struct (assignment, clearing).

    Struct kernels exist where the size is a multiple of the alignment, for memcpy and memset zero;
    the others are left out, which the plan reports.
    """
    toolchains: Several[Name]
    """Names of compilers: gcc, gcc-12, clang-22, gcc-newest, clang-newest, or one from the user's
    own configuration. Never a command."""
    optimisations: Several[Optimisation] = (Optimisation.O2,)
    """Optimisation levels."""
    targets: Several[TargetItem] = (TargetTable(isa=Isa.SSE2),)
    """What is compiled for: names of an ISA, or tables { isa, march, mtune }."""
    strategies: Several[StrategyTable] = (StrategyTable(name="default"),)
    """What is asked of the compilers; each applies to the compilers that understand it."""
    flags: Flags = ()
    """Flags for every compile, from the list that generators/flags.py allows."""
    reference: ReferenceNames = True
    """The forms written by hand, which exist at every size: true (all), false (none), or names."""
    measure: MeasureTable = MeasureTable()
    """In which states, how often and for how long codes are measured."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [strategy.name for strategy in self.strategies]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two strategies are named {twice[0]}; give each a name of its own")
        variants = len(self.toolchains) * len(self.optimisations)
        variants *= len(self.targets) * len(self.strategies)
        fills = len(self.fills) if Op.MEMSET in self.ops else 0
        copies = len([op for op in self.ops if op is not Op.MEMSET])
        kernels = len(self.all_sizes) * (fills + copies)
        kernels *= len(self.alignments) * len(self.spellings)
        if kernels * variants > MAX_LOWERINGS:
            raise ValueError(
                f"{kernels} kernels x {variants} variants are more than {MAX_LOWERINGS} lowerings; "
                "take fewer sizes, or split the study"
            )
        return self

    @property
    def all_sizes(self) -> tuple[int, ...]:
        """The sizes, ascending, each once."""
        return merged_sizes(self.sizes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Study":
        """The study in the file `path`. Raises StudyError."""
        return load_study(Path(path))


def load_study(path: Path) -> Study:
    """The study in the file `path`. Raises StudyError, which names the file, field and value."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_STUDY_BYTES + 1)
    except OSError as error:
        raise StudyError(
            f"{path}: cannot be read ({error.strerror}); give the path of a study file, such as "
            "studies/quick.toml"
        ) from None
    if len(content) > MAX_STUDY_BYTES:
        raise StudyError(f"{path}: is larger than {MAX_STUDY_BYTES} bytes, which no study needs")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StudyError(
            f"{path}: byte {error.start} is not UTF-8; TOML files are UTF-8 text"
        ) from None
    return parse_study(text, str(path))


def parse_study(text: str, origin: str) -> Study:
    """The study that the TOML `text` describes; `origin` names the text in errors.

    Raises StudyError, which names every wrong field with its value and what would be right.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{origin}: is not TOML: {error}") from None
    except (RecursionError, ValueError):
        # tomllib lets both through: deep nesting, and integers of thousands of digits.
        raise StudyError(f"{origin}: nests too deeply or holds a number too long to read") from None
    return study_from_document(document, origin)


def study_from_document(document: Mapping[str, Any], origin: str) -> Study:
    """The study that parsed TOML describes; `origin` names it in errors. Raises StudyError."""
    try:
        return Study.model_validate(document)
    except ValidationError as error:
        raise StudyError(explain(error, origin, Study)) from None


def study_from_options(
    *,
    sizes: str,
    ops: Sequence[str],
    isas: Sequence[str | Mapping[str, str]],
    toolchains: Sequence[str],
    **fields: object,
) -> Study:
    """A study for command-line values; `fields` are further fields of a study file.

    An item of `isas` is an ISA, or a target as a study writes it: isa, march, mtune.

    Raises StudyError, which names the option's field.
    """
    document = {
        "name": "command-line",
        "sizes": list(parse_sizes(sizes)),
        "ops": list(ops),
        "targets": list(isas),
        "toolchains": list(toolchains),
        "reference": False,
        **fields,
    }
    return study_from_document(document, "command line")


def study_schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of study files, for editors that complete TOML."""
    schema = Study.model_json_schema(mode="validation", schema_generator=_TomlSchema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


class _TomlSchema(GenerateJsonSchema):
    """JSON schema without null, which TOML does not have."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """What is there when it is not left out."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """A default only where there is one to write."""
        described: JsonSchemaValue = _without_none(super().default_schema(schema))
        return described


def _without_none(value: Any) -> Any:
    """`value` without the fields of its tables that are None."""
    if isinstance(value, dict):
        return {name: _without_none(part) for name, part in value.items() if part is not None}
    return [_without_none(part) for part in value] if isinstance(value, list) else value
