"""`Table`: the changelog of a table; `KeyedTable`: its rows grouped by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.durations import Duration, microseconds
from headrace.steps.base import Ref
from headrace.steps.expressions import Named, expression_of, key_expressions
from headrace.steps.tables.latest import Latest
from headrace.streams.keyed import KeyedStream
from headrace.streams.rows import Rows

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.streams.pipeline import Pipeline
    from headrace.streams.stream import Stream
    from headrace.streams.windowed import WindowedStream
    from headrace.windows import Window


class Table(Rows):
    """A table: one row per key, and its changes as rows.

    The rows have the column `change`: `insert`, `update_before`, `update_after` or `delete`. A sink with a
    key applies the changes; a Kafka sink with a key writes upserts and tombstones; others get the changes.

    >>> from headrace import Pipeline, connect
    >>> schema = "symbol string, price double, ts timestamp"
    >>> prices = Pipeline("p").read("prices", connect.memory(), schema=schema)
    >>> current = prices.event_time("ts").key_by("symbol").latest("current")
    >>> current.where("price > 10").write("expensive", connect.memory(key=["symbol"]))
    <sink expensive of p>
    """

    def key_by(self, *columns: str, **named: str | Column) -> KeyedTable:
        """Group the rows by columns or expressions. A null key is a key."""
        return KeyedTable(self._pipeline, self._ref, key_expressions(columns, named))


class LatestTable(Table):
    """The table of `latest`.

    >>> from headrace import Pipeline, connect
    >>> schema = "symbol string, price double, ts timestamp"
    >>> prices = Pipeline("p").read("prices", connect.memory(), schema=schema)
    >>> prices.event_time("ts").key_by("symbol").latest("current").late
    <current.late of p>
    """

    stage_after = Table

    @property
    def late(self) -> Stream:
        """Rows without event time, with `late_by`, `window`, `watermark` and `reason`."""
        from headrace.streams.stream import Stream

        return Stream(self._pipeline, Ref(self._ref.step, "late"))


class KeyedTable(KeyedStream):
    """The rows of a table, grouped by key; aggregates follow every change of the table.

    >>> from headrace import Pipeline, connect
    >>> users = Pipeline("p").read("users", connect.memory(), schema="id int, country string, ts timestamp")
    >>> current = users.event_time("ts").key_by("id").latest("current")
    >>> current.key_by("country").aggregate("by_country", n="count(*)")
    <by_country of p>
    """

    def window(self, window: Window, /) -> WindowedStream:
        """Group the rows of each key by window, by the event time of the table's rows."""
        from headrace.streams.windowed import WindowedStream

        return WindowedStream(self._pipeline, self._ref, self._keys, window)


def latest_table(
    pipeline: Pipeline,
    ref: Ref,
    name: str,
    keys: Named,
    *,
    delete_when: str | Column | None = None,
    ttl: Duration | None = None,
) -> LatestTable:
    """Add `latest` to a pipeline and return its table."""
    node = Latest(
        name,
        ref,
        keys,
        None if delete_when is None else expression_of(delete_when),
        None if ttl is None else microseconds(ttl, where=f"`{name}`: ttl"),
    )
    return LatestTable(pipeline, pipeline.add(node))
