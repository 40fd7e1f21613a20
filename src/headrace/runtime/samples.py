"""Samples of the rows at the edges of a running plan, on request.

A sample returns the first rows of the next micro-batch, collected while the epoch computes them: nothing is
read or computed twice, and without a request nothing is collected.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.errors import OptionError, did_you_mean, without_passwords
from headrace.spark.gateway import java_frame, java_session, kernel
from headrace.steps.base import Ref
from headrace.steps.endpoints.sink import Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.plan.graph import Graph

ROWS = 10
MAX_ROWS = 100
MAX_LENGTH = 4096
"""Maximum length of a row in characters; longer rows are truncated."""
TRUNCATED = "(cut)"
"""The only column of a truncated row."""
SECONDS = 10.0
"""Default time to wait for rows."""
KEEP_SECONDS = 2.0
"""Seconds between two samples of the last rows of a sink."""
_POLL = 0.05
_SETTLE = 0.5
"""Seconds to wait for rows of other tasks after the first row."""


class Samples:
    """Takes samples of one run."""

    def __init__(self, spark: SparkSession) -> None:
        """Prepare a session, before its queries start."""
        self._spark = spark
        self._run = uuid.uuid4().hex
        self._requested: set[Ref] = set()
        self._keeps = False
        self._last: dict[str, LastRows] = {}
        self._lock = threading.Lock()
        self._kernel = kernel(spark).sampling.EdgeSamples
        self._kernel.prepare(java_session(spark))

    def mark(self, ref: Ref, frame: DataFrame) -> DataFrame:
        """Return a streaming frame that can be sampled."""
        return frame.alias(self._mark(ref))

    def tap(self, ref: Ref, frame: DataFrame) -> DataFrame:
        """Return the frame of a micro-batch; sampled if there is a request for it."""
        if ref not in self._requested:
            return frame
        from pyspark.sql import DataFrame

        return DataFrame(self._kernel.tap(java_frame(frame), self._mark(ref)), frame.sparkSession)

    def take(self, ref: Ref, rows: int = ROWS, seconds: float = SECONDS) -> list[dict[str, Any]]:
        """Wait for rows and return the first ones; empty on a timeout."""
        with self._lock:
            sampler = self._kernel.begin(
                java_session(self._spark), self._mark(ref), min(rows, MAX_ROWS), MAX_LENGTH
            )
            self._requested.add(ref)
            try:
                return [read_row(row) for row in _collect(sampler, rows, seconds)]
            finally:
                self._requested.discard(ref)
                self._kernel.end(self._mark(ref))

    def tap_sink(self, sink: str, frame: DataFrame) -> DataFrame:
        """Return the frame that a sink writes in an epoch, sampled from time to time."""
        if not self._keeps:
            return frame
        from pyspark.sql import DataFrame

        last, mark = self._last.setdefault(sink, LastRows()), f"{self._run} into {sink}"
        if last.finish():
            self._kernel.end(mark)
        if last.sampler is None:
            if time.monotonic() - last.begun < KEEP_SECONDS:
                return frame
            session = java_session(self._spark)
            last.begin(self._kernel.begin(session, mark, ROWS, MAX_LENGTH))
        return DataFrame(self._kernel.tap(java_frame(frame), mark), frame.sparkSession)

    def last_rows(self, sink: str) -> tuple[float, list[dict[str, Any]]]:
        """Return the last rows that were kept of a sink, and the time; 0 and no rows if there are none.

        From the first call on, at most one sample per sink is taken in two seconds.
        """
        self._keeps = True
        last = self._last.get(sink, LastRows())
        last.look()
        return last.at, [read_row(row) for row in last.rows]

    def _mark(self, ref: Ref) -> str:
        return f"{self._run} {ref}"


@dataclass
class LastRows:
    """The last rows of a sink; `sampler` collects the next ones."""

    rows: list[str] = field(default_factory=list)
    at: float = 0.0
    sampler: Any = None
    begun: float = float("-inf")

    def begin(self, sampler: Any) -> None:
        """Collect rows in a new sampler."""
        self.sampler, self.begun = sampler, time.monotonic()

    def look(self) -> bool:
        """Take the rows of the sampler, if it has any."""
        sampler = self.sampler
        if sampler is None or sampler.isZero():
            return False
        self.rows, self.at = list(sampler.value()), time.time()
        return True

    def finish(self) -> bool:
        """Take the rows of the sampler and end it, if it has any."""
        taken = self.look()
        if taken:
            self.sampler = None
        return taken


def find_edge(graph: Graph, name: str) -> Ref:
    """Return the output of a name: a step, `step.output`, or a sink, which stands for its input.

    Raises:
        OptionError: there is no such output.
    """
    nodes = {node.name: node for node in graph}
    outputs = {str(ref): ref for node in graph for output in node.outputs if (ref := Ref(node.name, output))}
    if isinstance(sink := nodes.get(name), Sink):
        return sink.input
    if name not in outputs:
        known = [*outputs, *(sink.name for sink in graph.sinks)]
        raise OptionError(f"unknown step or output `{name}`", where="step", hint=did_you_mean(name, known))
    return outputs[name]


def read_row(text: str) -> dict[str, Any]:
    """Return the columns of a row; a truncated row has its text in the column `(cut)`.

    >>> read_row('{"a":1}'), read_row('{"a":"xxxx…')
    ({'a': 1}, {'(cut)': '{"a":"xxxx…'})
    """
    try:
        row: dict[str, Any] = _hide_passwords(json.loads(text))
    except ValueError:
        return {TRUNCATED: without_passwords(text)}
    return row


def _hide_passwords(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _hide_passwords(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_hide_passwords(each) for each in value]
    return without_passwords(value) if isinstance(value, str) else value


def _collect(sampler: Any, rows: int, seconds: float) -> list[str]:
    deadline = time.monotonic() + seconds
    while sampler.isZero() and time.monotonic() < deadline:
        time.sleep(_POLL)
    deadline = min(deadline, time.monotonic() + _SETTLE)
    while len(sampled := list(sampler.value())) < rows and time.monotonic() < deadline:
        time.sleep(_POLL)
    return sampled
