"""Aggregates in Python over the panes of the kernel.

The aggregate of the step is lowered to `collect_list(struct(arguments))`; on the micro-batch, an Arrow
function computes the result from the list of each pane. Windows, triggers, modes and late rows do not change.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import pyarrow
from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812

from headrace.errors import AggregateError, PlanError, Problem
from headrace.lowering.code.shipping import is_installed
from headrace.steps.expressions import Named, PythonFold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import Column, DataFrame

    from headrace.aggregates import Aggregate

_ERROR_PREFIX = "headrace aggregate"
_FAILURE = re.compile(rf"{_ERROR_PREFIX} \[(?P<step>.*?)\] (?P<what>.*)")


def fold_results(frame: DataFrame, step: str, aggregates: Named) -> DataFrame:
    """Return the panes of a step with the results of Python aggregates instead of their lists."""
    for name, item in aggregates:
        if isinstance(item, PythonFold):
            frame = frame.withColumn(name, _result(F.col(f"`{name}`"), step, name, item.aggregate))
    return frame


def check_picklable(where: str, aggregates: Named) -> None:
    """Check that Python aggregates can be sent to executors.

    Raises:
        PlanError: an aggregate cannot be pickled.
    """
    problems = []
    for name, item in aggregates:
        if isinstance(item, PythonFold):
            try:
                _register_modules(item.aggregate)
                cloudpickle.dumps(item.aggregate)  # type: ignore[no-untyped-call]
            except Exception as error:  # pickling runs code of the instance
                what = f"`{name}`: {type(item.aggregate).__name__} cannot be sent to the executors: {error}"
                hint = "create what cannot be pickled in zero() or result(), not in the instance"
                problems.append(Problem(where, what, hint))
    if problems:
        raise PlanError(problems)


def as_aggregate_error(error: BaseException) -> AggregateError | None:
    """Return the failure of a Python aggregate in an error of Spark; None for other errors."""
    failure = _FAILURE.search(str(error))
    return AggregateError(failure["what"], where=f"`{failure['step']}`") if failure else None


def _result(column: Column, step: str, name: str, aggregate: Aggregate) -> Column:
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.types import _parse_datatype_string

    from headrace.spark.arrow import arrow_type

    kind = _parse_datatype_string(aggregate.returns)
    fold = _arrow_function(step, name, aggregate, arrow_type(kind))
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    udf: Any = arrow_udf  # its stubs do not have this signature
    result: Column = udf(fold, returnType=kind)(column)
    return result


def _arrow_function(step: str, name: str, aggregate: Aggregate, kind: Any) -> Callable[[Any], Any]:
    """Return the function that runs in Python workers, where Headrace may not be installed."""
    label = error_label(step, name, aggregate)

    def fold(lists: pyarrow.Array) -> pyarrow.Array:
        results = [fold_rows(label, aggregate, rows) for rows in _rows(lists)]
        try:
            return pyarrow.array(results, type=kind, from_pandas=False)
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            what = f"{label} returned a result that is not {aggregate.returns}: {error}"
            raise RuntimeError(what) from error

    # Spark needs the types; annotations are strings in this module.
    fold.__annotations__ = {"lists": pyarrow.Array, "return": pyarrow.Array}
    return fold


def error_label(step: str, name: str, aggregate: Aggregate) -> str:
    """Return the start of an error of an aggregate, by which `as_aggregate_error` recognises it."""
    return f"{_ERROR_PREFIX} [{step}] `{name}`: {type(aggregate).__name__}"


def fold_rows(label: str, aggregate: Aggregate, rows: Iterable[tuple[Any, ...]]) -> Any:
    """Return the result over the rows of a pane.

    Raises:
        RuntimeError: the aggregate raised; the message starts with `label`.
    """
    try:
        return aggregate.fold(rows)
    except Exception as error:
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        code = last.tb_frame.f_code if last is not None else None
        place = f" in {code.co_name} ({code.co_filename}:{last.tb_lineno})" if code and last else ""
        raise RuntimeError(f"{label} failed{place}: {type(error).__name__}: {error}") from error


def _rows(lists: Any) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Yield the rows of each list, as tuples of arguments."""
    columns = [child.to_pylist() for child in lists.flatten().flatten()]
    at = 0
    for length in lists.value_lengths().to_pylist():
        end = at + (length or 0)
        yield zip(*(column[at:end] for column in columns), strict=True)
        at = end


def _register_modules(aggregate: Aggregate) -> None:
    """Pickle the user's modules by value, because executors cannot import them."""
    for name in {cls.__module__ for cls in type(aggregate).__mro__} - {"__main__"}:
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if module and file and (name == "headrace.aggregates" or not is_installed(file)):
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
