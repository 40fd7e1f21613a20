"""Arrow types of Spark's types, whose functions have other options in Spark 4.1."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from pyspark.sql.pandas import types

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import DataType, StructType


def arrow_type(kind: DataType) -> pyarrow.DataType:
    """Return the Arrow type of a type; times are in UTC."""
    return types.to_arrow_type(kind, **_in_utc(types.to_arrow_type))


def arrow_schema(schema: StructType) -> pyarrow.Schema:
    """Return the Arrow schema of a schema; times are in UTC."""
    return types.to_arrow_schema(schema, **_in_utc(types.to_arrow_schema))


def _in_utc(function: Any) -> dict[str, Any]:
    """Return the options for times in UTC, which Spark 4.1 has by default."""
    return {"timezone": "UTC"} if "timezone" in signature(function).parameters else {}
