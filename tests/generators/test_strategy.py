"""GCC strategies and LLVM store limits: what is taken, what is refused, and why."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrat.errors import StrategyError
from memstrat.generators.strategy import (
    MAX_RULE_SIZE,
    MAX_RULES,
    MAX_STORES,
    check_store_limits,
    parse_stringop_strategy,
)
from memstrat.model import StoreLimits, StringopAlgorithm, StringopRule, StringopStrategy

ALPHABET = "abcdefgilnoprtuvy_0123456789:,+- \t\x00"


@st.composite
def stringop_strategies(draw: st.DrawFn) -> StringopStrategy:
    sizes = draw(st.sets(st.integers(min_value=1, max_value=MAX_RULE_SIZE), max_size=MAX_RULES - 1))
    rules = [
        StringopRule(
            algorithm=draw(st.sampled_from(StringopAlgorithm)),
            max_size=size,
            align=draw(st.booleans()),
        )
        for size in [*sorted(sizes), -1]
    ]
    return StringopStrategy(rules=tuple(rules))


@given(stringop_strategies())
def test_printing_and_parsing_a_strategy_gives_it_back(strategy: StringopStrategy) -> None:
    assert parse_stringop_strategy(str(strategy)) == strategy


@given(st.one_of(st.text(), st.text(alphabet=ALPHABET)), st.sampled_from([32, 64]))
def test_any_text_is_parsed_or_refused_with_a_strategy_error(text: str, bits: int) -> None:
    with contextlib.suppress(StrategyError):
        parse_stringop_strategy(text, bits=bits)


@given(stringop_strategies(), st.data())
def test_a_mutated_strategy_is_refused_or_still_obeys_every_rule(
    strategy: StringopStrategy, data: st.DataObject
) -> None:
    text = str(strategy)
    begin = data.draw(st.integers(min_value=0, max_value=len(text)))
    end = data.draw(st.integers(min_value=begin, max_value=min(begin + 3, len(text))))
    mutated = text[:begin] + data.draw(st.text(alphabet=ALPHABET, max_size=3)) + text[end:]
    try:
        parsed = parse_stringop_strategy(mutated)
    except StrategyError:
        return
    sizes = [rule.max_size for rule in parsed.rules]
    assert 1 <= len(sizes) <= MAX_RULES
    assert sizes[-1] == -1
    assert sizes[:-1] == sorted(set(sizes[:-1]))
    assert all(0 < size <= MAX_RULE_SIZE for size in sizes[:-1])
    assert str(parsed) == mutated


REFUSED = {
    "": "empty",
    "libcall": "1 of the 3 fields",
    "libcall:-1": "2 of the 3 fields",
    "libcall:-1:noalign:x": "4 of the 3 fields",
    "libcall:-1:noalign,": "stray comma",
    ",libcall:-1:noalign": "empty rule 1",
    "no_stringop:-1:noalign": "leave the rule out",
    "rep_8bytes:-1:noalign": "did you mean rep_8byte?",
    "LIBCALL:-1:noalign": "GCC does not have",
    " libcall:-1:noalign": "GCC does not have",
    "libcall: -1:noalign": "not a whole number",
    "libcall:-1: noalign": "align",
    "libcall:-1:noalign ": "align",
    "libcall:+5:noalign,libcall:-1:noalign": "not a whole number",
    "libcall:0x10:noalign,libcall:-1:noalign": "not a whole number",
    "libcall:٣:noalign,libcall:-1:noalign": "not a whole number",
    "libcall:-01:noalign": "leading zeros",
    "loop:007:noalign,libcall:-1:noalign": "leading zeros",
    "libcall::noalign": "not a whole number",
    "libcall:256:noalign": "write -1 there",
    "loop:-1:noalign,libcall:-1:noalign": "dead",
    "loop:-5:noalign,libcall:-1:noalign": "negative",
    "loop:0:noalign,libcall:-1:noalign": "end of the table",
    "loop:99999999999:noalign,libcall:-1:noalign": "overflows",
    f"loop:{2**31}:noalign,libcall:-1:noalign": "overflows",
    "loop:-99999999999:noalign,libcall:-1:noalign": "overflows",
    "loop:" + "9" * 5000 + ":noalign,libcall:-1:noalign": "overflows",
    "loop:256:noalign,rep_8byte:256:noalign,libcall:-1:noalign": "let them increase",
    "loop:256:noalign,rep_8byte:128:noalign,libcall:-1:noalign": "let them increase",
    "libcall:-1:maybe": "align",
    "libcall:-1:": "align",
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.items(), ids=[text[:40] for text in REFUSED])
def test_a_refusal_names_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(StrategyError) as caught:
        parse_stringop_strategy(text)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("count", [5, 6, 7, 60])
def test_more_rules_than_gcc_has_room_for_are_refused(count: int) -> None:
    rules = [f"loop:{8 * number}:noalign" for number in range(1, count)]
    with pytest.raises(StrategyError, match=f"{count} rules.*corrupts its stack"):
        parse_stringop_strategy(",".join([*rules, "libcall:-1:noalign"]))


def test_four_rules_are_taken() -> None:
    text = "loop:16:align,vector_loop:256:noalign,rep_byte:2147483647:align,libcall:-1:noalign"
    assert str(parse_stringop_strategy(text)) == text


def test_rep_8byte_belongs_to_64_bit_code_only() -> None:
    assert parse_stringop_strategy("rep_8byte:-1:noalign", bits=64).rules[0].max_size == -1
    with pytest.raises(StrategyError, match="write rep_4byte"):
        parse_stringop_strategy("rep_8byte:-1:noalign", bits=32)


@pytest.mark.parametrize("stores", [2, 64, MAX_STORES])
def test_store_limits_that_llvm_keeps_to_are_taken(stores: int) -> None:
    limits = StoreLimits(memset=stores, memmove=stores)
    assert check_store_limits(limits) is limits


@pytest.mark.parametrize(
    ("stores", "reason"),
    [(0, "target's default"), (1, "crashes"), (-3, "negative"), (MAX_STORES + 1, "4096")],
)
def test_other_store_limits_are_refused_with_the_reason(stores: int, reason: str) -> None:
    with pytest.raises(StrategyError, match=reason):
        check_store_limits(StoreLimits(memcpy=stores))


def test_store_limits_that_name_no_op_are_refused() -> None:
    with pytest.raises(StrategyError, match="name no op"):
        check_store_limits(StoreLimits())
