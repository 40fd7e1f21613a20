"""Expressions as nodes hold them: Spark SQL text, a pyspark `Column` or an aggregate in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.aggregates import Aggregate as PythonAggregate
from headrace.errors import OptionError


@dataclass(frozen=True, eq=False)
class Opaque:
    """An expression given as a pyspark `Column`: it runs, but can't be printed or compared."""

    column: Any

    def __repr__(self) -> str:
        return f"Column<{self.column}>"


@dataclass(frozen=True, eq=False)
class PythonFold:
    """An aggregate in Python: the arguments of its rows are kept, and folded when a pane fires."""

    aggregate: PythonAggregate

    def __repr__(self) -> str:
        return repr(self.aggregate)


Expression = str | Opaque | PythonFold
Named = tuple[tuple[str, Expression], ...]


def sql_text(expression: Any) -> str:
    """Return an expression as a document holds it.

    Raises:
        OptionError: it is a pyspark Column or an aggregate in Python.
    """
    if isinstance(expression, str):
        return expression
    kind = (
        f"an aggregate in Python, {expression}," if isinstance(expression, PythonFold) else "a pyspark Column"
    )
    raise OptionError(f"{kind} cannot be written in a document", hint="write it as Spark SQL text")


def sql_texts(named: Named) -> dict[str, str]:
    """Return named expressions as a document holds them."""
    return {name: sql_text(expression) for name, expression in named}
