"""Explain the verdicts of a detector: what a row was compared with, and which condition decided."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from headrace.analytics.declare import VERDICT, Detect
from headrace.analytics.lower import annotate_rows
from headrace.debugging.dispatch import explain_rows
from headrace.debugging.verdict_text import VerdictReport
from headrace.debugging.verdicts import format_moment, plain_rows
from headrace.lowering.dispatch import select_output
from headrace.lowering.expressions import POSITION, TIME, add_keys, drop_hidden
from headrace.lowering.outputs import output_of as output_of  # registers the selection of outputs
from headrace.lowering.tables.steps import with_time
from headrace.steps.base import Ref

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@explain_rows.register(Detect)
def _explain_rows(node: Detect, taken: DataFrame, watermark: str, last: int) -> VerdictReport:
    ready, keys = add_keys(taken, node.keys)
    time = "event" if TIME in taken.columns else "none"
    results = select_output(node, Ref(node.name), annotate_rows(ready, keys, node, time=time))
    mark = F.lit(watermark).cast("timestamp")  # a batch ends, and then every key is missing
    results = results.where(F.col(TIME) < mark) if node.order == "event_time" else results
    arrival = node.order == "arrival" and (POSITION in taken.columns or time == "none")
    times = [
        row[0]
        for row in with_time(taken)
        .orderBy(POSITION if arrival and POSITION in taken.columns else TIME)
        .select(format_moment(TIME))
        .collect()
    ]
    # In arrival order the rows of the one key stay in the order in which the batch has processed them.
    ordered = results if arrival else results.orderBy(TIME)
    numbered = plain_rows(ordered, drop_hidden(results).columns)
    detector, learned = node.options.detector, node.options.rows_learned
    same_time: Counter[str] = Counter()
    shown: deque[dict[str, Any]] = deque(maxlen=last)
    for place, item in enumerate(numbered):
        number = place if arrival else bisect_left(times, item["time"]) + same_time[item["time"]]
        same_time[item["time"]] += 1
        values = item.pop("row")
        result = {name: values.pop(name) for name in VERDICT}
        reach = detector.reach
        earlier = times[max(0, number - reach) if reach is not None else 0 : number]
        based_on: dict[str, Any] = {
            "rows": len(earlier),
            "warm_up": number < learned,
            "of": detector.phrase(),
        }
        based_on |= {"from": earlier[0], "to": earlier[-1]} if earlier and earlier[0] else {}
        shown.append({**item, "row": values, "result": result, "based_on": based_on})
    return VerdictReport(taken=len(times), rows=tuple(shown))
