"""Explain the results of a detector or of an online model for one key, from its rows in the input.

The rows of the key are read again and processed as a batch, which has the same results as the stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from headrace.checkpoints.keys import is_key
from headrace.debugging.dispatch import explain_rows, load_inspection
from headrace.debugging.replay import NotReplayable, replay_input
from headrace.debugging.verdict_text import VerdictReport
from headrace.lowering.expressions import TIME, spelled_name
from headrace.lowering.tables.steps import with_time
from headrace.schemas.datatypes import quote_name
from headrace.steps.expressions import hidden_key

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from headrace.debugging.key_report import Inquiry

NOT_READ = "the input was not replayed (--no-input), and only it has the rows that were compared"


def report_verdicts(inquiry: Inquiry, rows: int, *, read_input: bool) -> VerdictReport:
    """Return the report of a detector or an online model on the key of an inquiry."""
    if not read_input:
        return VerdictReport(notes=(NOT_READ,))
    load_inspection(inquiry.node)
    try:
        frame = replay_input(inquiry.spark, inquiry.graph, inquiry.query.query, inquiry.directory)
        with NotReplayable.wrap_spark_errors():
            return _report(inquiry, frame, rows)
    except NotReplayable as reason:
        return VerdictReport(notes=(f"rows are not shown: {reason}",))


def _report(inquiry: Inquiry, frame: DataFrame, rows: int) -> VerdictReport:
    node = inquiry.node
    names = [name if key == name else hidden_key(name) for name, key in node.keys]
    key = {spelled_name(frame, name): value for name, value in zip(names, inquiry.key.values(), strict=True)}
    timed = F.col(TIME).isNotNull() if TIME in frame.columns else F.lit(True)
    own = frame.where(is_key(key, frame.schema)).where(timed).persist()
    try:
        in_order, watermark = getattr(node, "order", "event_time") == "event_time", _watermark(inquiry)
        passed = F.col(TIME) < F.lit(watermark).cast("timestamp") if in_order else F.lit(True)
        taken, ahead = own.where(passed), own.where(~passed)
        waiting = tuple(plain_rows(ahead.orderBy(TIME), ahead.columns)) if in_order else ()
        report = explain_rows(node, taken, watermark, rows)
        return replace(report, known=bool(report.taken or waiting), ahead=waiting)
    finally:
        own.unpersist()


def _watermark(inquiry: Inquiry) -> str:
    watermark = inquiry.progress.watermark
    return {None: "1970-01-01T00:00:00Z", "end": "9999-01-01T00:00:00Z"}.get(watermark, str(watermark))


def plain_rows(frame: DataFrame, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield rows as plain data, with their times, null if they have none."""
    frame = with_time(frame)
    visible = [name for name in columns if not name.startswith("__")]
    content = F.to_json(
        F.struct(*(F.col(quote_name(name)) for name in visible)), {"ignoreNullFields": "false"}
    )
    for row in frame.select(format_moment(TIME).alias("time"), content.alias("row")).collect():
        yield {"time": row["time"], "row": json.loads(row["row"])}


def format_moment(name: str) -> Column:
    """Return a time column as text in UTC."""
    return F.date_format(F.col(name), "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")
