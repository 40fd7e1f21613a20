"""Lower `MATCH_RECOGNIZE` to the kernel's row patterns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.errors import PlanError
from headrace.lowering.counts import Counts
from headrace.lowering.expressions import HIDDEN, hidden_columns
from headrace.lowering.keyed_steps import KeyedStepDriver, run_keyed_step
from headrace.lowering.patterns.formulas import Formulas
from headrace.lowering.sql_queries import run_query
from headrace.lowering.watermarks import block_predicate_pushdown
from headrace.schemas.datatypes import quote_name
from headrace.spark.gateway import java_frame, kernel
from headrace.sql.match_recognize.values import CLASSIFIER, NUMBER

if TYPE_CHECKING:
    from headrace.sql.match_recognize.clause import MatchRecognize
    from headrace.steps.facts import Time
    from headrace.steps.patterns.match_recognize import RowPattern


def find_row_patterns(
    frame: DataFrame, node: RowPattern, *, time: Time = "event", counts: Counts | None = None
) -> DataFrame:
    """Return the tagged rows of a step: matches in `main`, late rows in `late`.

    Rows of a stream are processed when the watermark has passed them, rows of a batch in event time order.
    """
    step = Expressions(frame, node).step(node.clause, time=time)
    return run_keyed_step(frame, step, counts)


def select_input(frame: DataFrame, node: RowPattern) -> DataFrame:
    """Return the rows that the query of a row pattern selects from its input, with hidden columns."""
    if node.input_query is None:
        return frame
    hidden = hidden_columns(frame)
    query = node.input_query.to_sql(hidden)
    rows = run_query(query, {node.table: block_predicate_pushdown(frame)}, frame.sparkSession)
    visible = [name for name in rows.columns if name not in hidden]
    names = node.input_query.names or visible
    return rows.select(*map(quote_name, visible), *hidden).toDF(*names, *hidden)


class Expressions:
    """The conditions and measures of a clause, analysed over the columns of a frame."""

    def __init__(self, frame: DataFrame, node: RowPattern) -> None:
        visible = tuple(name for name in frame.columns if not name.startswith(HIDDEN))
        empty = {CLASSIFIER: F.lit(None).cast("string"), NUMBER: F.lit(None).cast("bigint")}
        self._frame = frame
        self._extended = frame.withColumns(empty)
        self._formulas = Formulas.of(node, visible)
        try:
            self._frames = self._formulas.run_subqueries(frame.sparkSession).analyse(self._extended, node)
        except AnalysisException as error:
            raise PlanError([self._formulas.translate_error(error, node, visible)]) from None

    def step(self, clause: MatchRecognize, *, time: Time = "event") -> Any:
        """Return the kernel's step; the clause must have the same conditions and measures."""
        aggregates = self._frames.aggregates
        return kernel(self._frame.sparkSession).matchrecognize.RowPatternStep.apply(
            java_frame(self._frame),
            java_frame(self._extended),
            java_frame(self._frames.rows),
            None if aggregates is None else java_frame(aggregates),
            java_frame(self._frames.results),
            json.dumps(self._formulas.declaration(clause, self._frame.columns, time)),
        )

    def driver(self, clause: MatchRecognize) -> KeyedStepDriver:
        """Return a driver of the step in virtual time."""
        return KeyedStepDriver(self._frame.sparkSession, self.step(clause))
