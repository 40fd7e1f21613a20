"""Joins: which step a join in `FROM` becomes, from its conditions and from what it joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.durations import text as duration_text
from headrace.statements.declarations import Placed
from headrace.statements.draft import refuse
from headrace.statements.durations import interval_length
from headrace.statements.relations import WINDOW_FORMULAS, Relation, quote
from headrace.statements.scope import Scope

if TYPE_CHECKING:
    from sqlglot import expressions as exp

    from headrace.statements.queries import SelectBuilder

_SIDES = {"": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full"}
_REGULAR = (
    "keep the current rows of one side as a table (CREATE TABLE with a PRIMARY KEY), or bound the event times: "
    "b.ts BETWEEN a.ts AND a.ts + INTERVAL '10' MINUTES"
)


@dataclass(frozen=True)
class Source:
    """The relation that the clauses after `FROM` read."""

    relation: Relation
    scope: Scope
    where: list[exp.Expression] = field(default_factory=list)
    """The conditions of `WHERE` that no join has used."""

    @classmethod
    def of(cls, name: str, relation: Relation, place: str) -> Source:
        return cls(relation, Scope.of(name, relation, place))

    def with_relation(self, relation: Relation) -> Source:
        return replace(self, relation=relation)


@dataclass(frozen=True)
class _Conditions:
    """The conditions of a join by what they say."""

    pairs: tuple[tuple[str, str], ...]
    """Pairs of a left and a right expression that are equal."""
    bounds: tuple[int | None, int | None]
    """The lowest and the highest difference of the event times, right - left, in microseconds."""
    same_window: bool
    others: tuple[exp.Expression, ...]


def conditions_of(tree: exp.Select) -> list[exp.Expression]:
    """Return the conditions of `WHERE` that are combined by `AND`."""
    where = tree.args.get("where")
    return _flatten(where.this) if where is not None else []


def build(builder: SelectBuilder, source: Source, join: exp.Join, where: list[exp.Expression]) -> Source:
    """Add the step of a join; conditions of `WHERE` that it uses are removed from the list."""
    from sqlglot import expressions as exp

    place = builder.place_of(join)
    if isinstance(join.this, exp.Unnest | exp.Lateral):
        return explode(builder, source, join.this)
    side = _SIDES.get(join.side.upper())
    if side is None or join.kind.upper() in ("SEMI", "ANTI") or join.args.get("method"):
        side = {"SEMI": "semi", "ANTI": "anti"}.get(join.kind.upper())
    if side is None or join.args.get("method"):
        raise refuse(
            place, f"{join.sql().split(' ')[0]} joins are not supported", "write ON with the equal columns"
        )
    version = join.this.args.get("version") if isinstance(join.this, exp.Table) else None
    name, right = builder.relation(join.this)
    if name in source.scope.relations:
        raise refuse(place, f"two streams are called `{name}`", "give one of them another alias")
    both = Scope({**source.scope.relations, name: right}, source.scope.renamed, None, place)
    on = _flatten(join.args["on"]) if join.args.get("on") is not None else []
    on += [
        exp.EQ(
            this=exp.column(column.name, next(iter(source.scope.relations))),
            expression=exp.column(column.name, name),
        )
        for column in join.args.get("using") or ()
    ]
    if side == "inner":
        from_where = [condition for condition in where if _uses(condition, both, name)]
        on += from_where
        where[:] = [condition for condition in where if condition not in from_where]
    conditions = _classify(on, both, source, name, right)
    if version is not None:
        return _temporal(builder, source, name, right, both, side, conditions, version, place)
    if conditions.same_window:
        return _window_join(builder, source, name, right, both, side, conditions, place)
    if conditions.bounds != (None, None):
        return _interval(builder, source, name, right, both, side, conditions, place)
    return _regular(builder, source, name, right, both, side, conditions, place)


def explode(builder: SelectBuilder, source: Source, lateral: exp.Expression) -> Source:
    """Add the stateless query of `CROSS JOIN UNNEST(...)` or `LATERAL VIEW explode(...)`."""
    from sqlglot import expressions as exp

    place = builder.place_of(lateral)
    alias = lateral.args.get("alias")
    columns = [column.name for column in (alias.args.get("columns") or ())] if alias is not None else []
    table = alias.name if alias is not None and alias.this is not None else "t"
    if isinstance(lateral, exp.Unnest):
        call = f"explode({source.scope.text(lateral.expressions[0])})"
    else:
        call = source.scope.text(lateral.this)
    outer = " outer" if lateral.args.get("outer") else ""
    if not columns:
        columns, table = [table if isinstance(lateral, exp.Lateral) else "col"], f"{table}_rows"
    names = ", ".join(quote(column) for column in columns)
    step = builder.draft.new_name(builder.name, "explode")
    text = f"select * from this lateral view{outer} {call} {quote(table)} as {names}"
    builder.queries.add(step, place, {"from": source.relation.ref, "sql": Placed(text, place)})
    known = source.relation.columns
    relation = replace(source.relation, ref=step, columns=None if known is None else (*known, *columns))
    exploded = Relation(step, tuple(columns))
    scope = replace(source.scope, relations={**source.scope.relations, table: exploded})
    return replace(source, relation=relation, scope=scope)


def _classify(
    conditions: list[exp.Expression], both: Scope, source: Source, name: str, right: Relation
) -> _Conditions:
    from sqlglot import expressions as exp

    pairs: list[tuple[str, str]] = []
    lower: int | None = None
    upper: int | None = None
    windows: set[str] = set()
    others: list[exp.Expression] = []
    for condition in conditions:
        if isinstance(condition, exp.EQ) and (sides := _sides(condition, both, name)) is not None:
            left_node, right_node = sides
            column = right_node.name.lower() if isinstance(right_node, exp.Column) else ""
            if column in WINDOW_FORMULAS and (right.window is not None or right.windowed):
                windows.add(column)
                continue
            if not (_is_time(left_node, both) and _is_time(right_node, both)):
                pairs.append((both.text(left_node), both.text(right_node)))
                continue
        if (bounds := _bounds(condition, both, name)) is not None:
            lower = bounds[0] if lower is None else lower if bounds[0] is None else max(lower, bounds[0])
            upper = bounds[1] if upper is None else upper if bounds[1] is None else min(upper, bounds[1])
            continue
        others.append(condition)
    return _Conditions(tuple(pairs), (lower, upper), bool(windows), tuple(others))


def _interval(
    builder: SelectBuilder,
    source: Source,
    name: str,
    right: Relation,
    both: Scope,
    side: str,
    conditions: _Conditions,
    place: str,
) -> Source:
    lower, upper = conditions.bounds
    if lower is None or upper is None:
        missing = "upper" if upper is None else "lower"
        raise refuse(
            place,
            f"the join has no {missing} bound of the event times, so its state would grow without end",
            _REGULAR,
        )
    left_ref, right_ref, on = _keys(builder, source, right, conditions, place)
    bounds = [f"{'-' if bound < 0 else ''}{duration_text(abs(bound))}" for bound in (lower, upper)]
    options: dict[str, Any] = {"with": right_ref, "on": on, "within": bounds, "how": side}
    return _joined(builder, source, name, right, both, left_ref, options, conditions.others, place)


def _temporal(
    builder: SelectBuilder,
    source: Source,
    name: str,
    right: Relation,
    both: Scope,
    side: str,
    conditions: _Conditions,
    version: exp.Expression,
    place: str,
) -> Source:
    from sqlglot import expressions as exp

    at = version.expression
    if side not in ("inner", "left"):
        raise refuse(
            place, f"a {side} join with a version of a table is not supported", "use JOIN or LEFT JOIN"
        )
    by_clock = (isinstance(at, exp.Anonymous) and at.name.lower() == "proctime") or (
        isinstance(at, exp.Column)
        and any(relation.is_clock(at.name) for relation in source.scope.relations.values())
    )
    if conditions.others:
        raise refuse(
            place, "a join with a version of a table has equal columns only", "move other conditions to WHERE"
        )
    if by_clock and right.lookup is not None:
        return _lookup(builder, source, name, right, both, side, conditions, place)
    if right.changes != "table":
        raise refuse(place, f"`{name}` is not a table", "declare it with CREATE TABLE and a PRIMARY KEY")
    left_ref, right_ref, on = _keys(builder, source, right, conditions, place)
    options = {"with": right_ref, "on": on, "at": "arrival" if by_clock else "event_time", "how": side}
    return _joined(builder, source, name, right, both, left_ref, options, (), place)


def _lookup(
    builder: SelectBuilder,
    source: Source,
    name: str,
    right: Relation,
    both: Scope,
    side: str,
    conditions: _Conditions,
    place: str,
) -> Source:
    """Add a lookup; its key columns have the same names on both sides."""
    columns = right.columns or ()
    keys = dict((of_right, of_left) for of_left, of_right in conditions.pairs)
    taken = {column.lower() for column in source.relation.columns or ()}
    entry: dict[str, Any] = {"from": source.relation.ref}
    added = {key: text for key, text in keys.items() if key.lower() not in taken}
    clash = [column for column in columns if column.lower() in taken and column not in keys]
    wrong = [key for key, text in keys.items() if key.lower() in taken and text.lower() != key.lower()]
    if clash or wrong:
        column = (clash or wrong)[0]
        raise refuse(place, f"both sides have a column `{column}`", "rename it in a view before the join")
    if added:
        entry["with_columns"] = added
    entry["lookup"] = {
        **(right.lookup or {}),
        "on": list(keys),
        "on_miss": "null" if side == "left" else "drop",
    }
    step = builder.draft.new_name(builder.name, "lookup")
    builder.queries.add(step, place, entry)
    result = (*(source.relation.columns or ()), *added, *(c for c in columns if c not in keys))
    return replace(source, relation=replace(source.relation, ref=step, columns=result), scope=both)


def _regular(
    builder: SelectBuilder,
    source: Source,
    name: str,
    right: Relation,
    both: Scope,
    side: str,
    conditions: _Conditions,
    place: str,
) -> Source:
    if right.changes != "table" or conditions.others or side not in ("inner", "left", "right", "full"):
        raise refuse(place, "a join of streams without bounds keeps all rows for ever", _REGULAR)
    left_ref, right_ref, on = _keys(builder, source, right, conditions, place)
    options = {"with": right_ref, "on": on, "at": "live", "how": side}
    joined = _joined(builder, source, name, right, both, left_ref, options, (), place)
    return joined.with_relation(replace(joined.relation, changes="table", times=()))


def _window_join(
    builder: SelectBuilder,
    source: Source,
    name: str,
    right: Relation,
    both: Scope,
    side: str,
    conditions: _Conditions,
    place: str,
) -> Source:
    left = source.relation
    if left.window is None or right.window is None:
        raise refuse(
            place,
            "a join of aggregates on equal windows is not supported",
            "join the rows in windows, then group",
        )
    if left.window != right.window:
        raise refuse(
            place, "the two sides have different windows", "use the same window function on both sides"
        )
    keys = [of_left for of_left, _ in conditions.pairs]
    renamed = [pair for pair in conditions.pairs if pair[0] != pair[1]]
    right_ref = right.ref
    if renamed:
        right_ref = builder.draft.new_name(builder.name, "select")
        names = {of_right: of_left for of_left, of_right in conditions.pairs}
        selected = {names.get(quote(column), column): quote(column) for column in right.columns or ()}
        builder.queries.add(right_ref, place, {"from": right.ref, "select": selected})
        right = replace(right, columns=tuple(selected))
    step = builder.draft.new_name(builder.name, "join")
    columns, renames = _merge(source, name, right, set(keys))
    entry = {"from": left.ref, "key_by": keys, "window": left.window.document}
    entry["join"] = {"with": right_ref, "how": side}
    if conditions.others or renames or not keys:
        raise refuse(
            place, "a window join has equal columns only, and no name twice", "rename columns in a view first"
        )
    builder.queries.add(step, place, entry)
    relation = Relation(step, (*columns, "window"), formulas=WINDOW_FORMULAS, windowed=True)
    scope = Scope({**both.relations, name: right}, {}, None, place)
    return replace(source, relation=relation, scope=scope)


def _keys(
    builder: SelectBuilder, source: Source, right: Relation, conditions: _Conditions, place: str
) -> tuple[str, str, dict[str, str]]:
    """Return both inputs and the pairs of their key columns; an expression becomes a column first."""
    if not conditions.pairs:
        raise refuse(place, "the join has no equal columns", "add a condition such as ON a.id = b.id")
    left_ref, left = _as_columns(builder, source.relation, [pair[0] for pair in conditions.pairs], place)
    right_ref, of_right = _as_columns(builder, right, [pair[1] for pair in conditions.pairs], place)
    return left_ref, right_ref, dict(zip(left, of_right, strict=True))


def _as_columns(
    builder: SelectBuilder, relation: Relation, expressions: list[str], place: str
) -> tuple[str, list[str]]:
    columns = {quote(name): name for name in relation.columns or ()}
    computed = {text: f"join_key{n + 1}" for n, text in enumerate(expressions) if text not in columns}
    if relation.columns is None:
        return relation.ref, expressions
    if not computed:
        return relation.ref, [columns[text] for text in expressions]
    step = builder.draft.new_name(builder.name, "with_columns")
    builder.queries.add(
        step, place, {"from": relation.ref, "with_columns": {name: text for text, name in computed.items()}}
    )
    return step, [columns.get(text) or computed[text] for text in expressions]


def _joined(
    builder: SelectBuilder,
    source: Source,
    name: str,
    right: Relation,
    both: Scope,
    left_ref: str,
    options: dict[str, Any],
    others: tuple[exp.Expression, ...],
    place: str,
) -> Source:
    """Add the step of a join, whose columns get names of their own if both sides have them."""
    semi = options["how"] in ("semi", "anti")
    columns, renames = _merge(source, name, right, set())
    if semi:
        columns, renames = tuple(source.relation.columns or ()), {}
    else:
        options["select"] = {
            **{column: f"left.{quote(column)}" for column in source.relation.columns or ()},
            **{renames.get(column, column): f"right.{quote(column)}" for column in right.columns or ()},
        }
    if others:
        sides = Scope(
            {
                **{
                    key: _prefixed(relation, "left", source.scope, key)
                    for key, relation in source.scope.relations.items()
                },
                name: _prefixed(right, "right", Scope({}, {}, None, place), name),
            },
            {},
            None,
            place,
        )
        options["where"] = Placed(
            " and ".join(f"({sides.text(condition)})" for condition in others), sides.place_of(others[0])
        )
    step = builder.draft.new_name(builder.name, "join")
    builder.queries.add(step, place, {"from": left_ref, "join": options})
    renamed = {**source.scope.renamed, **{(name, column): new for column, new in renames.items()}}
    scope = Scope(source.scope.relations if semi else both.relations, renamed, None, place)
    relation = Relation(step, columns, times=(), changes=source.relation.changes, side_outputs={"late": step})
    return replace(source, relation=relation, scope=scope)


def _prefixed(relation: Relation, side: str, scope: Scope, name: str) -> Relation:
    formulas = {
        column: f"{side}.{quote(scope.renamed.get((name, column), column))}" for column in relation.visible()
    }
    return replace(relation, columns=(), formulas=formulas)


def _merge(
    source: Source, name: str, right: Relation, keys: set[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the columns of a joined row, and the new names of right columns that the left side has."""
    left = tuple(source.relation.columns or ())
    taken = {column.lower() for column in left}
    renames: dict[str, str] = {}
    columns = list(left)
    for column in right.columns or ():
        if column in keys:
            continue
        new = column
        if column.lower() in taken:
            new = f"{name}_{column}"
            renames[column] = new
        taken.add(new.lower())
        columns.append(new)
    return tuple(columns), renames


def _flatten(condition: exp.Expression) -> list[exp.Expression]:
    from sqlglot import expressions as exp

    if isinstance(condition, exp.Paren):
        return _flatten(condition.this)
    if isinstance(condition, exp.And):
        return [*_flatten(condition.left), *_flatten(condition.right)]
    return [condition]


def _uses(condition: exp.Expression, both: Scope, name: str) -> bool:
    """Return True if a condition compares the right side with the left one."""
    from sqlglot import expressions as exp

    owners = {both.owner(column) for column in condition.find_all(exp.Column)}
    return name in owners and len(owners - {None}) > 1


def _sides(condition: exp.Binary, both: Scope, name: str) -> tuple[exp.Expression, exp.Expression] | None:
    """Return the left and the right side of a comparison of both; None if it compares something else."""
    owners = [_owners(part, both) for part in (condition.left, condition.right)]
    if owners[1] == {name} and owners[0] and name not in owners[0]:
        return condition.left, condition.right
    if owners[0] == {name} and owners[1] and name not in owners[1]:
        return condition.right, condition.left
    return None


def _owners(node: exp.Expression, both: Scope) -> set[str | None]:
    from sqlglot import expressions as exp

    return {both.owner(column) for column in node.find_all(exp.Column)}


def _is_time(node: exp.Expression, both: Scope) -> bool:
    from sqlglot import expressions as exp

    owner = both.owner(node) if isinstance(node, exp.Column) else None
    return owner is not None and (
        both.relations[owner].is_time(node.name) or both.relations[owner].is_clock(node.name)
    )


def _bounds(condition: exp.Expression, both: Scope, name: str) -> tuple[int | None, int | None] | None:
    """Return the bounds of right - left that a comparison of event times gives."""
    from sqlglot import expressions as exp

    if isinstance(condition, exp.Between):
        low = _bounds(exp.GTE(this=condition.this, expression=condition.args["low"]), both, name)
        high = _bounds(exp.LTE(this=condition.this, expression=condition.args["high"]), both, name)
        if low is None or high is None:
            return None
        return (low[0] if low[0] is not None else high[0], low[1] if low[1] is not None else high[1])
    if not isinstance(condition, exp.GTE | exp.LTE | exp.GT | exp.LT | exp.EQ):
        return None
    first, second = _time_plus(condition.left, both), _time_plus(condition.right, both)
    if first is None or second is None or (first[0] == name) == (second[0] == name):
        return None
    strict = 1 if isinstance(condition, exp.GT | exp.LT) else 0
    difference = second[1] - first[1] if first[0] == name else first[1] - second[1]
    if isinstance(condition, exp.EQ):
        return difference, difference
    right_is_greater = isinstance(condition, exp.GTE | exp.GT) == (first[0] == name)
    return (difference + strict, None) if right_is_greater else (None, difference - strict)


def _time_plus(node: exp.Expression, both: Scope) -> tuple[str, int] | None:
    """Return the relation of an event time and what is added to it, in microseconds."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.Paren):
        return _time_plus(node.this, both)
    if isinstance(node, exp.Column):
        owner = both.owner(node)
        return (owner, 0) if owner is not None and _is_time(node, both) else None
    if isinstance(node, exp.Add | exp.Sub):
        time, length = _time_plus(node.left, both), interval_length(node.right)
        if time is None or length is None:
            return None
        return time[0], time[1] + (length if isinstance(node, exp.Add) else -length)
    return None
