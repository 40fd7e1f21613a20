"""Rows that a query writes itself: `VALUES (1, 'a'), (2, 'b')`, and `SELECT` without `FROM`.

Their step reads a source with one row, so that they are emitted once, also by a run that is restarted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.statements.declarations import Placed
from headrace.statements.draft import refuse
from headrace.statements.relations import Relation, quote
from headrace.statements.scope import Scope

if TYPE_CHECKING:
    from sqlglot import expressions as exp

    from headrace.statements.queries import SelectBuilder

_ROW = "one_row"
"""The name and the only column of the source, which queries cannot name."""


def one_row(builder: SelectBuilder, tree: exp.Select) -> Relation:
    """Return the relation of a query without `FROM`: one row without columns."""
    from sqlglot import expressions as exp

    if any(isinstance(item, exp.Star) for item in tree.expressions):
        raise refuse(builder.where, "the query reads no stream", "add FROM with a source or a view")
    return Relation(add_row(builder), ())


def values(builder: SelectBuilder, node: exp.Values) -> Relation:
    """Return the relation of `VALUES`: columns `col1`, `col2`, ..., whose types are those of all rows."""
    rows = [_items(row) for row in node.expressions]
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        counts = " and ".join(str(count) for count in sorted({len(row) for row in rows}))
        raise refuse(builder.where, f"the rows of VALUES have {counts} columns", "write as many in each row")
    names = tuple(f"col{number + 1}" for number in range(width))
    scope = Scope({}, {}, builder.where)
    structs = (_struct(builder, scope, names, row) for row in rows)
    call = f"inline(array({', '.join(structs)}))"
    listed = ", ".join(names)
    text = f"select {listed} from this lateral view {call} constant as {listed}"
    step = builder.draft.new_name(builder.name, "values")
    builder.queries.add(step, builder.where, {"from": add_row(builder), "sql": Placed(text, builder.where)})
    return Relation(step, names)


def _items(row: exp.Expr) -> Sequence[exp.Expr]:
    from sqlglot import expressions as exp

    if isinstance(row, exp.Tuple):
        return row.expressions
    return [row.this if isinstance(row, exp.Paren) else row]


def _struct(builder: SelectBuilder, scope: Scope, names: Sequence[str], row: Sequence[exp.Expr]) -> str:
    from headrace.statements.joins import has_subquery

    if any(map(has_subquery, row)):
        raise refuse(builder.where, "a subquery in VALUES is not supported", "join it in FROM")
    fields = (f"'{name}', {scope.text(node)}" for name, node in zip(names, row, strict=True))
    return f"named_struct({', '.join(fields)})"


def add_row(builder: SelectBuilder) -> str:
    """Add the source with one row, which all queries of a script share; return its name."""
    draft = builder.draft
    if not draft.adds_sources:
        hint = "add FROM with a stream; a script, `headrace run script.sql`, has rows of its own too"
        raise refuse(builder.where, "the query reads no stream", hint)
    if not draft.one_row:
        name, number = _ROW, 1
        while any(name in section for section in draft.sections.values()) or name in builder.catalog:
            number += 1
            name = f"{_ROW}_{number}"
        draft.one_row = name
        entry: dict[str, Any] = {"memory": {"rows": [{_ROW: 1}]}, "schema": f"{quote(_ROW)} int"}
        draft.add("sources", name, builder.where, entry)
    return draft.one_row
