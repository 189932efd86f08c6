"""Why a measured figure deserves doubt: a closed set, each with what it means and what to do."""

from enum import StrEnum


class Doubt(StrEnum):
    """A warning that an estimate carries."""

    FEW_PROCESSES = "few processes"
    SLOW_STATE = "slow state"
    CONTROL_OFF = "A/A control off"
    ESTIMATORS_DISAGREE = "estimators disagree"
    WIDE_INTERVAL = "wide interval"

    @property
    def meaning(self) -> str:
        """What was seen."""
        return {
            Doubt.FEW_PROCESSES: "it was measured in fewer than 5 processes",
            Doubt.SLOW_STATE: "fewer than 5 processes met the machine in its fast state",
            Doubt.CONTROL_OFF: "identical code read different by more than 0.3 %",
            Doubt.ESTIMATORS_DISAGREE: "fast tail and paired median differ by more than 2 %",
            Doubt.WIDE_INTERVAL: "layout or the machine moves the figure from process to process",
        }[self]

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return {
            Doubt.FEW_PROCESSES: "measure in more processes",
            Doubt.SLOW_STATE: "measure on a quieter machine, or in more processes",
            Doubt.CONTROL_OFF: "measure on a quieter machine, or in more processes",
            Doubt.ESTIMATORS_DISAGREE: "measure in more processes, spread over time",
            Doubt.WIDE_INTERVAL: "measure in more processes",
        }[self]

    @property
    def concerns_cell(self) -> bool:
        """Whether it casts doubt on all figures of its cell, not on one code's alone."""
        return self in (Doubt.FEW_PROCESSES, Doubt.SLOW_STATE, Doubt.CONTROL_OFF)
