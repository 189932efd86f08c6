"""Every error that a user can meet: one base, one exit code each.

A message says what happened and what would be right. `MemstratError` is caught in one place,
the command line's entry point; nothing else prints it.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a process that runs memstrat tells its caller."""

    SUCCESS = 0
    OBJECTION = 1
    BAD_USAGE = 2
    INCONCLUSIVE = 3
    NOTHING_DONE = 4
    INTERRUPTED = 130


class MemstratError(Exception):
    """Base of all errors that a user can cause or must hear of."""

    exit_code = ExitCode.NOTHING_DONE


class UsageError(MemstratError):
    """The command line, a study file, a strategy or a flag is not what memstrat accepts."""

    exit_code = ExitCode.BAD_USAGE


class StudyError(UsageError):
    """A study file does not say what a study must say."""


class StrategyError(UsageError):
    """A strategy that GCC or LLVM would refuse, ignore or crash on."""


class FlagError(UsageError):
    """A compiler flag that runs or reads something else."""


class ToolchainError(UsageError):
    """A compiler that was asked for is not there, or does not say what it is."""


class ObjectError(MemstratError):
    """What a compiler wrote is no relocatable x86-64 object, or a damaged one."""


class HarnessError(MemstratError):
    """The native harness cannot be compiled or started here, or refuses its pack."""


class InterruptedRunError(MemstratError):
    """Somebody pressed Ctrl-C."""

    exit_code = ExitCode.INTERRUPTED


class WorkerError(MemstratError):
    """A worker process was ended from outside, such as by the system for want of memory."""


class ResultsError(UsageError):
    """A results folder that is missing, foreign, truncated or of another schema."""


class NothingDoneError(MemstratError):
    """Nothing could be compiled, verified or measured."""
