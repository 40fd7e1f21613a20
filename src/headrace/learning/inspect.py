"""The state of a step that learns, and the features and contributions of its predictions."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from headrace.debugging.dispatch import Describe, explain_rows, read_model, state_reader
from headrace.debugging.verdict_text import VerdictReport
from headrace.learning.contributions import contributions_of
from headrace.learning.declare import Learn
from headrace.learning.lower import open_model
from headrace.learning.runtime import LearnRuntime
from headrace.learning.state import Waiting, describe_learned, stored_model
from headrace.lowering.expressions import POSITION, TIME, drop_hidden
from headrace.processors.times import END, BatchTime
from headrace.schemas.datatypes import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@state_reader.register(Learn)
def _state_reader(node: Learn) -> Describe:
    return describe_learned


@read_model.register(Learn)
def _read_model(node: Learn, content: bytes) -> tuple[Any, int]:
    return stored_model(content)


@dataclass
class ExplainedRuntime(LearnRuntime):
    """Predicts and learns like a worker, and records each row with its features and contributions."""

    explained: deque[dict[str, Any]] = field(default_factory=deque)

    def _predict(self, time: int, values: Sequence[Any]) -> tuple[Waiting, Any]:
        model = self._state.learned.model
        row, prediction = super()._predict(time, values)
        result = {"prediction": prediction, "model_rows": self._state.rows}
        item = {"time": _format_time(time), "row": values, "result": result, "features": row.features}
        self.explained.append({**item, "contributions": contributions_of(model, row.features)})
        return row, prediction


def _format_time(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1e6, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@explain_rows.register(Learn)
def _explain_rows(node: Learn, taken: DataFrame, watermark: str, last: int) -> VerdictReport:
    rows = drop_hidden(taken)
    spec, _ = open_model(node, rows, f"`{node.name}`", in_order=True)
    order = [name for name in (TIME, POSITION) if name in taken.columns]
    times = F.unix_micros(F.col(TIME)).alias("__micros")
    runtime = ExplainedRuntime(spec, node.options.model.phrase(), explained=deque(maxlen=last))
    runtime.begin((), None, BatchTime(None))
    count = 0
    columns = [F.col(quote_name(name)) for name in rows.columns]
    for row in taken.orderBy(*order).select(*columns, times).toLocalIterator():
        runtime.row(tuple(row)[:-1], row[-1])
        count += 1
    runtime.begin((), runtime.end().content, BatchTime(END))
    shown = [{**item, "row": dict(zip(rows.columns, item["row"], strict=True))} for item in runtime.explained]
    return VerdictReport(taken=count, rows=tuple(json.loads(json.dumps(shown, default=str))))
