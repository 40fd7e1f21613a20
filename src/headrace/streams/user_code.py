"""The rows of Python functions (`Mapped`) and of processors (`Processed`), with their side outputs."""

from __future__ import annotations

from typing import ClassVar

from headrace.errors import OptionError, did_you_mean
from headrace.steps.base import DEAD_LETTERS, Ref
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
        return self._side_output(DEAD_LETTERS)


class TimedMapped(TimedStream, Mapped):
    """The rows that a function returned; each has the time of its input row.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.event_time("ts").filter("large", lambda row: row.amount > 50).key_by("card")
    <TimedKeyedStream of large>
    """

    stage_after = TimedStream


class Processed(Stream):
    """The rows that a processor emitted.

    >>> from headrace import Pipeline, Processor, connect, side_output
    >>> class Split(Processor):
    ...     output = "card string"
    ...     large = side_output("card string, amount double")
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
    >>> tx.key_by("card").process("split", Split).side_output("large")
    <split.large of p>
    """

    stage_after: ClassVar[type[Stream]] = Stream

    @property
    def dead_letters(self) -> Stream:
        """Rows whose call raised: the input columns (for a timer the key), `reason` and `traceback`."""
        return self._side_output(DEAD_LETTERS)

    def side_output(self, name: str, /) -> Stream:
        """Return the rows of a side output that the processor declares."""
        outputs = self._pipeline.graph[self._ref.step].outputs[1:]
        if name not in outputs:
            raise OptionError(
                f"unknown output `{name}`", where=f"`{self._ref}`", hint=did_you_mean(name, outputs)
            )
        return self.stage_after(self._pipeline, Ref(self._ref.step, name))


class TimedProcessed(TimedStream, Processed):
    """The rows that a processor emitted; each has the time of its row or timer."""

    stage_after = TimedStream
