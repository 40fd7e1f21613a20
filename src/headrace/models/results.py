"""Results of models as Arrow columns of the declared output."""

from __future__ import annotations

from typing import Any

import pyarrow

from headrace.functions.failures import WrongResult
from headrace.functions.frames import to_columns


class WrongCount(WrongResult):
    """A model returned another number of rows than it got, so that results cannot be assigned to rows."""


def columns_of(result: Any, output: pyarrow.Schema, rows: int) -> list[pyarrow.Array]:
    """Return the result of a model for a number of rows as columns.

    A result is a table, whose columns are taken by name, or an array with a value or a list per row; a list
    of the values of several columns is taken by position.

    Raises:
        WrongResult: the result does not fit the output.
    """
    if not isinstance(result, pyarrow.Table | pyarrow.RecordBatch) and not hasattr(result, "columns"):
        result = _table(result, output)
    columns = to_columns(result, output)
    if len(columns[0]) != rows:
        raise WrongCount(f"returned {len(columns[0])} results for {rows} rows")
    return columns


def _table(result: Any, output: pyarrow.Schema) -> pyarrow.Table:
    """Return an array, or a list, as a table."""
    import numpy

    if isinstance(result, pyarrow.Array | pyarrow.ChunkedArray):
        return pyarrow.table({output.names[0]: result}) if len(output) == 1 else _unfit(1, output)
    if not isinstance(result, list) and not hasattr(result, "__array__"):
        raise WrongResult(f"returned {type(result).__name__}, expected an array or a table")
    values = numpy.asarray(result)
    width = 1 if values.ndim == 1 else values.shape[-1]
    if values.ndim == 2 and len(output) == 1 and pyarrow.types.is_list(output.types[0]):
        return pyarrow.table({output.names[0]: pyarrow.array(list(values))})
    if values.ndim not in (1, 2) or width != len(output):
        return _unfit(width, output)
    columns = [values] if values.ndim == 1 else list(values.T)
    return pyarrow.table([pyarrow.array(column) for column in columns], names=output.names)


def _unfit(width: int, output: pyarrow.Schema) -> Any:
    names = ", ".join(output.names)
    raise WrongResult(f"returned {width} columns, expected {len(output)}: {names}")
