"""Lower changelog sources: label each row with its change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from headrace.changelogs.check import CHANGES
from headrace.changelogs.declare import Changelog
from headrace.lowering.dispatch import lower
from headrace.lowering.tables.changes import LABEL
from headrace.steps.facts import CHANGE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.lowering.lowering import Lowering


@lower.register(Changelog)
def _changelog(node: Changelog, lowering: Lowering) -> DataFrame:
    """Add the label; a value that is no change fails the run, because its effect on the table is unknown."""
    text = f"`{node.input.step}`: expected {', '.join(CHANGES)} in the column `change`, got "
    unknown = F.raise_error(F.concat(F.lit(text), F.coalesce(F.col(CHANGE), F.lit("null")))).cast("string")
    label = F.when(F.col(CHANGE).isin(*CHANGES), F.col(CHANGE)).otherwise(unknown)
    return lowering.frame(node.input).withColumn(LABEL, label)
