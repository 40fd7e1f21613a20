"""Headrace: stream processing on Spark, in Python.

In reading order: `Pipeline` reads sources into streams; `connect` has the connectors; `windows` and
`triggers` define where in event time and when in processing time results are computed, `patterns` which rows
follow each other, `detectors` which rows are anomalous, `smoothing` how noise is removed, `models` what is
predicted; `Aggregate` is the base of aggregates in Python, `Processor`, with `state`, `timers` and
`side_output`, that of per-key logic; all errors derive from `HeadraceError`. The other names are for type
annotations: the stages of a stream, `Connector`, `Schema` and `RunHandle`. Importing this package starts no
JVM.

>>> from headrace import Pipeline, TimedStream, connect, windows
>>> fraud = Pipeline("card-fraud")
>>> tx = fraud.read("tx", connect.memory(), schema="card string, amount double, ts timestamp")
>>> def totals(payments: TimedStream):
...     by_card = payments.key_by("card").window(windows.tumbling("10 minutes"))
...     return by_card.aggregate("totals", n="count(*)", total="sum(amount)")
>>> totals(tx.event_time("ts", out_of_order="1 minute")).write("results", connect.memory())
"""

from typing import TYPE_CHECKING

from headrace import connect, detectors, models, patterns, smoothing, triggers, windows
from headrace.aggregates import Aggregate
from headrace.connectors.base import Connector
from headrace.errors import HeadraceError
from headrace.processors import state, timers
from headrace.processors.outputs import side_output
from headrace.processors.processor import Processor
from headrace.schemas.fields import Schema
from headrace.streams.keyed import KeyedStream
from headrace.streams.pipeline import Pipeline
from headrace.streams.results import (
    DivertingStream,
    LatestTable,
    Learned,
    Matches,
    Panes,
    Processed,
    QueryResult,
    RuleMatches,
    SourceStream,
    TimedDivertingStream,
    TimedProcessed,
    TimedResult,
)
from headrace.streams.stream import Routes, Stream
from headrace.streams.tables import KeyedTable, Table
from headrace.streams.timed import TimedKeyedStream, TimedStream
from headrace.streams.windowed import NativeWindowedStream, WindowedStream

if TYPE_CHECKING:
    from headrace.runtime.handle import RunHandle
else:

    def __getattr__(name: str) -> object:
        """Import `RunHandle` on first use: its module needs pyspark."""
        if name == "RunHandle":
            from headrace.runtime.handle import RunHandle

            return RunHandle
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")


def load_ipython_extension(shell: object) -> None:
    """Add the cell magic `%%headrace`; called by `%load_ext headrace` in a notebook."""
    from headrace.devtools.notebook_magic import load

    load(shell)


__all__ = [
    "Aggregate",
    "Connector",
    "DivertingStream",
    "HeadraceError",
    "KeyedStream",
    "KeyedTable",
    "LatestTable",
    "Learned",
    "Matches",
    "NativeWindowedStream",
    "Panes",
    "Pipeline",
    "Processed",
    "Processor",
    "QueryResult",
    "Routes",
    "RuleMatches",
    "RunHandle",
    "Schema",
    "SourceStream",
    "Stream",
    "Table",
    "TimedDivertingStream",
    "TimedKeyedStream",
    "TimedProcessed",
    "TimedResult",
    "TimedStream",
    "WindowedStream",
    "connect",
    "detectors",
    "models",
    "patterns",
    "side_output",
    "smoothing",
    "state",
    "timers",
    "triggers",
    "windows",
]
