"""Batches as the frame that a function's type hint names: an Arrow table, a pandas or a Polars frame."""

from __future__ import annotations

from typing import Any

import pyarrow

from headrace.functions.failures import PANDAS, POLARS, WrongResult


def to_frame(batch: pyarrow.RecordBatch, library: str) -> Any:
    """Return a batch as a table of the library."""
    table = pyarrow.Table.from_batches([batch])
    if library == PANDAS:
        return table.to_pandas()
    if library == POLARS:
        import polars

        return polars.from_arrow(table)
    return table


def to_columns(result: Any, schema: pyarrow.Schema) -> list[pyarrow.Array]:
    """Return the columns of a result in the order of the declared output.

    Raises:
        WrongResult: the result is no table, lacks a column, or a column has another type.
    """
    table = _to_table(result, schema)
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise WrongResult(f"returned no column `{missing[0]}`; it has {', '.join(table.column_names)}")
    return [_column(table.column(field.name), field) for field in schema]


def _to_table(result: Any, schema: pyarrow.Schema) -> pyarrow.Table:
    if isinstance(result, pyarrow.Table):
        return result
    if isinstance(result, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([result])
    library = type(result).__module__.partition(".")[0]
    if library == POLARS and hasattr(result, "to_arrow"):
        return result.to_arrow()
    if library == PANDAS and hasattr(result, "columns"):
        names = [name for name in schema.names if name in result.columns]
        return pyarrow.Table.from_pandas(result[names], preserve_index=False)
    raise WrongResult(
        f"returned {type(result).__name__}, expected a pyarrow Table, a pandas or a Polars frame"
    )


def _column(column: pyarrow.ChunkedArray, field: pyarrow.Field) -> pyarrow.Array:
    try:
        array: pyarrow.Array = column.cast(field.type).combine_chunks()
    except (pyarrow.ArrowException, ValueError) as error:
        what = f"returned {column.type} for column `{field.name}`, expected {field.type}: {error}"
        raise WrongResult(what) from None
    if not field.nullable and array.null_count:
        raise WrongResult(f"returned no value for column `{field.name}`, which is NOT NULL")
    return array
