"""Run SQL queries over the frames of a plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_view_numbers = count()
_WITH = re.compile(r"(?:\s|--[^\n]*\n|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*with\s+", re.IGNORECASE | re.DOTALL)
"""The `with` at the start of a query, after comments."""


def run_query(query: str, frames: Mapping[str, DataFrame], default: SparkSession) -> DataFrame:
    """Run a query over temporary views with unique names, because pipelines may share a session.

    `default` is the session of a query without frames.
    """
    views = {table: f"__headrace_{next(_view_numbers)}" for table in frames}
    # A micro-batch has a separate session, in which its views must be created.
    spark = next((frame.sparkSession for frame in frames.values()), default)
    for table, frame in frames.items():
        frame.createOrReplaceTempView(views[table])
    try:
        return spark.sql(_with_views(query, views))
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)


def _with_views(query: str, views: Mapping[str, str]) -> str:
    """Return the query with each table defined as a common table expression over its view."""
    defined = ", ".join(f"`{table}` as (select * from {view})" for table, view in views.items())
    match = _WITH.match(query)
    return f"with {defined}, {query[match.end() :]}" if match else f"with {defined} {query}"
