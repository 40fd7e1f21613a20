"""Translate errors of Spark queries into errors with location, problem and hint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.connectors.retry import find_problem
from headrace.connectors.row_encoding import as_encoding_error
from headrace.errors import HeadraceError, SourceError
from headrace.lowering.code.aggregates import as_aggregate_error
from headrace.lowering.code.failures import as_user_code_error
from headrace.lowering.decode import as_source_error
from headrace.spark.errors import describe_error, find_expression

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

_PYTHON_WORKER = "thrown from the Python worker"
_RAISED = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:: .*)?$")
"""The last line of a Python traceback: the class of the exception, then its message."""
_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$')


def translate_error(graph: Graph, error: BaseException) -> HeadraceError:
    """Return the error of a query with location, problem and hint, without the stack trace."""
    text = str(error)
    if encoding_error := as_encoding_error(error):
        return encoding_error
    portable = find_problem(text)
    problems = (connector.explain_failure(text) for connector in graph.connectors)
    if problem := portable if portable and portable.where else next(filter(None, problems), None):
        return SourceError.of(problem)
    translated = as_source_error(error) or as_aggregate_error(error) or as_user_code_error(graph, error)
    if translated is not None:
        return translated
    if _PYTHON_WORKER in text:
        return SourceError(
            f"a Python function failed: {_python_reason(text)}", hint="see the traceback in Spark's log"
        )
    if expression := find_expression(text):
        what, _ = describe_error(Exception(text))
        return SourceError(what, where=_locate(graph, expression), hint="see Spark's log")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return SourceError(lines[0] if lines else type(error).__name__, hint="see Spark's log")


def _locate(graph: Graph, expression: str) -> str:
    """Return the location of the step with this expression; empty if no step or several have it."""
    text = repr(expression)[1:-1]
    steps = [node for node in graph if text in repr(node)]
    return graph.where(steps[0]) if len(steps) == 1 else ""


def _python_reason(text: str) -> str:
    """Return the exception of a Python worker and the line of user code that raised it."""
    lines = text[text.index(_PYTHON_WORKER) :].splitlines()[1:]
    raised = next((at for at, line in enumerate(lines) if _RAISED.match(line)), None)
    if raised is None:
        return next((line.strip() for line in lines if line.strip()), "no reason was reported")
    frames = [frame for line in lines[:raised] if (frame := _FRAME.match(line))]
    own = [frame for frame in frames if "pyspark" not in frame["file"]]
    place = f" ({own[-1]['file']}:{own[-1]['line']} in {own[-1]['function']})" if own else ""
    return f"{lines[raised]}{place}"
