"""Aggregates in Python.

The kernel collects the arguments of each pane's rows, and Python folds them, through Arrow.

The step's aggregate becomes `collect_list(struct(arguments))`, and the list that a pane carries becomes the
result in the part of the query that runs on the micro-batch. So windows, triggers, modes and late rows are
the kernel's, as ever.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from typing import TYPE_CHECKING, Any

import pyarrow
from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812

from headrace.errors import AggregateError, PlanError, Problem
from headrace.steps.expressions import PythonFold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import Column, DataFrame

    from headrace.aggregates import Aggregate
    from headrace.steps.stateful.window import WindowAggregate

MARK = "headrace aggregate"
_FAILURE = re.compile(rf"{MARK} \[(?P<step>.*?)\] (?P<what>.*)")


def fold_results(frame: DataFrame, node: WindowAggregate) -> DataFrame:
    """Return the panes of a step with lists turned into results, each in its place."""
    for name, item in node.aggregates:
        if isinstance(item, PythonFold):
            frame = frame.withColumn(name, _result(F.col(f"`{name}`"), node.name, name, item.aggregate))
    return frame


def refuse_unpicklable(where: str, node: WindowAggregate) -> None:
    """Find out before anything runs whether executors can get the aggregates.

    Raises:
        PlanError: one cannot be pickled.
    """
    problems = []
    for name, item in node.aggregates:
        if isinstance(item, PythonFold):
            try:
                _send_by_value(item.aggregate)
                cloudpickle.dumps(item.aggregate)  # type: ignore[no-untyped-call]
            except Exception as error:  # pickling runs code of the instance
                what = f"`{name}`: {type(item.aggregate).__name__} cannot be sent to the executors: {error}"
                hint = "keep what cannot be pickled out of the instance; make it in zero() or result()"
                problems.append(Problem(where, what, hint))
    if problems:
        raise PlanError(problems)


def as_aggregate_error(error: BaseException) -> AggregateError | None:
    """Return the failure of an aggregate in Python, without the errors of Spark around it."""
    failure = _FAILURE.search(str(error))
    return AggregateError(failure["what"], where=f"`{failure['step']}`") if failure else None


def _result(column: Column, step: str, name: str, aggregate: Aggregate) -> Column:
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import _parse_datatype_string

    kind = _parse_datatype_string(aggregate.returns)
    fold = _folding(step, name, aggregate, to_arrow_type(kind, timezone="UTC"))
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    make: Any = arrow_udf  # its stubs require the older form of the signature
    result: Column = make(fold, returnType=kind)(column)
    return result


def _folding(step: str, name: str, aggregate: Aggregate, kind: Any) -> Callable[[Any], Any]:
    """Return the function that runs in Python's own process; it must need nothing of Headrace there."""
    label = error_label(step, name, aggregate)

    def fold(lists: pyarrow.Array) -> pyarrow.Array:
        results = [fold_rows(label, aggregate, rows) for rows in _rows(lists)]
        try:
            return pyarrow.array(results, type=kind, from_pandas=False)
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            raise RuntimeError(f"{label} gave a result that is not {aggregate.returns}: {error}") from error

    fold.__annotations__ = {
        "lists": pyarrow.Array,
        "return": pyarrow.Array,
    }  # by which Spark knows how to call it
    return fold


def error_label(step: str, name: str, aggregate: Aggregate) -> str:
    """Return the name of an aggregate in errors, by which `as_aggregate_error` finds them."""
    return f"{MARK} [{step}] `{name}`: {type(aggregate).__name__}"


def fold_rows(label: str, aggregate: Aggregate, rows: Iterable[tuple[Any, ...]]) -> Any:
    """Return the result over a pane's rows.

    Raises:
        RuntimeError: the aggregate raised; the text begins with `name`.
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
        upto = at + (length or 0)
        yield zip(*(column[at:upto] for column in columns), strict=True)
        at = upto


def _send_by_value(aggregate: Aggregate) -> None:
    """Have classes of the user's own files pickled whole: executors cannot import them."""
    for cls in type(aggregate).__mro__:
        module = sys.modules.get(cls.__module__)
        file = getattr(module, "__file__", None)
        ours = cls.__module__ == "headrace.aggregates"
        if (
            module is not None
            and file is not None
            and cls.__module__ != "__main__"
            and (ours or not _check_installed(file))
        ):
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _check_installed(file: str) -> bool:
    paths = sysconfig.get_paths()
    return file.startswith(tuple(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")))
