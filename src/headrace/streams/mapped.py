"""`Mapped` and `TimedMapped`: the rows of a Python function, with dead letters as a side output."""

from __future__ import annotations

from headrace.streams.functions import dead_letters_of
from headrace.streams.stream import Stream
from headrace.streams.timed import TimedStream


class Mapped(Stream):
    """The rows that a function returned.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int")
    >>> tx.filter("large", lambda row: row.amount > 50).dead_letters
    <large.dead_letters of p>
    """

    stage_after = Stream

    @property
    def dead_letters(self) -> Stream:
        """Rows whose call raised or returned an invalid value: input columns, `reason` and `traceback`."""
        return dead_letters_of(self)


class TimedMapped(TimedStream, Mapped):
    """The rows that a function returned; each has the time of its input row.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.event_time("ts").filter("large", lambda row: row.amount > 50).key_by("card")
    <TimedKeyedStream of large>
    """

    stage_after = TimedStream
