"""The sixteen conditions of `jcc`, `cmovcc` and `setcc`, evaluated on flags that may be unknown."""

from collections.abc import Callable

from iced_x86 import ConditionCode

from memstrat.runner.inspect.processor import Flags, Processor

Condition = Callable[[Processor], bool | None]


def compile_condition(code: int) -> Condition:
    """The condition of an iced condition code; its outcome is None where flags leave it open."""
    evaluate, negated = _CONDITIONS[code]

    def holds(processor: Processor) -> bool | None:
        flags = processor.flags
        if flags is None:
            return None
        outcome = evaluate(flags)
        return None if outcome is None else outcome is not negated

    return holds


def _zero(flags: Flags) -> bool:
    return flags.result == 0


def _sign(flags: Flags) -> bool:
    return bool(flags.result >> (flags.bits - 1) & 1)


def _parity(flags: Flags) -> bool:
    return (flags.result & 0xFF).bit_count() % 2 == 0


def _carry(flags: Flags) -> bool | None:
    return flags.carry


def _overflow(flags: Flags) -> bool | None:
    return flags.overflow


def _below_or_equal(flags: Flags) -> bool | None:
    return None if flags.carry is None else flags.carry or flags.result == 0


def _less(flags: Flags) -> bool | None:
    return None if flags.overflow is None else _sign(flags) is not flags.overflow


def _less_or_equal(flags: Flags) -> bool | None:
    less = _less(flags)
    return None if less is None else less or flags.result == 0


_CONDITIONS: dict[int, tuple[Callable[[Flags], bool | None], bool]] = {
    ConditionCode.O: (_overflow, False),
    ConditionCode.NO: (_overflow, True),
    ConditionCode.B: (_carry, False),
    ConditionCode.AE: (_carry, True),
    ConditionCode.E: (_zero, False),
    ConditionCode.NE: (_zero, True),
    ConditionCode.BE: (_below_or_equal, False),
    ConditionCode.A: (_below_or_equal, True),
    ConditionCode.S: (_sign, False),
    ConditionCode.NS: (_sign, True),
    ConditionCode.P: (_parity, False),
    ConditionCode.NP: (_parity, True),
    ConditionCode.L: (_less, False),
    ConditionCode.GE: (_less, True),
    ConditionCode.LE: (_less_or_equal, False),
    ConditionCode.G: (_less_or_equal, True),
}
"""How to evaluate each condition, and whether it is the negation of that."""
