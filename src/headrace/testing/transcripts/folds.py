"""Evaluate Python aggregates of the in-process driver in this process."""

from __future__ import annotations

from headrace.lowering.windows.python_aggregates import error_label, fold_rows
from headrace.schemas.fields import Schema
from headrace.steps.expressions import PythonFold
from headrace.steps.facts import plain_column
from headrace.steps.stateful.window import WindowAggregate
from headrace.testing.transcripts.outputs import Output

PLAIN = frozenset({"boolean", "tinyint", "smallint", "int", "bigint", "double", "string"})
"""Types with the same values in scripts, Python and results; other types need Spark and Arrow."""


def folds_here(node: WindowAggregate, schema: Schema) -> bool:
    """Return true if all Python aggregates of a step can be evaluated without Spark."""
    return all(_plain(item, schema) for _, item in node.aggregates if isinstance(item, PythonFold))


def with_results(node: WindowAggregate, row: Output) -> Output:
    """Return a pane with the argument lists replaced by results."""
    results = {
        name: fold_rows(
            error_label(node.name, name, item.aggregate),
            item.aggregate,
            (tuple(arguments.values()) for arguments in row[name]),
        )
        for name, item in node.aggregates
        if isinstance(item, PythonFold)
    }
    return {**row, **results}


def _plain(item: PythonFold, schema: Schema) -> bool:
    columns = [plain_column(argument) for argument in item.aggregate.of]
    known = [str(schema[name].type) for name in columns if name is not None and name in schema]
    return len(known) == len(columns) and {*known, item.aggregate.returns} <= PLAIN
