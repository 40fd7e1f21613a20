"""`GROUPING SETS`, `CUBE` and `ROLLUP`: a row for each set of keys, before the aggregate."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, islice, product
from typing import TYPE_CHECKING, Any

from headrace.expand.declare import GROUPING_ID
from headrace.statements.draft import refuse
from headrace.statements.windows import Grouping, assign_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import expressions as exp

    from headrace.statements.joins import Source
    from headrace.statements.queries import SelectBuilder

_MOST_SETS = 64
Set = tuple["exp.Expr", ...]


def group(
    builder: SelectBuilder, tree: exp.Select, source: Source, entry: Mapping[str, Any]
) -> Grouping | None:
    """Return the grouping of a query with several sets of keys; None for a query with one.

    Adds the steps that repeat each row for every set; `entry` has the input of the query and its filter.
    """
    clause = tree.args.get("group")
    parts = [_sets_of(item) for item in clause.expressions] if clause is not None else []
    if clause is None or not (any(len(part) > 1 for part in parts) or _is_extended(clause)):
        return None
    plain = [part[0][0] for part, item in zip(parts, clause.expressions, strict=True) if part == [(item,)]]
    combined = islice(product(*parts), _MOST_SETS + 1)
    keys_of = (_without_duplicates(column for part in each for column in part) for each in combined)
    sets = [tuple(column for column in each if column not in plain) for each in keys_of]
    for name in ("cube", "rollup"):  # GROUP BY a, b WITH ROLLUP
        if clause.args.get(name):
            sets, plain = (_cube if name == "cube" else _rollup)(tuple(plain)), []
    plain, sets = _with_bounds_first(source, plain, sets)
    if source.relation.window is not None and source.relation.window.session:
        source = assign_source(builder, source)  # its sessions do not depend on the sets
        entry = {**entry, "from": source.relation.ref}
    if len(sets) > _MOST_SETS:
        raise refuse(builder.where, f"the query has more than {_MOST_SETS} grouping sets", "leave some out")
    whole = tree.copy()
    columns = _without_duplicates(column for each in sets for column in each)
    whole.args["group"].set("expressions", [item.copy() for item in (*plain, *columns)])
    copies = {source.scope.text(column): f"group_{number + 1}" for number, column in enumerate(columns)}
    names = [[copies[source.scope.text(column)] for column in each] for each in sets]
    ref = _expand(builder, {**entry, "with_columns": _by_name(copies)}, names)
    bounds = {text: role for text, role in source.relation.bounds.items() if text not in copies}
    expanded = replace(source.relation, ref=ref, bounds=bounds)
    grouping = Grouping.of(builder, whole, source.with_relation(expanded))
    keys = tuple((name, copies.get(text, text)) for name, text in grouping.keys)
    order = list(dict.fromkeys(name for each in names for name in each))
    bits = {text: order[::-1].index(name) for text, name in copies.items()}
    return replace(grouping, keys=(*keys, (GROUPING_ID, GROUPING_ID)), bits=bits)


def _with_bounds_first(
    source: Source, plain: list[exp.Expr], sets: list[Set]
) -> tuple[list[exp.Expr], list[Set]]:
    """Return the keys of all sets, with the bounds of the window, and the sets without these bounds."""
    bounds = [
        column
        for column in (sets[0] if sets else ())
        if source.scope.text(column) in source.relation.bounds and all(column in each for each in sets)
    ]
    return [*bounds, *plain], [tuple(column for column in each if column not in bounds) for each in sets]


def _expand(builder: SelectBuilder, entry: dict[str, Any], names: list[list[str]]) -> str:
    """Add the steps that compute the keys of the sets, and repeat each row; return the last one."""
    keys = builder.draft.new_name(builder.name, "keys")
    builder.queries.add(keys, builder.where, entry)
    expanded = builder.draft.new_name(builder.name, "expand")
    builder.queries.add(expanded, builder.where, {"from": keys, "expand": names})
    return expanded


def _by_name(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for text, name in texts.items()}


def _is_extended(clause: exp.Group) -> bool:
    from sqlglot import expressions as exp

    extended = (exp.GroupingSets, exp.Cube, exp.Rollup)
    return any(isinstance(item, extended) for item in clause.expressions) or bool(
        clause.args.get("cube") or clause.args.get("rollup")
    )


def _sets_of(item: exp.Expr) -> list[Set]:
    """Return the sets of an item of `GROUP BY`; a column is one set."""
    from sqlglot import expressions as exp

    if isinstance(item, exp.GroupingSets):
        return [each for part in item.expressions for each in _sets_of(part)]
    if isinstance(item, exp.Cube):
        return _cube(tuple(item.expressions))
    if isinstance(item, exp.Rollup):
        return _rollup(tuple(item.expressions))
    if isinstance(item, exp.Tuple):
        return [tuple(item.expressions)]
    return [(item.this if isinstance(item, exp.Paren) else item,)]


def _cube(columns: Set) -> list[Set]:
    """Return the sets of a cube, as far as they are needed to see that there are too many."""
    every = (each for size in range(len(columns), -1, -1) for each in combinations(columns, size))
    return list(islice(every, _MOST_SETS + 1))


def _rollup(columns: Set) -> list[Set]:
    return [columns[:size] for size in islice(range(len(columns), -1, -1), _MOST_SETS + 1)]


def _without_duplicates(columns: Any) -> Set:
    return tuple(dict.fromkeys(columns))
