"""SQL over the frames of a plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_view_numbers = count()
_WITH = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*with\s+", re.IGNORECASE | re.DOTALL)
"""The `with` of a query, which comments may precede."""


def run_query(query: str, frames: Mapping[str, DataFrame], otherwise: SparkSession) -> DataFrame:
    """Run a query over views with unique names: several pipelines may share a session."""
    views = {table: f"__headrace_{next(_view_numbers)}" for table in frames}
    # A micro-batch has a session of its own, which alone knows the views made of its frames.
    spark = next((frame.sparkSession for frame in frames.values()), otherwise)
    for table, frame in frames.items():
        frame.createOrReplaceTempView(views[table])
    try:
        return spark.sql(_over_views(query, views))
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)


def _over_views(query: str, views: Mapping[str, str]) -> str:
    """Return the query with each table defined in front of it, so that it can use its own names for them."""
    defined = ", ".join(f"`{table}` as (select * from {view})" for table, view in views.items())
    own = _WITH.match(query)
    return f"with {defined}, {query[own.end() :]}" if own else f"with {defined} {query}"
