"""Convert expressions of the plan to Spark columns; names of hidden columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from headrace.steps.expressions import Expression, Named, Opaque, PythonFold, hidden_key

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

HIDDEN = "__"
"""The prefix of hidden columns; `lowering.py` describes them."""
TIME = "__ts"
POSITION = "__position"
_POSITION_TYPE = "struct<source: string, partition: string, offset: bigint>"
ROUTE = "__route"
OUTPUT = "__output"
REFINED = "__refined"
"""The label of accumulating panes that a stateful step reads; the kernel emits retractions for it."""


def column(expression: Expression) -> Column:
    """Return an expression of the plan as a Spark column."""
    if isinstance(expression, PythonFold):
        return _collect_arguments(expression)
    return expression.column if isinstance(expression, Opaque) else F.expr(expression)


def _collect_arguments(folded: PythonFold) -> Column:
    """Collect the arguments of each row for an aggregate in Python."""
    arguments = [F.expr(item) if isinstance(item, str) else item for item in folded.aggregate.of]
    return F.collect_list(F.struct(*(item.alias(f"_{i}") for i, item in enumerate(arguments))))


def position_column(frame: DataFrame) -> Column:
    """Return the arrival position of a row; null if the frame has none."""
    return F.col(POSITION) if POSITION in frame.columns else F.lit(None).cast(_POSITION_TYPE)


def name_columns(items: Named) -> list[Column]:
    """Return named expressions of the plan as Spark columns with these names."""
    return [column(item).alias(name) for name, item in items]


def add_keys(frame: DataFrame, keys: Named) -> tuple[DataFrame, list[str]]:
    """Return the frame with computed keys as hidden columns, and the names of all key columns."""
    names = [spelled_name(frame, name) if key == name else hidden_key(name) for name, key in keys]
    return frame.withColumns({hidden_key(name): column(key) for name, key in keys if key != name}), names


def hidden_columns(frame: DataFrame) -> list[str]:
    return [name for name in frame.columns if name.startswith(HIDDEN)]


def visible_columns(frame: DataFrame) -> list[Column]:
    return [frame[f"`{name}`"] for name in frame.columns if not name.startswith(HIDDEN)]


def spelled_name(frame: DataFrame, name: str) -> str:
    """Return the name of a column as it is spelled in the frame; Spark ignores the case of names."""
    if name in frame.columns:
        return name
    return next((own for own in frame.columns if own.lower() == name.lower()), name)


def drop_hidden(frame: DataFrame) -> DataFrame:
    """Return the rows without hidden columns."""
    if REFINED in frame.columns:
        frame = frame.where(F.col(REFINED).isin("update_after", "empty"))
    return frame.drop(*hidden_columns(frame))
