"""Spark SQL in a plan that a restricted service does not accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from headrace.access import CODE_HINT, current_code
from headrace.access.sql import find_problem
from headrace.connectors.base import Connector
from headrace.errors import Problem
from headrace.plan.graph import Graph


def rejected_expressions(graph: Graph) -> Iterator[Problem]:
    """Yield the expressions and queries of a plan that reach a class or a file of the machine.

    Every text of a node is checked, so that no expression of a step is forgotten. Options of connectors are
    checked where they are declared.
    """
    if current_code():
        return
    for node in graph:
        for problem in find_rejected(node):
            yield Problem(graph.where(node, node.verb), problem, CODE_HINT)


def find_rejected(part: Any) -> Iterator[str]:
    """Yield the reason for each text inside a declaration that is not accepted without code.

    >>> list(find_rejected({"home": ("java_method('java.lang.System', 'getenv')",)}))
    ['a function that calls Java is not accepted: `java_method`']
    """
    if isinstance(part, str):
        yield from filter(None, [find_problem(part)])
    elif isinstance(part, Mapping):
        for key, value in part.items():
            yield from find_rejected(key)
            yield from find_rejected(value)
    elif isinstance(part, list | tuple | set | frozenset):
        for item in part:
            yield from find_rejected(item)
    elif is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            yield from find_rejected(getattr(part, field.name))
    elif isinstance(part, BaseModel) and not isinstance(part, Connector):
        yield from find_rejected(part.__dict__)
