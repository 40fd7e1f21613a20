"""The verbs for user functions, and the streams that they return."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast

from headrace.schemas.fields import Schema
from headrace.steps.code.functions import (
    Filter,
    FlatMap,
    FunctionKeywords,
    FunctionStep,
    Map,
    MapBatches,
    function_node,
)
from headrace.streams.rows import Rows

if TYPE_CHECKING:
    from headrace.streams.user_code import Mapped, TimedMapped

Code: TypeAlias = Callable[..., Any] | type | str
"""A function, a class that each worker instantiates once, or the text `"module:name"`."""

Output: TypeAlias = str | type | Schema | None
"""The columns that a function returns."""


class FunctionVerbs(Rows):
    """Verbs that call Python functions.

    A row whose call raises goes to `.dead_letters`, and the job continues.

    Args of all verbs:
        name: the step's name.
        f: a function; a class, which each worker instantiates once, calling its `open()` if it has one; or
            the text `"module:name"`. Its argument is a row with attribute access: `row.amount`.
        output: the columns it returns; default: the dataclass or pydantic model of its return type.
        on_error: `"divert"`, or `"fail"` to stop the run.
        concurrency: the maximum number of concurrent calls of an async function; default 10. The order of
            rows is kept.
        timeout: the timeout of a call, after which the row has failed.
    """

    def map(
        self,
        name: str,
        f: Code,
        /,
        *,
        output: Output = None,
        **options: Unpack[FunctionKeywords],
    ) -> Mapped:
        """Map each row to one row.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> def score(row):
        ...     return {"card": row.card, "score": row.amount / 100}
        >>> tx.map("scored", score, output="card string, score double").dead_letters
        <scored.dead_letters of p>
        """
        return self._apply(function_node(Map, name, self._ref, f, output, **options))

    def flat_map(
        self,
        name: str,
        f: Code,
        /,
        *,
        output: Output = None,
        **options: Unpack[FunctionKeywords],
    ) -> Mapped:
        """Map each row to any number of rows: the function returns an iterable of rows, or yields them."""
        return self._apply(function_node(FlatMap, name, self._ref, f, output, **options))

    def filter(self, name: str, f: Code, /, **options: Unpack[FunctionKeywords]) -> Mapped:
        """Keep the rows for which the function returns True."""
        return self._apply(function_node(Filter, name, self._ref, f, **options))

    def map_batches(
        self,
        name: str,
        f: Code,
        /,
        *,
        output: Output = None,
        **options: Unpack[FunctionKeywords],
    ) -> Mapped:
        """Map each batch of rows to a table.

        The type hint of the parameter selects the type of the batch: `pyarrow.Table` (the default),
        `pandas.DataFrame` or `polars.DataFrame`. The function may return any of these. If it raises, all rows
        of the batch are dead letters.
        """
        return self._apply(function_node(MapBatches, name, self._ref, f, output, **options))

    def _apply(self, node: FunctionStep) -> Mapped:
        from headrace.streams.timed import TimedStream
        from headrace.streams.user_code import Mapped, TimedMapped

        stage = TimedMapped if isinstance(self, TimedStream) else Mapped
        return stage(self._pipeline, self._pipeline.add(node))


class TimedFunctionVerbs(FunctionVerbs):
    """The verbs of `FunctionVerbs` on a stream with time: results have the time of their input row.

    >>> from headrace import Pipeline, connect, windows
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> large = tx.event_time("ts").filter("large", lambda row: row.amount > 50)
    >>> large.key_by("card").window(windows.tumbling("1 hour")).aggregate("counts", n="count(*)")
    <counts of p>
    """

    def map(
        self, name: str, f: Code, /, *, output: Output = None, **options: Unpack[FunctionKeywords]
    ) -> TimedMapped:
        """Map each row to one row."""
        return cast("TimedMapped", super().map(name, f, output=output, **options))

    def flat_map(
        self, name: str, f: Code, /, *, output: Output = None, **options: Unpack[FunctionKeywords]
    ) -> TimedMapped:
        """Map each row to any number of rows: the function returns an iterable of rows, or yields them."""
        return cast("TimedMapped", super().flat_map(name, f, output=output, **options))

    def filter(self, name: str, f: Code, /, **options: Unpack[FunctionKeywords]) -> TimedMapped:
        """Keep the rows for which the function returns True."""
        return cast("TimedMapped", super().filter(name, f, **options))

    def map_batches(
        self, name: str, f: Code, /, *, output: Output = None, **options: Unpack[FunctionKeywords]
    ) -> TimedMapped:
        """Map each batch of rows to a table."""
        return cast("TimedMapped", super().map_batches(name, f, output=output, **options))
