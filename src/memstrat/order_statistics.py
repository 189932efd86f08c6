"""The distribution-free interval of a median, for the runner's estimates and the reports alike."""

from dataclasses import dataclass
from functools import lru_cache
from math import comb

CONFIDENCE = 0.95
"""Coverage asked of intervals. Fewer than six values cannot reach it; they say what they do."""


@dataclass(frozen=True, kw_only=True)
class MedianDepth:
    """Where the interval's ends lie among n ordered values.

    The low end is x[depth - 1] + weight * (x[depth] - x[depth - 1]), counted from 0, and the high
    end the same from above. It covers the median with probability `confidence`.
    """

    depth: int
    weight: float
    confidence: float


@lru_cache
def median_depth(count: int, confidence: float = CONFIDENCE) -> MedianDepth:
    """The interval for `count` values, at least one, that assumes no distribution.

    [x(d), x(n+1-d)] covers the median with probability 1 - 2 P(B <= d-1), B binomial(n, 1/2).
    Between the two depths that enclose `confidence` it is interpolated after Hettmansperger and
    Sheather, Confidence intervals based on interpolated order statistics, Statistics & Probability
    Letters 4 (1986), 75-79. Where even [x(1), x(n)] covers less, it has the coverage that it has.
    """
    outer = coverage(count, 1)
    if outer <= confidence:
        return MedianDepth(depth=1, weight=0.0, confidence=outer)
    depth = max(d for d in range(1, count // 2 + 1) if coverage(count, d) >= confidence)
    wider, narrower = coverage(count, depth), coverage(count, depth + 1)
    part = (wider - confidence) / (wider - narrower)
    weight = (count - depth) * part / (depth + (count - 2 * depth) * part)
    return MedianDepth(depth=depth, weight=weight, confidence=confidence)


def coverage(count: int, depth: int) -> float:
    """The probability that [x(depth), x(n+1-depth)] holds the median of what n values come from."""
    outside = float(sum(comb(count, k) for k in range(depth)) / 2**count)
    return max(0.0, 1 - 2 * outside)
