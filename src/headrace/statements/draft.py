"""The document that a script becomes, while it is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.access.effort import check_effort
from headrace.errors import DocumentError, Problem
from headrace.statements.declarations import Placed
from headrace.yaml.positions import Fields, Items, KeyedValue, Scalar, Value


class Draft:
    """Sources, steps and sinks with the places of their texts, and the problems of the script."""

    def __init__(self, *, adds_sources: bool = True) -> None:
        self.adds_sources = adds_sources
        """False for the queries of a `sql` step, whose pipeline has its own sources."""
        self.sections: dict[str, dict[str, tuple[str, Any]]] = {"sources": {}, "steps": {}, "sinks": {}}
        self.problems: list[Problem] = []
        self.reserved: set[str] = set()
        """The names of inner steps."""
        self.one_row = ""
        """The source with one row, if a query has no `FROM`."""

    def add(self, section: str, name: str, where: str, entry: Mapping[str, Any]) -> None:
        """Add an entry to a section."""
        check_effort()
        self.sections[section][name] = (where, entry)

    def new_name(self, view: str, verb: str) -> str:
        """Return a name for an inner step of a view: `hot:where`, then `hot:where:2`."""
        base = f"{view.partition(':')[0]}:{verb}"
        number, name = 1, base
        while name in self.sections["steps"] or name in self.reserved:
            number += 1
            name = f"{base}:{number}"
        self.reserved.add(name)  # an outer query gets its name before the queries in it
        return name

    def fail(self, where: str, what: str, hint: str = "") -> None:
        """Add a problem and continue with the next statement."""
        self.problems.append(Problem(where, what, hint))

    def tree(self, name: str, where: str) -> Fields:
        """Return the document."""
        entries = {"name": KeyedValue(where, Scalar(where, name, name))}
        for section, content in self.sections.items():
            if content:
                fields = {key: KeyedValue(at, to_value(entry, at)) for key, (at, entry) in content.items()}
                entries[section] = KeyedValue(where, Fields(where, fields))
        return Fields(where, entries)


def to_value(content: Any, where: str) -> Value:
    """Return plain values as a tree with places; a `Placed` has its own."""
    if isinstance(content, Placed):
        return Scalar(content.where, content.text, content.text)
    if isinstance(content, Mapping):
        return Fields(
            where,
            {
                str(key): KeyedValue(_place(item, where), to_value(item, where))
                for key, item in content.items()
            },
        )
    if isinstance(content, list | tuple):
        return Items(where, tuple(to_value(item, where) for item in content))
    text = str(content).lower() if isinstance(content, bool) else "" if content is None else str(content)
    return Scalar(where, text, content)


def _place(content: Any, where: str) -> str:
    return content.where if isinstance(content, Placed) else where


def refuse(where: str, what: str, hint: str = "") -> DocumentError:
    """Return the error of a statement that cannot become steps."""
    return DocumentError([Problem(where, what, hint)])
