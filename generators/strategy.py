"""GCC's `-mmemset-strategy=` and `-mmemcpy-strategy=`, read as GCC should read them.

    strategy := rule ("," rule)*      at most 4 rules, sizes strictly increasing, the last -1
    rule     := algorithm ":" max_size ":" ("align" | "noalign")

GCC itself is more tolerant than is good for it (ix86_parse_stringop_strategy_string in
i386-options.cc, the same in GCC 12, 14 and 16): it stores rules before it counts them, so that six
corrupt its stack without a word, and it takes sizes that disable the rules behind them. All that
is refused here, with the reason. LLVM's store limits are checked here too.
"""

import difflib
import re
from dataclasses import asdict

from memstrat.errors import StrategyError
from memstrat.model import StoreLimits, StringopAlgorithm, StringopRule, StringopStrategy

MAX_RULES = 4
"""GCC's MAX_STRINGOP_ALGS (i386.h)."""

MAX_RULE_SIZE = 2**31 - 1
"""GCC reads `max_size` into a C int."""

UNLIMITED = -1
"""The `max_size` of the last rule: every size that no rule before it takes."""

MIN_STORES = 2
"""A limit of 1 sends clang 22 into endless recursion where a tail of 3, 5, 6 or 7 bytes is left."""

MAX_STORES = 4096
"""Far beyond any sensible straight code, and still compiled in seconds."""

_WHOLE_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
_ALIGN = {"align": True, "noalign": False}


def parse_stringop_strategy(text: str, *, bits: int = 64) -> StringopStrategy:
    """The strategy that `text` spells, for code of `bits` (64 or 32).

    `str()` of the result is `text` again. Raises StrategyError, which says which rule is wrong,
    what GCC would make of it, and what would be right.
    """
    if not text:
        raise StrategyError(
            "a strategy is empty: it needs at least one rule, such as libcall:-1:noalign"
        )
    rules = text.split(",")
    if len(rules) > MAX_RULES:
        raise StrategyError(
            f"strategy {_shown(text)} has {len(rules)} rules: GCC's table holds {MAX_RULES}, and "
            "GCC writes past its end (it takes 6 rules in silence and corrupts its stack); "
            f"merge rules until at most {MAX_RULES} are left"
        )
    if "" in rules:
        raise StrategyError(
            f"strategy {_shown(text)} has an empty rule {rules.index('') + 1}; "
            "remove the stray comma"
        )
    parsed: list[StringopRule] = []
    for number, rule in enumerate(rules, start=1):
        where = f"rule {number} ({_shown(rule)}) of strategy {_shown(text)}"
        last = number == len(rules)
        parsed.append(_parse_rule(rule, where=where, last=last, previous=parsed[-1:], bits=bits))
    return StringopStrategy(rules=tuple(parsed))


def check_store_limits(limits: StoreLimits) -> StoreLimits:
    """`limits` themselves, when each is a number of stores that LLVM can keep to.

    Raises StrategyError.
    """
    given = {op: stores for op, stores in asdict(limits).items() if stores is not None}
    if not given:
        raise StrategyError(
            "store limits name no op: give at least one of memset, memcpy, memmove, such as "
            "{ memset = 64 }, or leave the limits out for the target's default"
        )
    for op, stores in given.items():
        _check_stores(op, stores)
    return limits


def _check_stores(op: str, stores: int) -> None:
    if MIN_STORES <= stores <= MAX_STORES:
        return
    if stores == 0:
        reason = (
            "LLVM takes 0 for the target's default, so that it says nothing (no limit means "
            f"never inline); leave {op} out for the default"
        )
    elif stores == 1:
        reason = "clang 22 crashes on a limit of 1 (endless recursion over the tail's bytes)"
    elif stores < 0:
        reason = "a number of stores cannot be negative"
    else:
        reason = "so many stores are never worth their code, and take a compiler minutes"
    right = f"write a number of stores from {MIN_STORES} to {MAX_STORES}"
    raise StrategyError(f"the {op} store limit is {_shown(str(stores))}: {reason}; {right}")


def _parse_rule(
    text: str, *, where: str, last: bool, previous: list[StringopRule], bits: int
) -> StringopRule:
    fields = text.split(":")
    if len(fields) != 3:
        raise StrategyError(
            f"{where} has {len(fields)} of the 3 fields of algorithm:max_size:align; "
            "write it like rep_8byte:8192:noalign"
        )
    return StringopRule(
        algorithm=_parse_algorithm(fields[0], where=where, bits=bits),
        max_size=_parse_max_size(fields[1], where=where, last=last, previous=previous),
        align=_parse_align(fields[2], where=where),
    )


def _parse_algorithm(text: str, *, where: str, bits: int) -> StringopAlgorithm:
    if text == "no_stringop":
        raise StrategyError(
            f"{where} names no_stringop: GCC takes it and then treats the rule as absent; "
            "leave the rule out"
        )
    try:
        algorithm = StringopAlgorithm(text)
    except ValueError:
        raise StrategyError(
            f"{where} names the algorithm {_shown(text)}, which GCC does not have; "
            f"it has {_listed(text, list(StringopAlgorithm))}"
        ) from None
    if bits == 32 and algorithm is StringopAlgorithm.REP_8BYTE:
        raise StrategyError(
            f"{where} asks for rep_8byte, which 32-bit code does not have; write rep_4byte"
        )
    return algorithm


def _parse_max_size(text: str, *, where: str, last: bool, previous: list[StringopRule]) -> int:
    if _WHOLE_NUMBER.fullmatch(text) is None:
        raise StrategyError(
            f"{where} has the max_size {_shown(text)}, which is not a whole number in plain digits "
            "without leading zeros; write a size in bytes, or -1 for the last rule"
        )
    if len(text.lstrip("-")) > len(str(MAX_RULE_SIZE)) or int(text) > MAX_RULE_SIZE:
        raise StrategyError(
            f"{where} has the max_size {_shown(text)}: GCC reads it into a C int, "
            f"where it overflows; write at most {MAX_RULE_SIZE}, or -1 in the last rule"
        )
    size = int(text)
    if last:
        if size != UNLIMITED:
            raise StrategyError(
                f"{where} is the last and has the max_size {size}: larger sizes would have no "
                "rule, which GCC refuses; write -1 there, or add a rule such as libcall:-1:noalign"
            )
        return size
    _check_inner_size(size, where=where, previous=previous)
    return size


def _check_inner_size(size: int, *, where: str, previous: list[StringopRule]) -> None:
    if size == UNLIMITED:
        raise StrategyError(
            f"{where} has the max_size -1 before the last rule: GCC takes it, and the rules behind "
            "it are dead; write -1 in the last rule only"
        )
    if size < 0:
        raise StrategyError(
            f"{where} has the max_size {_shown(str(size))}: GCC takes a negative size "
            "without a word; write a size in bytes above 0"
        )
    if size == 0:
        raise StrategyError(
            f"{where} has the max_size 0: GCC takes it for the end of the table, so that every "
            "size becomes a call; leave the rule out"
        )
    if previous and size <= previous[0].max_size:
        raise StrategyError(
            f"{where} has the max_size {size}, not above the {previous[0].max_size} of the rule "
            "before it: GCC refuses equal and falling sizes; let them increase"
        )


def _parse_align(text: str, *, where: str) -> bool:
    if text not in _ALIGN:
        raise StrategyError(
            f"{where} ends in {_shown(text)}; write align (GCC aligns the destination first) "
            "or noalign"
        )
    return _ALIGN[text]


def _listed(text: str, names: list[StringopAlgorithm]) -> str:
    near = difflib.get_close_matches(text, names, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return ", ".join(names) + hint


def _shown(text: str) -> str:
    """`text` quoted on one line, control characters escaped, cut to a readable length."""
    return repr(text if len(text) <= 100 else text[:97] + "...")
