"""Filters and projections: `where`, `select`, `with_columns` and `drop`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.steps.base import Node, Ref
from headrace.steps.expressions import Expression, Named


@dataclass(frozen=True)
class Where(Node):
    """Keeps the rows that satisfy a condition."""

    input: Ref
    condition: Expression
    verb: ClassVar[str] = "where"


@dataclass(frozen=True)
class Select(Node):
    """Keeps and computes columns; an unnamed one is Spark SQL text such as `amount * 2 as double`."""

    input: Ref
    columns: Named
    verb: ClassVar[str] = "select"


@dataclass(frozen=True)
class WithColumns(Node):
    """Adds or replaces columns."""

    input: Ref
    columns: Named
    verb: ClassVar[str] = "with_columns"


@dataclass(frozen=True)
class Drop(Node):
    """Removes columns."""

    input: Ref
    columns: tuple[str, ...]
    verb: ClassVar[str] = "drop"
