"""Declarations of detectors. Their public path is `headrace.detectors`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, fields
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import Field

from headrace.durations import Duration, text
from headrace.errors import OptionError
from headrace.steps.grammar.declaration import Choice, OneOf, declare
from headrace.steps.grammar.values import Expected, Length, Names, PositiveLength, Rows

# fmt: off
__all__ = [
    "Adwin", "Combine", "Detector", "Ensemble", "Ewma", "HalfSpaceTrees", "Mad", "Missing", "MultiScale",
    "PageHinkley", "Per", "Quantile", "RateOfChange", "Seasonal", "Side", "Threshold", "WindowedGaussian",
    "ZScore", "adwin", "ensemble", "ewma", "half_space_trees", "mad", "missing", "multi_scale",
    "page_hinkley", "quantile", "rate_of_change", "seasonal", "threshold", "windowed_gaussian", "z_score",
]
# fmt: on

Side = Literal["both", "high", "low"]
Per = Literal["day", "week"]
Combine = Literal["max", "mean", "min"]
On = str | Sequence[str]
"""A column or an expression, or several."""

Positive = Annotated[float, Gt(0), Expected("a number above 0")]
NotNegative = Annotated[float, Ge(0), Expected("a number that is not negative")]
Share = Annotated[float, Gt(0), Lt(1), Expected("a number between 0 and 1")]
Weight = Annotated[float, Gt(0), Le(1), Expected("a weight above 0, at most 1")]
Columns = Annotated[Names, Field(description="The columns that it compares")]


@declare
class Detector(Choice):
    """Compares a row of a key with the earlier ones."""

    label: ClassVar[str] = "detector"
    example: ClassVar[str] = "such as {quantile: {on: value, q: 0.999}}"
    python_example: ClassVar[str] = "such as detectors.quantile(q=0.999)"
    warm_up_rows: ClassVar[int] = 0
    """The default of `warm_up`."""
    max_columns: ClassVar[int] = 1
    keeps: ClassVar[str] = ""
    """The state of a key."""

    @property
    def reads_time(self) -> bool:
        """True if it measures time, so that rows without time have no verdict."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, or expressions, that it compares."""
        return tuple(getattr(self, "on", None) or ())

    @property
    def reach(self) -> int | None:
        """The number of earlier rows that a row is compared with; None for all."""
        return None

    def parts(self) -> Iterator[Detector]:
        """Yield the detectors that compare rows: itself, or those of an ensemble."""
        yield self

    def kept(self) -> str:
        """Describe the state of a key."""
        return self.keeps

    def phrase(self) -> str:
        """Describe the detector with the options that are set.

        >>> quantile(q=0.999).phrase()
        'quantile (q 0.999)'
        """
        values = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        shown = [
            f"{name} {_value(value)}" for name, value, default in values if name != "on" and value != default
        ]
        return f"{self.kind} ({', '.join(shown)})" if shown else self.kind


AnyDetector = Annotated[Detector, OneOf()]
"""A field with a detector of any kind."""


@declare
class Threshold(Detector):
    """Compares the value with fixed limits."""

    on: Columns | None = None
    high: float | None = None
    """The highest normal value."""
    low: float | None = None
    """The lowest normal value."""
    hysteresis: NotNegative = 0.0
    """How far inside the limits a value has to be to end an anomaly."""
    duration: Length = Length(0)
    """How long the value has to stay outside."""

    keeps: ClassVar[str] = "the time when it left the limits"

    @property
    def reads_time(self) -> bool:
        return self.duration > 0

    @property
    def reach(self) -> int | None:
        return 0

    def __post_init__(self) -> None:
        """Require a limit."""
        if self.high is None and self.low is None:
            raise OptionError("expected `high` or `low`", hint="such as high=100")
        if self.high is not None and self.low is not None:
            if self.high < self.low:
                raise OptionError(f"expected `high` to be at least `low`, got {self.high:g} and {self.low:g}")
            if 2 * self.hysteresis > self.high - self.low:
                hint = "an anomaly could never end"
                raise OptionError(f"hysteresis {self.hysteresis:g} leaves no normal value", hint=hint)


@declare
class RateOfChange(Detector):
    """Compares the change from the last row with the highest normal one."""

    on: Columns | None = None
    _: KW_ONLY
    limit: Positive
    """The highest normal change of the value per `per`."""
    per: PositiveLength = Length(1_000_000)
    """The unit of time of `limit`."""

    keeps: ClassVar[str] = "the last value"

    @property
    def reads_time(self) -> bool:
        return True

    @property
    def reach(self) -> int | None:
        return 1


@declare
class Missing(Detector):
    """Detects that a key has no rows; its result has the last row."""

    duration: PositiveLength
    """The time without a row."""

    short: ClassVar[str] = "duration"
    max_columns: ClassVar[int] = 0
    keeps: ClassVar[str] = "the last row"

    @property
    def reads_time(self) -> bool:
        return True

    @property
    def reach(self) -> int | None:
        return 1


@declare
class ZScore(Detector):
    """The distance from the mean of earlier rows, in standard deviations."""

    on: Columns | None = None
    limit: Positive = 3.0
    """The largest normal distance, in standard deviations."""
    rows: Rows | None = None
    """The number of earlier rows; default: all."""

    warm_up_rows: ClassVar[int] = 30

    @property
    def reach(self) -> int | None:
        return self.rows

    def kept(self) -> str:
        """Describe the state of a key."""
        return "mean and variance" if self.rows is None else f"the last {self.rows} values"


@declare
class Ewma(Detector):
    """The distance from the exponentially weighted mean, in standard deviations."""

    on: Columns | None = None
    alpha: Weight = 0.1
    """The weight of a row in mean and variance; that of earlier rows decays."""
    limit: Positive = 3.0
    """The largest normal distance, in standard deviations."""

    warm_up_rows: ClassVar[int] = 30
    keeps: ClassVar[str] = "mean and variance"


@declare
class Quantile(Detector):
    """Compares the value with a quantile of all earlier rows, by a t-digest."""

    on: Columns | None = None
    q: Share = 0.99
    """The share of values below the limit; the lower limit is the quantile `1 - q`."""
    side: Side = "both"
    """`high` or `low` for one limit only."""

    warm_up_rows: ClassVar[int] = 30
    keeps: ClassVar[str] = "a t-digest of a few hundred centroids"

    def __post_init__(self) -> None:
        """Require a quantile above the median."""
        if self.q <= 0.5:
            raise OptionError(f"expected `q` above 0.5, got {self.q:g}", hint='side="low" uses 1 - q')


@declare
class Mad(Detector):
    """The distance from the median of the last rows, in median absolute deviations."""

    on: Columns | None = None
    rows: Rows = 101
    """The number of earlier rows."""
    limit: Positive = 3.5
    """The largest normal distance; deviations are scaled to standard deviations."""

    warm_up_rows: ClassVar[int] = 30

    @property
    def reach(self) -> int | None:
        return self.rows

    def kept(self) -> str:
        """Describe the state of a key."""
        return f"the last {self.rows} values"


@declare
class Seasonal(Detector):
    """The distance from the mean of the same hour of the day or of the week, in UTC."""

    on: Columns | None = None
    per: Per = "day"
    """The period: its hours have a profile each."""
    limit: Positive = 3.0
    """The largest normal distance, in standard deviations."""
    alpha: Weight = 0.01
    """The weight of a row in the profile of its hour."""
    min_rows: Annotated[int, Ge(2)] = 10
    """An hour with fewer rows has no result."""

    @property
    def reads_time(self) -> bool:
        return True

    def kept(self) -> str:
        """Describe the state of a key."""
        return f"mean and variance of {24 if self.per == 'day' else 168} hours"


@declare
class WindowedGaussian(Detector):
    """The tail probability under the mean and variance of a window that moves in steps."""

    on: Columns | None = None
    rows: Rows = 6400
    """The size of the window."""
    step: Rows = 100
    """The number of rows after which the window moves."""
    limit: Positive = 4.0
    """The largest normal distance, in standard deviations."""

    def kept(self) -> str:
        """Describe the state of a key."""
        return f"the last {self.rows} values"


@declare
class HalfSpaceTrees(Detector):
    """Random trees that count the rows in halves of the space of several columns."""

    on: Columns | None = None
    trees: Rows = 25
    """The number of trees."""
    height: Annotated[int, Ge(1), Le(12), Expected("a height from 1 to 12")] = 6
    """The height of the trees."""
    rows: Annotated[int, Ge(10)] = 250
    """The rows of a window; the rows of the last one are compared."""
    limit: Share = 0.97
    """The highest normal score."""
    seed: int = 0
    """The seed of the trees."""

    max_columns: ClassVar[int] = 64

    def kept(self) -> str:
        """Describe the state of a key."""
        return f"two counts in each of {self.trees * (2 ** (self.height + 1) - 1)} nodes"


@declare
class Adwin(Detector):
    """Drift of the mean, by a window that is cut where its parts differ."""

    on: Columns | None = None
    delta: Share = 0.002
    """The probability of a false alarm."""

    keeps: ClassVar[str] = "sums of the rows since the last drift, in buckets"


@declare
class PageHinkley(Detector):
    """Drift of the mean, by the sum of the differences from it."""

    on: Columns | None = None
    limit: Positive = 50.0
    """The sum of differences that is a drift."""
    tolerance: NotNegative = 0.005
    """The difference of a row that does not count."""

    warm_up_rows: ClassVar[int] = 30
    keeps: ClassVar[str] = "mean and sums"


@declare
class MultiScale(Detector):
    """Ranks of levels and changes at several time scales among those of earlier rows."""

    on: Columns | None = None
    scales: Annotated[tuple[Rows, ...], MinLen(1), Expected("numbers of rows, such as [1, 5, 20]")] = (
        1,
        5,
        20,
    )
    """The time constants of the averages, in rows, ascending."""
    memory: Annotated[int, Ge(10)] = 10_000
    """The number of rows after which an earlier row has lost two thirds of its weight."""
    rest: Annotated[int, Ge(0)] = 100
    """A score that does not exceed those of this many rows before it is 0."""
    limit: Share = 0.997
    """The highest normal score."""

    warm_up_rows: ClassVar[int] = 100
    keeps: ClassVar[str] = "averages and histograms, about 5 KB"

    def __post_init__(self) -> None:
        """Require ascending scales."""
        if list(self.scales) != sorted(set(self.scales)):
            raise OptionError(f"expected ascending scales, got {', '.join(map(str, self.scales))}")


Detectors = Annotated[
    tuple[AnyDetector, ...],
    MinLen(1),
    Expected("a list of detectors", "such as {ensemble: {on: value, detectors: [{z_score: {}}, {mad: {}}]}}"),
]


@declare
class Ensemble(Detector):
    """Combines several detectors."""

    on: Columns | None = None
    _: KW_ONLY
    detectors: Detectors
    """The detectors; those without columns compare those of the ensemble."""
    combine: Combine = "max"
    """`max`: the highest score, one alarm is enough; `mean`: the mean, more than half; `min`: all."""

    max_columns: ClassVar[int] = 64

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all detectors."""
        return tuple(
            dict.fromkeys((*(self.on or ()), *(name for part in self.detectors for name in part.columns)))
        )

    def parts(self) -> Iterator[Detector]:
        """Yield the detectors, inner ones included."""
        for detector in self.detectors:
            yield from detector.parts()

    def kept(self) -> str:
        """Describe the state of a key."""
        return "; ".join(part.kept() for part in self.detectors)

    def phrase(self) -> str:
        """Describe the detector."""
        return f"{self.combine} of {', '.join(part.phrase() for part in self.detectors)}"


def threshold(
    on: On | None = None,
    *,
    high: float | None = None,
    low: float | None = None,
    hysteresis: float = 0.0,
    duration: Duration = "0 seconds",
) -> Threshold:
    """Limits: a value above `high` or below `low`, for at least `duration`, is anomalous.

    The anomaly ends when a value is inside the limits by at least `hysteresis`.

    >>> threshold(high=80, hysteresis=5, duration="10 minutes")
    Threshold(high=80.0, hysteresis=5.0, duration='10 minutes')
    """
    return Threshold.create(on, high, low, hysteresis, duration)


def rate_of_change(on: On | None = None, *, limit: float, per: Duration = "1 second") -> RateOfChange:
    """A change from the last row of more than `limit` per unit of event time.

    >>> rate_of_change(limit=2, per="1 minute")
    RateOfChange(limit=2.0, per='1 minute')
    """
    return RateOfChange.create(on, limit=limit, per=per)


def missing(duration: Duration) -> Missing:
    """No row of the key for a duration of event time.

    The result has the columns of the last row, and its event time is that of the row plus `duration`. Rows
    themselves pass with score 0. At the end of the input, every key is missing.

    >>> missing("10 minutes")
    Missing(duration='10 minutes')
    """
    return Missing.create(duration)


def z_score(on: On | None = None, *, limit: float = 3.0, rows: int | None = None) -> ZScore:
    """More than `limit` standard deviations from the mean of all earlier rows, or of the last `rows`.

    >>> z_score(limit=4)
    ZScore(limit=4.0)
    """
    return ZScore.create(on, limit, rows)


def ewma(on: On | None = None, *, alpha: float = 0.1, limit: float = 3.0) -> Ewma:
    """More than `limit` standard deviations from the exponentially weighted mean.

    It follows a level that moves; an anomaly that lasts becomes normal after about `1 / alpha` rows.

    >>> ewma(alpha=0.02)
    Ewma(alpha=0.02)
    """
    return Ewma.create(on, alpha, limit)


def quantile(on: On | None = None, *, q: float = 0.99, side: Side = "both") -> Quantile:
    """Above the quantile `q` or below the quantile `1 - q` of all earlier rows.

    No distribution is assumed. About `2 * (1 - q)` of ordinary rows are anomalous, with one side half of it.

    >>> quantile(q=0.999, side="high")
    Quantile(q=0.999, side='high')
    """
    return Quantile.create(on, q, side)


def mad(on: On | None = None, *, rows: int = 101, limit: float = 3.5) -> Mad:
    """Far from the median of the last `rows`, in median absolute deviations.

    Outliers among the earlier rows do not widen its limits.

    >>> mad(rows=31)
    Mad(rows=31)
    """
    return Mad.create(on, rows, limit)


def seasonal(
    on: On | None = None, *, per: Per = "day", limit: float = 3.0, alpha: float = 0.01, min_rows: int = 10
) -> Seasonal:
    """Far from the mean of the same hour of the day or of the week, in UTC.

    >>> seasonal(per="week")
    Seasonal(per='week')
    """
    return Seasonal.create(on, per, limit, alpha, min_rows)


def windowed_gaussian(
    on: On | None = None, *, rows: int = 6400, step: int = 100, limit: float = 4.0
) -> WindowedGaussian:
    """The Windowed Gaussian detector of the Numenta Anomaly Benchmark; its score is 0.5 at the mean.

    >>> windowed_gaussian(rows=1000)
    WindowedGaussian(rows=1000)
    """
    return WindowedGaussian.create(on, rows, step, limit)


def half_space_trees(
    on: On | None = None,
    *,
    trees: int = 25,
    height: int = 6,
    rows: int = 250,
    limit: float = 0.97,
    seed: int = 0,
) -> HalfSpaceTrees:
    """Rows in a sparse region of the space of several columns.

    The first `rows` determine the range of each column and have no verdict.

    >>> half_space_trees(["temperature", "humidity"])
    HalfSpaceTrees(on=('temperature', 'humidity'))
    """
    return HalfSpaceTrees.create(on, trees, height, rows, limit, seed)


def adwin(on: On | None = None, *, delta: float = 0.002) -> Adwin:
    """The row at which the mean has drifted, by ADWIN; its score is 1, that of other rows 0.

    >>> adwin(delta=0.01)
    Adwin(delta=0.01)
    """
    return Adwin.create(on, delta)


def page_hinkley(on: On | None = None, *, limit: float = 50.0, tolerance: float = 0.005) -> PageHinkley:
    """The row at which the mean has drifted up or down, by the Page-Hinkley test.

    `limit` and `tolerance` have the unit of the values.

    >>> page_hinkley(limit=20)
    PageHinkley(limit=20.0)
    """
    return PageHinkley.create(on, limit, tolerance)


def multi_scale(
    on: On | None = None,
    *,
    scales: Sequence[int] = (1, 5, 20),
    memory: int = 10_000,
    rest: int = 100,
    limit: float = 0.997,
) -> MultiScale:
    """An unusual level or change at any of several time scales; needs no setting for most series.

    The score is the share of earlier rows that were less unusual, the same for every key. After a high
    score only higher ones are reported for `rest` rows.

    >>> multi_scale(limit=0.999)
    MultiScale(limit=0.999)
    """
    return MultiScale.create(on, tuple(scales), memory, rest, limit)


def ensemble(*detectors: Detector, on: On | None = None, combine: Combine = "max") -> Ensemble:
    """Several detectors over the same rows, or over columns of their own.

    >>> ensemble(z_score(), mad(), combine="mean").phrase()
    'mean of z_score, mad'
    """
    return Ensemble.create(on, detectors=detectors, combine=combine)


def _value(value: Any) -> str:
    if isinstance(value, Length):
        return text(value)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
