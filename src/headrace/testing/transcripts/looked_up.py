"""Tables of lookups in a script: they are not part of a stream, so their rows are there before its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from headrace.joins.declare import TableJoin
from headrace.plan.graph import Graph
from headrace.steps.base import Node
from headrace.steps.endpoints.source import Source
from headrace.steps.expressions import names_of
from headrace.steps.tables.latest import Latest
from headrace.testing.transcripts.script import Line, Rows


def move_table_rows(lines: Sequence[Line], graph: Graph) -> tuple[Line, ...]:
    """Return the lines with the rows of looked-up tables before the `rows` lines that they stand between.

    They stay in place if the same lines feed a key of the table twice, because then their order matters.
    """
    keys = dict(_looked_up(graph))
    if not keys:
        return tuple(lines)
    moved: list[Line] = []
    for group in _groups(lines):
        tables = [line for line in group if isinstance(line, Rows) and line.rows.keys() <= keys.keys()]
        if _repeats_key(tables, keys):
            moved += group
        else:
            moved += [*tables, *(line for line in group if line not in tables)]
    return tuple(moved)


def _looked_up(graph: Graph) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the sources whose rows only rows on arrival are joined with, and the key of their table."""
    for join in graph.of(TableJoin):
        if join.at != "arrival":
            continue
        chain = graph.upstream(graph[join.other.step])
        sources = [node for node in chain if isinstance(node, Source)]
        tables = [node for node in chain if isinstance(node, Latest)]
        others = (reader for node in chain for reader in _readers(graph, node) if reader not in chain)
        if len(sources) == len(tables) == 1 and all(_looks_up(reader, join) for reader in others):
            yield sources[0].name, names_of(tables[0].keys)


def _readers(graph: Graph, node: Node) -> Iterator[Node]:
    return (reader for reader in graph if any(ref.step == node.name for ref in reader.inputs))


def _looks_up(reader: Node, join: TableJoin) -> bool:
    return isinstance(reader, TableJoin) and reader.at == "arrival" and reader.other == join.other


def _groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the lines in order; `rows` lines without another line between them are one group."""
    group: list[Line] = []
    for line in lines:
        if group and not (isinstance(line, Rows) and isinstance(group[-1], Rows)):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _repeats_key(lines: Sequence[Rows], keys: Mapping[str, tuple[str, ...]]) -> bool:
    seen = [
        (source, *(str(row.get(key)) for key in keys[source]))
        for line in lines
        for source, rows in line.rows.items()
        for row in rows
        if not isinstance(row, bytes)
    ]
    return len(set(seen)) < len(seen)
