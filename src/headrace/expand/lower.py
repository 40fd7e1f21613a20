"""Lower grouping sets: each row as an array of its repetitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from headrace.expand.declare import GROUPING_ID, Expand
from headrace.lowering.dispatch import lower

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from headrace.lowering.lowering import Lowering

_SET = "__set"


@lower.register(Expand)
def _expand(node: Expand, lowering: Lowering) -> DataFrame:
    frame = lowering.frame(node.input)
    repeated = frame.withColumn(
        _SET, F.explode(F.array(*(_repetition(node, names) for names in node.expand)))
    )
    columns = {name: F.col(f"{_SET}.`{name}`") for name in (*node.columns, GROUPING_ID)}
    return repeated.withColumns(columns).drop(_SET)


def _repetition(node: Expand, names: tuple[str, ...]) -> Column:
    """Return the key columns of a row in one set; the type of a null is that of the column."""
    keys = (F.when(F.lit(name in names), F.col(f"`{name}`")).alias(name) for name in node.columns)
    return F.struct(*keys, F.lit(node.identifier(names)).cast("bigint").alias(GROUPING_ID))
