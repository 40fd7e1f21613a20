"""Headrace: stream processing on Spark, in Python.

In reading order: `Pipeline` reads sources into streams; `connect` names what can be read and written; `windows` and
`triggers` say where and when results are computed, `patterns` which rows follow each other; `Aggregate` is the base of
aggregates in Python; errors are all `HeadraceError`. Importing this starts no JVM.

>>> from headrace import Pipeline, connect, windows
>>> fraud = Pipeline("card-fraud")
>>> tx = fraud.read("tx", connect.memory(), schema="card string, amount double, ts timestamp")
>>> totals = (
...     tx.event_time("ts", out_of_order="1 minute")
...     .key_by("card")
...     .window(windows.tumbling("10 minutes"))
...     .aggregate("totals", n="count(*)", total="sum(amount)")
... )
>>> totals.write("kept", connect.memory())
"""

from headrace import connect, patterns, triggers, windows
from headrace.aggregates import Aggregate
from headrace.errors import HeadraceError
from headrace.streams.pipeline import Pipeline

__all__ = ["Aggregate", "HeadraceError", "Pipeline", "connect", "patterns", "triggers", "windows"]
