"""Lower detectors to the kernel.

The kernel receives the detector as JSON (`declaration`) and the frame with the values of its columns in the
hidden columns `__on0`, `__on1`, ... It returns tagged rows: `__output` is `main` or `late`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from headrace.analytics.declare import Detect, DetectOptions
from headrace.analytics.detectors import Detector, Ensemble
from headrace.lowering.dispatch import lower
from headrace.lowering.expressions import HIDDEN, add_keys
from headrace.lowering.keyed_steps import KeyedStepDriver, run_keyed_step
from headrace.spark.gateway import java_frame, kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.lowering.counts import Counts
    from headrace.lowering.lowering import Lowering
    from headrace.steps.facts import Time


@lower.register(Detect)
def _detect(node: Detect, lowering: Lowering) -> DataFrame:
    frame, keys = add_keys(lowering.frame(node.input), node.keys)
    time = lowering.graph.facts(node.input).time
    return detect_anomalies(frame, keys, node.options, time=time, counts=lowering.count(node))


def detect_anomalies(
    frame: DataFrame,
    keys: Sequence[str],
    options: DetectOptions,
    *,
    time: Time = "event",
    counts: Counts | None = None,
) -> DataFrame:
    """Return the tagged rows of a detector: rows with a verdict in `main`, late rows in `late`.

    Args:
        frame: the input, as for `run_keyed_step`; a stream has a watermark, unless `time` is the clock.
        keys: the names of the key columns.
        options: the detector.
        time: `clock` for ingestion and processing time, where the watermark is the clock.
        counts: the row counters of a stream.
    """
    ready = add_values(frame, options.detector)
    step = kernel(frame.sparkSession).analytics.DetectStep
    return run_keyed_step(ready, step.apply(java_frame(ready), declaration(keys, options, time)), counts)


def detect_driver(frame: DataFrame, keys: Sequence[str], options: DetectOptions) -> KeyedStepDriver:
    """Return a driver of a detector in virtual time; of `frame`, only the columns are used."""
    ready = add_values(frame, options.detector)
    step = kernel(frame.sparkSession).analytics.DetectStep.apply(
        java_frame(ready), declaration(keys, options, "event")
    )
    return KeyedStepDriver(frame.sparkSession, step, frame, ready)


def add_values(frame: DataFrame, detector: Detector) -> DataFrame:
    """Add the values that a detector compares as numbers."""
    values = (F.expr(column).cast("double") for column in detector.columns)
    return frame.withColumns({f"{HIDDEN}on{number}": value for number, value in enumerate(values)})


def declaration(keys: Sequence[str], options: DetectOptions, time: Time) -> str:
    """Return the declaration of a detector for the kernel.

    >>> from headrace import detectors
    >>> declaration(["k"], DetectOptions(detectors.ewma("v")), "event")
    '{"keys": ["k"], "order": "event_time", "time": "event", "warm_up": 30, "values": 1, "detector":
    {"kind": "ewma", "at": [0], "alpha": 0.1, "limit": 3.0}}'
    """
    columns = options.detector.columns
    return json.dumps(
        {
            "keys": list(keys),
            "order": options.order,
            "time": time,
            "warm_up": options.rows_learned,
            "values": len(columns),
            "detector": _plain(options.detector, columns, ()),
        }
    )


def _plain(detector: Detector, columns: Sequence[str], default: Sequence[str]) -> dict[str, Any]:
    own = getattr(detector, "on", None) or default
    plain: dict[str, Any] = {"kind": detector.kind, "at": [columns.index(name) for name in own]}
    if isinstance(detector, Ensemble):
        parts = [_plain(part, columns, own) for part in detector.detectors]
        return {**plain, "combine": detector.combine, "detectors": parts}
    values = {field.name: getattr(detector, field.name) for field in fields(detector) if field.name != "on"}
    return {**plain, **values}
