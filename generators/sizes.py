"""Sizes in bytes: single ones and stepped ranges, as studies and the command line write them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memstrat.errors import StudyError

MAX_SIZE = 2**20
"""1 MiB: a kernel of a size beyond a second-level cache measures memory, not code."""

MAX_SIZES = 4096
"""Distinct sizes in one study."""

SIZE_PATTERN = r"[0-9]{1,9}(:[0-9]{1,9}:[0-9]{1,9})?"
"""`256`, or `8:512:8`: from 8 to 512, both included, in steps of 8."""

_SIZE = re.compile(SIZE_PATTERN, re.ASCII)


@dataclass(frozen=True, kw_only=True)
class SizeRange:
    """Sizes from `start` to `stop` in steps of `step`; `stop` is included where a step meets it.

    Raises StudyError where that is not at least one size from 1 to MAX_SIZE.
    """

    start: int
    stop: int
    step: int = 1

    def __post_init__(self) -> None:
        shown = f"{self.start}:{self.stop}:{self.step}"
        if not 1 <= self.start <= MAX_SIZE or not 1 <= self.stop <= MAX_SIZE:
            outside = next(n for n in (self.start, self.stop) if not 1 <= n <= MAX_SIZE)
            raise StudyError(
                f"size {outside} is out of range; sizes are from 1 to {MAX_SIZE} bytes"
            )
        if self.stop < self.start:
            raise StudyError(f"size range {shown} is empty; the second number is the last size")
        if self.step < 1:
            raise StudyError(f"size range {shown} makes no progress; its step is at least 1")

    @property
    def sizes(self) -> range:
        """The sizes, ascending."""
        return range(self.start, self.stop + 1, self.step)


def parse_size_range(text: str) -> SizeRange:
    """The sizes that `256` or `8:512:8` spells. Raises StudyError."""
    if _SIZE.fullmatch(text) is None:
        shown = repr(text if len(text) <= 40 else text[:37] + "...")
        raise StudyError(
            f"{shown} is no size; write a number of bytes such as 256, or START:STOP:STEP such as "
            "8:512:8 (8 to 512, both included, in steps of 8)"
        )
    numbers = [int(number) for number in text.split(":")]
    if len(numbers) == 1:
        return SizeRange(start=numbers[0], stop=numbers[0])
    return SizeRange(start=numbers[0], stop=numbers[1], step=numbers[2])


def parse_sizes(text: str) -> tuple[int, ...]:
    """The sizes that a list such as `8:512:8,1024` spells, ascending, each once.

    Raises StudyError.
    """
    return merged_sizes(parse_size_range(item.strip()) for item in text.split(","))


def merged_sizes(ranges: Iterable[SizeRange]) -> tuple[int, ...]:
    """All sizes of `ranges`, ascending, each once. Raises StudyError above MAX_SIZES."""
    sizes: set[int] = set()
    for part in ranges:
        sizes.update(part.sizes)
        if len(sizes) > MAX_SIZES:
            raise StudyError(
                f"there are more than {MAX_SIZES} different sizes; take larger steps, or split the "
                "study"
            )
    return tuple(sorted(sizes))
