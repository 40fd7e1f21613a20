"""`TimedStream` and `TimedKeyedStream`: rows that have a time, so that they can be windowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.durations import Duration
from headrace.streams.keyed import KeyedStream, keys_of
from headrace.streams.stream import Stream
from headrace.streams.windowed import WindowedStream
from headrace.windows import Window

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.streams.panes import Deduplicated


class TimedStream(Stream):
    """Rows with event, ingestion or processing time. The time stays with a row, whatever becomes of the column."""

    def key_by(self, *columns: str, **named: str | Column) -> TimedKeyedStream:
        """Group by columns or expressions. A null key is a key."""
        return TimedKeyedStream(self._pipeline, self._ref, keys_of(columns, named))

    def window(self, window: Window, /) -> WindowedStream:
        """Group all rows by window."""
        return WindowedStream(self._pipeline, self._ref, (), window)

    def distinct(
        self,
        name: str | None = None,
        /,
        *,
        on: str | list[str] | tuple[str, ...],
        within: Duration | None = None,
    ) -> Deduplicated:
        """Drop rows that repeat the columns `on` of a row already kept, less than `within` apart in event time."""
        from headrace.streams.panes import Deduplicated

        return Deduplicated(self._pipeline, super().distinct(name, on=on, within=within)._ref)


class TimedKeyedStream(KeyedStream):
    """Rows with time, grouped by key."""

    def window(self, window: Window, /) -> WindowedStream:
        """Group the rows of each key by window."""
        return WindowedStream(self._pipeline, self._ref, self._keys, window)
