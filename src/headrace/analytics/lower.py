"""Lower detectors, smoothing and alerts to the kernel.

The kernel receives a declaration as JSON and the frame with hidden columns: the values of a detector
(`__on0`, `__on1`, ...) or of a smoothing method (`__on`), or the conditions of an alert (`__when`,
`__resolve`). It returns tagged rows: `__output` is `main` or `late`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from headrace.analytics.declare import AlertRows, Detect, DetectOptions, InOrderNode, Smooth
from headrace.analytics.detectors import Detector, Ensemble
from headrace.analytics.expectations import check_rules as check_rules  # registers the lowering of Expect
from headrace.lowering.dispatch import lower
from headrace.lowering.expressions import HIDDEN, TIME, add_keys, spelled_name
from headrace.lowering.keyed_steps import KeyedStepDriver, run_keyed_step
from headrace.lowering.tables.steps import step_time, with_time
from headrace.schemas.datatypes import quote_name
from headrace.spark.gateway import java_frame, kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.lowering.counts import Counts
    from headrace.lowering.lowering import Lowering


@lower.register(InOrderNode)
def _in_order(node: InOrderNode, lowering: Lowering) -> DataFrame:
    frame, keys = add_keys(lowering.frame(node.input), node.keys)
    time = step_time(lowering.graph.facts(node.input))
    return annotate_rows(frame, keys, node, time=time, counts=lowering.count(node))


def annotate_rows(
    frame: DataFrame,
    keys: Sequence[str],
    node: InOrderNode,
    *,
    time: str = "event",
    counts: Counts | None = None,
) -> DataFrame:
    """Return the tagged rows of a step: rows with its columns in `main`, late rows in `late`.

    Args:
        frame: the input, as for `run_keyed_step`; a stream has a watermark, unless `time` is the clock.
        keys: the names of the key columns.
        node: the step.
        time: `clock` for ingestion and processing time, where the watermark is the clock; `none` for rows
            without time.
        counts: the row counters of a stream.
    """
    ready = add_inputs(frame, node)
    return run_keyed_step(ready, _step(ready, keys, node, time), counts)


def annotation_driver(frame: DataFrame, keys: Sequence[str], node: InOrderNode) -> KeyedStepDriver:
    """Return a driver of a step in virtual time; of `frame`, only the columns are used."""
    ready = add_inputs(frame, node)
    time = "event" if TIME in frame.columns else "none"
    return KeyedStepDriver(frame.sparkSession, _step(ready, keys, node, time), frame, ready)


def add_inputs(frame: DataFrame, node: InOrderNode) -> DataFrame:
    """Add the hidden columns that a step reads."""
    frame = with_time(frame)
    if isinstance(node, Detect):
        return add_values(frame, node.options.detector)
    if isinstance(node, Smooth):
        value = F.col(quote_name(str(node.options.method.on))).cast("double")
        return frame.withColumn(f"{HIDDEN}on", value)
    assert isinstance(node, AlertRows)
    options = node.options
    resolves = F.lit(True) if options.resolve is None else F.expr(options.resolve)
    return frame.withColumns(
        {
            f"{HIDDEN}when": F.expr(options.when).cast("boolean"),
            f"{HIDDEN}resolve": resolves.cast("boolean"),
        }
    )


def _step(ready: DataFrame, keys: Sequence[str], node: InOrderNode, time: str) -> Any:
    """Return the kernel's step."""
    steps, rows = kernel(ready.sparkSession).analytics, java_frame(ready)
    if isinstance(node, Detect):
        return steps.DetectStep.apply(rows, declaration(keys, node.options, time))
    common = {"keys": list(keys), "order": node.order, "time": time}
    if isinstance(node, Smooth):
        method = {"kind": node.options.method.kind, **_fields(node.options.method)}
        return steps.SmoothStep.apply(rows, json.dumps({**common, "column": node.added, "method": method}))
    assert isinstance(node, AlertRows)
    group = [spelled_name(ready, name) for name in node.options.group or ()]
    members = {"keys": group, "members": list(keys)} if group else {"members": []}
    options = {"severity": node.options.severity, "repeat": node.options.repeat}
    return steps.AlertStep.apply(rows, json.dumps({**common, **members, **options}))


def add_values(frame: DataFrame, detector: Detector) -> DataFrame:
    """Add the values that a detector compares as numbers."""
    values = (F.expr(column).cast("double") for column in detector.columns)
    return frame.withColumns({f"{HIDDEN}on{number}": value for number, value in enumerate(values)})


def declaration(keys: Sequence[str], options: DetectOptions, time: str) -> str:
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
    return {**plain, **_fields(detector)}


def _fields(declared: Any) -> dict[str, Any]:
    return {field.name: getattr(declared, field.name) for field in fields(declared) if field.name != "on"}
