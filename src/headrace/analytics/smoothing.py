"""Declarations of smoothing methods. Their public path is `headrace.smoothing`."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, ClassVar

from headrace.analytics.detectors import NotNegative, Positive, Weight
from headrace.steps.grammar.declaration import Choice, OneOf, declare
from headrace.steps.grammar.values import Rows, Text

# fmt: off
__all__ = [
    "Exponential", "Kalman", "Median", "MovingAverage", "Smoothing", "exponential", "kalman", "median",
    "moving_average",
]
# fmt: on


@declare
class Smoothing(Choice):
    """Removes the noise of a column."""

    label: ClassVar[str] = "smoothing method"
    example: ClassVar[str] = "such as {median: {on: value, rows: 5}}"
    python_example: ClassVar[str] = "such as smoothing.median(rows=5)"
    on: Text | None = None
    """The column that it smooths."""

    @property
    def kept(self) -> str:
        """Describe the state of a key."""
        rows = getattr(self, "rows", None)
        return "the last estimate" if rows is None else f"the last {rows} values"

    def phrase(self) -> str:
        """Describe the method.

        >>> median(rows=5).phrase()
        'median (rows 5)'
        """
        shown = [f"{each.name} {getattr(self, each.name):g}" for each in fields(self) if each.name != "on"]
        return f"{self.kind} ({', '.join(shown)})"


AnySmoothing = Annotated[Smoothing, OneOf()]
"""A field with a smoothing method of any kind."""


@declare
class MovingAverage(Smoothing):
    """The mean of the last values."""

    rows: Rows = 5
    """The number of values, that of the row included."""


@declare
class Median(Smoothing):
    """The median of the last values."""

    rows: Rows = 5
    """The number of values, that of the row included."""


@declare
class Exponential(Smoothing):
    """The exponentially weighted mean."""

    alpha: Weight = 0.3
    """The weight of the row."""


@declare
class Kalman(Smoothing):
    """A Kalman filter of a level that moves at random."""

    process: Positive = 0.01
    """The variance of the level from one row to the next."""
    measurement: NotNegative = 1.0
    """The variance of a value around the level."""


def moving_average(*, rows: int = 5) -> MovingAverage:
    """The mean of the last `rows` values of the key; of fewer at its start.

    >>> moving_average(rows=10)
    MovingAverage(rows=10)
    """
    return MovingAverage.create(rows=rows)


def median(*, rows: int = 5) -> Median:
    """The median of the last `rows` values of the key. A single outlier has no effect.

    >>> median(rows=3)
    Median(rows=3)
    """
    return Median.create(rows=rows)


def exponential(*, alpha: float = 0.3) -> Exponential:
    """The exponentially weighted mean: `alpha` of the row, the rest of the mean before it.

    >>> exponential(alpha=0.1)
    Exponential(alpha=0.1)
    """
    return Exponential.create(alpha=alpha)


def kalman(*, process: float = 0.01, measurement: float = 1.0) -> Kalman:
    """A Kalman filter in one dimension: the level moves at random, and the values are noise around it.

    The ratio of the variances matters: a small `process` follows slowly.

    >>> kalman(measurement=4)
    Kalman(measurement=4.0)
    """
    return Kalman.create(process=process, measurement=measurement)
