"""The base of stateful steps that process the rows of each key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.steps.base import Node, Plan, Ref
from headrace.steps.expressions import Named, names_of
from headrace.steps.facts import plain_column
from headrace.steps.traits import Finding, unknown_columns


@dataclass(frozen=True)
class KeyedNode(Node):
    """A stateful step over the rows of each key; without keys, over all rows."""

    input: Ref
    keys: Named
    stateful = True

    @property
    def key_text(self) -> str:
        """The names of the keys, such as `card, country`."""
        return ", ".join(names_of(self.keys))

    @property
    def of_each_key(self) -> str:
        """The phrase ` of each card`; empty without keys."""
        return f" of each {self.key_text}" if self.keys else ""

    def check(self, plan: Plan) -> Iterator[Finding]:
        """Yield a problem for each unknown key column."""
        plain = (column for _, key in self.keys if (column := plain_column(key)))
        yield from unknown_columns(plain, plan.facts(self.input).columns, "key", ("key_by",))
