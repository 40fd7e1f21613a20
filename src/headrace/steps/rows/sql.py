"""A Spark SQL query over streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.steps.base import Node, Ref


@dataclass(frozen=True)
class Sql(Node):
    """A Spark SQL query over streams, each under the name that the query gives it."""

    query: str
    tables: tuple[tuple[str, Ref], ...]
    groups: bool = False
    verb: ClassVar[str] = "sql"

    @property
    def stateful(self) -> bool:
        return self.groups

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return tuple(ref for _, ref in self.tables)
