"""Joins: which step a join in `FROM` becomes, from its conditions and from what it joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.durations import text as duration_text
from headrace.errors import SchemaError
from headrace.schemas.datatypes import Array, Struct
from headrace.schemas.ddl import parse_type
from headrace.sql.functions import spark_functions
from headrace.statements import windows
from headrace.statements.declarations import Placed
from headrace.statements.draft import refuse
from headrace.statements.durations import interval_length
from headrace.statements.relations import Relation, quote
from headrace.statements.scope import Scope, literal_pattern
from headrace.statements.spellings import Bounds, find_bounds
from headrace.steps.facts import CHANGE

if TYPE_CHECKING:
    from sqlglot import expressions as exp

    from headrace.statements.queries import SelectBuilder

_SIDES = {"": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full"}
_ITEM = "unnested_item"
_GENERATORS = {
    *("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack"),
    *("json_tuple", "variant_explode", "variant_explode_outer"),
}
"""The functions of Spark that give rows."""
_NAMED = "name the columns of both sides: select them in a view first"


@dataclass(frozen=True)
class Source:
    """The relation that the clauses after `FROM` read."""

    relation: Relation
    scope: Scope
    where: list[exp.Expr] = field(default_factory=list)
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
    same_window: tuple[tuple[str, str], tuple[str, str]] | None
    """The start and the end of the window that both rows carry, each as a left and a right expression."""
    others: tuple[exp.Expr, ...]


def conditions_of(tree: exp.Select) -> list[exp.Expr]:
    """Return the conditions of `WHERE` that are combined by `AND`."""
    where = tree.args.get("where")
    return _flatten(where.this) if where is not None else []


def build(
    builder: SelectBuilder, source: Source, join: exp.Join, where: list[exp.Expr], *, pushes: bool = True
) -> Source:
    """Add the step of a join; conditions of `WHERE` that it uses are removed from the list.

    Args:
        builder: the steps of the query.
        source: what is joined so far.
        join: the join.
        where: the conditions of `WHERE`.
        pushes: False if a later join adds rows that a condition of `WHERE` must see.
    """
    from sqlglot import expressions as exp

    place = builder.place_of(join)
    source = windows.assign_source(builder, source)
    if isinstance(join.this, exp.Unnest | exp.Lateral):
        on = join.args.get("on")
        if on is not None and on.sql().upper() != "TRUE":
            raise refuse(place, "UNNEST has no condition of its own", "write ON TRUE, and filter in WHERE")
        return explode(builder, source, join.this, outer=join.side.upper() == "LEFT")
    side = {"SEMI": "semi", "ANTI": "anti"}.get(join.kind.upper(), _SIDES.get(join.side.upper()))
    natural = str(join.args.get("method") or "").upper() == "NATURAL"
    if side is None or (join.args.get("method") and not natural):
        raise refuse(
            place, f"{join.sql().split(' ')[0]} joins are not supported", "write ON with the equal columns"
        )
    version = join.this.args.get("version") if isinstance(join.this, exp.Table) else None
    name, right = builder.relation(join.this)
    right = windows.assign(builder, right)
    if name in source.scope.relations:
        raise refuse(place, f"two streams are called `{name}`", "give one of them another alias")
    both = _both(source, name, right, place)
    on = _flatten(join.args["on"]) if join.args.get("on") is not None else []
    using = [column.name for column in join.args.get("using") or ()]
    if natural:
        using = _shared_columns(source, right, place)
    on += [_equal(column, source.scope, name) for column in using]
    if side == "inner" and pushes:
        from_where = [
            condition
            for condition in where
            if not has_subquery(condition)
            and (
                find_bounds(condition, name, list(source.scope.relations), place) is not None
                or _uses(condition, both, name)
            )
        ]
        on += from_where
        where[:] = [condition for condition in where if condition not in from_where]
    for condition in on:
        if has_subquery(condition):
            hint = "join the subquery in FROM, or write it in WHERE"
            raise refuse(builder.place_of(condition), "a subquery in ON is not supported", hint)
    follows = "table" in (source.relation.changes, right.changes) and version is None
    conditions = _classify(on, both, name, source.relation, by_time=not follows)
    lower, upper = conditions.bounds
    if not follows and version is None and not conditions.same_window and (lower is None or upper is None):
        conditions = _classify(on, both, name, source.relation, by_time=False)
    step = _Join(builder, source, name, right, both, side, conditions, place)
    if version is not None:
        return step.with_shared(using, step.with_version(version))
    if conditions.bounds == (None, None) and not conditions.same_window:
        return step.with_shared(using, step.filtered(where if pushes else []).regular())
    if side == "inner":  # what the step of the join does not compare is filtered after it
        where += conditions.others
        step = replace(step, conditions=replace(conditions, others=()))
    return step.with_shared(using, step.in_window() if conditions.same_window else step.interval())


def _both(source: Source, name: str, right: Relation, place: str) -> Scope:
    return replace(source.scope, relations={**source.scope.relations, name: right}, place=place)


def _shared_columns(source: Source, right: Relation, place: str) -> list[str]:
    """Return the columns that both sides of a `NATURAL JOIN` have."""
    left = {name.lower() for name, _ in source.scope.star()}
    if right.columns is None or not left:
        raise refuse(place, "the columns of one side are not known", _NAMED)
    shared = [name for name in right.visible() if name.lower() in left]
    if not shared:
        raise refuse(place, "the sides of NATURAL JOIN share no column", "write ON with the equal columns")
    return shared


def _equal(column: str, scope: Scope, name: str) -> exp.Expr:
    """Return the condition of a column in `USING`: the first relation that has it, and the right side."""
    from sqlglot import expressions as exp

    owners = (known for known, relation in scope.relations.items() if relation.find(column) is not None)
    owner = next(owners, next(iter(scope.relations)))
    return exp.EQ(this=exp.column(column, owner), expression=exp.column(column, name))


def has_subquery(node: exp.Expr) -> bool:
    """Return True if an expression has a query in it."""
    from sqlglot import expressions as exp

    return node.find(exp.Query) is not None


def live_join(
    builder: SelectBuilder,
    source: Source,
    name: str,
    right: Relation,
    *,
    side: str,
    on: list[exp.Expr],
    place: str,
) -> Source:
    """Add the join of the current rows of both sides that satisfy conditions."""
    both = _both(source, name, right, place)
    conditions = _classify(on, both, name, source.relation, by_time=False)
    step = _Join(builder, source, name, right, both, side, conditions, place)
    return step.in_window() if conditions.same_window else step.regular()


def explode(builder: SelectBuilder, source: Source, lateral: exp.Expr, *, outer: bool = False) -> Source:
    """Add the stateless query that repeats each row for the items of an array or a map.

    With `outer` a row without items passes once, with nulls.
    """
    from sqlglot import expressions as exp

    place = builder.place_of(lateral)
    alias = lateral.args.get("alias")
    columns = [column.name for column in (alias.args.get("columns") or ())] if alias is not None else []
    table = alias.name if alias is not None and alias.this is not None else "t"
    view = "lateral view outer" if outer or lateral.args.get("outer") else "lateral view"
    fields: tuple[str, ...] = ()
    if isinstance(lateral, exp.Unnest):
        items = lateral.expressions[0]
        fields = _fields_of_items(source.scope, items)
        call = f"{'inline' if fields else 'explode'}({source.scope.text(items)})"
    else:
        call = source.scope.text(_generator(lateral.this, place))
    ordinal = _ordinal(lateral)
    if not columns:
        # Without names of columns, an alias is that of the items too, unless they are structs.
        has_name = alias is not None and alias.this is not None
        columns = list(fields) or [table if has_name else "col"]
        table = table if fields and has_name else f"{table}_rows"
    if fields and len(fields) != len(columns):
        what = f"{len(columns)} names for the {len(fields)} fields of the items"
        raise refuse(place, what, f"such as AS {table} ({', '.join(fields)})")
    step = builder.draft.new_name(builder.name, "explode")
    shown = [quote(column) for column in columns]
    if ordinal:
        call = f"posexplode({call.partition('(')[2]}"
        shown = [quote(ordinal), *([_ITEM] if fields else shown)]
    text = f"select * from this {view} {call} {quote(table)} as {', '.join(shown)}"
    builder.queries.add(step, place, {"from": source.relation.ref, "sql": Placed(text, place)})
    if ordinal:
        step = _add_ordinal(builder, step, place, ordinal, dict(zip(columns, fields, strict=False)))
        columns = [*columns, ordinal]
    known = source.relation.columns
    relation = replace(source.relation, ref=step, columns=None if known is None else (*known, *columns))
    exploded = Relation(step, tuple(columns))
    scope = replace(source.scope, relations={**source.scope.relations, table: exploded})
    return replace(source, relation=relation, scope=scope)


def _generator(call: exp.Expr, place: str) -> exp.Expr:
    """Return the function of `LATERAL TABLE(...)` or of a lateral view that gives rows."""
    from sqlglot import expressions as exp

    if isinstance(call, exp.Query):
        hint = "join the query in FROM with its conditions after ON, or rank its rows with ROW_NUMBER()"
        raise refuse(place, "LATERAL (SELECT ...) is not supported", hint)
    name = (call.name or call.key) if isinstance(call, exp.Anonymous) else call.sql("spark").partition("(")[0]
    if name.lower() == "string_split" and len(call.expressions) == 2:
        text, separator = call.expressions
        parts = exp.Anonymous(this="split", expressions=[text, literal_pattern(separator)])
        return exp.Anonymous(this="explode", expressions=[parts])
    if name.lower() not in _GENERATORS and name.lower() in spark_functions():
        hint = "such as LATERAL explode(tags) AS t (tag), or CROSS JOIN UNNEST(tags) AS t (tag)"
        raise refuse(place, f"`{name}` gives one value and no rows", hint)
    return call


def _ordinal(lateral: exp.Expr) -> str:
    """Return the name of the column of `WITH ORDINALITY`; empty if there is none."""
    offset = lateral.args.get("offset")
    return "" if not offset else "ordinality" if offset is True else str(offset.name)


def _add_ordinal(
    builder: SelectBuilder, exploded: str, place: str, ordinal: str, fields: Mapping[str, str]
) -> str:
    """Add the step that counts items from 1, and takes the fields of an item; return its name."""
    step = builder.draft.new_name(builder.name, "with_columns")
    added = {name: f"{_ITEM}.{quote(field)}" for name, field in fields.items()}
    entry = {"from": exploded, "with_columns": {ordinal: f"{quote(ordinal)} + 1", **added}}
    builder.queries.add(step, place, {**entry, **({"drop": [_ITEM]} if fields else {})})
    return step


def _fields_of_items(scope: Scope, items: exp.Expr) -> tuple[str, ...]:
    """Return the fields of the items if they are structs by their declared type."""
    from sqlglot import expressions as exp

    if not isinstance(items, exp.Column) or (owner := scope.owner(items)) is None:
        return ()
    declared = scope.relations[owner].types
    parts = [part.name.lower() for part in items.parts]
    name, *path = parts[1:] if scope.qualifier(items) is not None else parts
    text = next((text for column, text in declared.items() if column.lower() == name), "")
    try:
        kind = parse_type(text) if text else None
    except SchemaError:
        return ()
    for part in path:
        inside = kind.fields if isinstance(kind, Struct) else ()
        kind = next((field.type for field in inside if field.name.lower() == part), None)
    element = kind.element if isinstance(kind, Array) else None
    return tuple(field.name for field in element.fields) if isinstance(element, Struct) else ()


def _classify(
    conditions: list[exp.Expr], both: Scope, name: str, left: Relation, *, by_time: bool
) -> _Conditions:
    """Sort the conditions of a join; with `by_time` those of event times are bounds."""
    from sqlglot import expressions as exp

    pairs: list[tuple[str, str]] = []
    lower: int | None = None
    upper: int | None = None
    right = both.relations[name]
    equal: dict[str, tuple[str, str]] = {}
    updating = "table" in (left.changes, right.changes)
    others: list[exp.Expr] = []
    for condition in conditions:
        others_of = [known for known in both.relations if known != name]
        if by_time and (bounds := find_bounds(condition, name, others_of, both.place)) is not None:
            lower, upper = _narrow((lower, upper), bounds)
            continue
        if isinstance(condition, exp.EQ) and (sides := _sides(condition, both, name)) is not None:
            left_node, right_node = sides
            pair = both.text(left_node), both.text(right_node)
            role = left.bounds.get(pair[0], "")
            if not updating and role and role == right.bounds.get(pair[1]):
                equal.setdefault(role, pair)
                continue
            if not (by_time and _is_time(left_node, both) and _is_time(right_node, both)):
                pairs.append(pair)
                continue
        if by_time and (bounds := _bounds(condition, both, name)) is not None:
            lower, upper = _narrow((lower, upper), bounds)
            continue
        others.append(condition)
    same_window = (equal["start"], equal["end"]) if "start" in equal and "end" in equal else None
    if same_window is None:
        pairs += equal.values()
    return _Conditions(tuple(pairs), (lower, upper), same_window, tuple(others))


def _narrow(bounds: Bounds, more: Bounds) -> Bounds:
    """Return the bounds that satisfy both conditions."""
    lowest = [bound for bound in (bounds[0], more[0]) if bound is not None]
    highest = [bound for bound in (bounds[1], more[1]) if bound is not None]
    return max(lowest, default=None), min(highest, default=None)


@dataclass(frozen=True)
class _Join:
    """A join of the rows so far with one more relation."""

    builder: SelectBuilder
    source: Source
    name: str
    right: Relation
    both: Scope
    side: str
    conditions: _Conditions
    place: str

    def interval(self) -> Source:
        """Add a join of streams whose event times are within bounds of each other."""
        lower, upper = self.conditions.bounds
        assert lower is not None
        assert upper is not None
        if lower > upper:  # no times satisfy both bounds: rows of an outer join pass without a match
            never = (*self.conditions.others, _false())
            conditions = replace(self.conditions, bounds=(upper, lower), others=never)
            return replace(self, conditions=conditions).interval()
        bounds = [f"{'-' if bound < 0 else ''}{duration_text(abs(bound))}" for bound in (lower, upper)]
        left, right = (self._with_time(relation) for relation in (self.source.relation, self.right))
        timed = replace(self, source=replace(self.source, relation=left), right=right)
        return timed._add({"within": bounds})

    def filtered(self, where: list[exp.Expr]) -> _Join:
        """Add filters of both sides before the join, so that it does not keep rows that cannot match.

        Conditions of `WHERE` that it uses are removed from the list.
        """
        step = self
        if self.side in ("inner", "left", "semi", "anti"):
            foreign = {None, self.name}  # None: of a subquery, or of the query around this one
            step = step._filter_left(
                [c for c in where if (owners := self._owners(c)) and not owners & foreign], where
            )
        if self.side == "inner":
            step = step._filter_right([c for c in where if self._owners(c) == {self.name}], where)
        if self.side in ("inner", "left", "semi", "anti"):
            others = list(step.conditions.others)
            step = step._filter_right([c for c in others if self._owners(c) == {self.name}], others)
            step = replace(step, conditions=replace(step.conditions, others=tuple(others)))
        return step

    def with_shared(self, columns: list[str], joined: Source) -> Source:
        """Return the result of the join with the columns of `USING`, which both sides have."""
        from sqlglot import expressions as exp

        if not columns or self.side in ("semi", "anti"):
            return joined
        merged = dict(joined.scope.merged)
        for column in columns:
            own = merged.get(column.lower()) or joined.scope.text(_equal(column, self.source.scope, "").this)
            other = joined.scope.text(exp.column(column, self.name))
            merged[column.lower()] = {"right": other, "full": f"coalesce({own}, {other})"}.get(self.side, own)
        return replace(joined, scope=replace(joined.scope, merged=merged))

    def _owners(self, condition: exp.Expr) -> set[str | None]:
        return {None} if has_subquery(condition) else _owners(condition, self.both)

    def _filter_left(self, conditions: list[exp.Expr], used: list[exp.Expr]) -> _Join:
        source = self.source
        if not conditions or source.relation.replaces or source.relation.window is not None:
            return self
        ref = self._add_step(
            "where", {"from": source.relation.ref, "where": self.builder.all_of(source.scope, conditions)}
        )
        used[:] = [condition for condition in used if condition not in conditions]
        return replace(self, source=source.with_relation(replace(source.relation, ref=ref)))

    def _filter_right(self, conditions: list[exp.Expr], used: list[exp.Expr]) -> _Join:
        right = self.right
        if not conditions or right.replaces or right.window is not None:
            return self
        scope = Scope.of(self.name, right, self.place)
        ref = self._add_step("where", {"from": right.ref, "where": self.builder.all_of(scope, conditions)})
        used[:] = [condition for condition in used if condition not in conditions]
        return self._with_right(replace(right, ref=ref))

    def _with_right(self, right: Relation) -> _Join:
        both = replace(self.both, relations={**self.both.relations, self.name: right})
        return replace(self, right=right, both=both)

    def regular(self) -> Source:
        """Add a join of the current rows of both sides, whose event times are ordinary columns after it."""
        step = self._with_plain_columns()
        omits = step.side in ("semi", "anti")
        if step.right.columns is None or (step.source.relation.columns is None and not omits):
            raise refuse(self.place, "the columns of one side are not known", _NAMED)
        joined = step._add({"at": "live"})
        scope = joined.scope
        relations = {
            name: replace(known, times=(), clock=(), window=None) for name, known in scope.relations.items()
        }
        relation = replace(joined.relation, changes="table", times=(), marked=True, side_outputs={})
        return replace(joined, relation=relation, scope=replace(scope, relations=relations))

    def _with_plain_columns(self) -> _Join:
        """Return the join of sides whose computed columns, such as `window_start`, are columns."""
        step = self
        if self.right.formulas:
            right = self._plain(self.right, Scope.of(self.name, self.right, self.place))
            step = step._with_right(right)
        names = list(self.source.scope.relations)
        if self.source.relation.formulas and len(names) == 1:
            left = self._plain(self.source.relation, self.source.scope)
            step = replace(
                step, source=replace(self.source, relation=left, scope=Scope.of(names[0], left, self.place))
            )
            both = {**step.both.relations, names[0]: left}
            step = replace(step, both=replace(step.both, relations=both))
        return step

    def _plain(self, relation: Relation, scope: Scope) -> Relation:
        selected = dict(scope.star())
        marked = {CHANGE: CHANGE} if relation.marked else {}
        ref = self._add_step("select", {"from": relation.ref, "select": {**selected, **marked}})
        bounds = windows.selected_bounds(relation.bounds, selected.items())
        return replace(relation, ref=ref, columns=tuple(selected), formulas={}, windowed=False, bounds=bounds)

    def with_version(self, version: exp.Expr) -> Source:
        """Add a join with a table as of a time: `FOR SYSTEM_TIME AS OF`."""
        from sqlglot import expressions as exp

        at = version.args["expression"]
        if self.side not in ("inner", "left"):
            what = f"a {self.side} join with a version of a table is not supported"
            raise refuse(self.place, what, "use JOIN or LEFT JOIN")
        by_clock = (isinstance(at, exp.Anonymous) and at.name.lower() == "proctime") or (
            isinstance(at, exp.Column)
            and any(relation.is_clock(at.name) for relation in self.source.scope.relations.values())
        )
        if by_clock and self.right.lookup is not None:
            return self._look_up(self.right.lookup)
        if self.right.changes != "table":
            hint = "declare it with CREATE TABLE and a PRIMARY KEY"
            raise refuse(self.place, f"`{self.name}` is not a table", hint)
        if self.source.relation.changes == "table":
            if not by_clock:
                what = "a join of rows that change with a version of a table is not supported"
                raise refuse(self.place, what, "join the current rows: leave out FOR SYSTEM_TIME AS OF")
            return self.regular()  # the rows of both sides change, so the results follow both
        return self._add({"at": "arrival" if by_clock else "event_time"})

    def in_window(self) -> Source:
        """Add a join of rows that carry the same window."""
        step = self._with_plain_columns()
        left, right, same = step.source.relation, step.right, self.conditions.same_window
        assert same is not None
        if left.columns is None or right.columns is None:
            raise refuse(self.place, "the columns of one side are not known", _NAMED)
        compared = {"start": same[0], "end": same[1]}
        compared = {role: self._plain_pair(pair, step) for role, pair in compared.items()}
        equal = [self._plain_pair(pair, step) for pair in self.conditions.pairs]
        names = {pair: f"join_key{n + 1}" for n, pair in enumerate(equal)}
        names |= {pair: f"join_{role}" for role, pair in compared.items()}
        names = {pair: name for pair, name in names.items() if pair[0] != pair[1]}
        left_ref, right_ref = left.ref, right.ref
        if names:
            added = [{name: pair[side] for pair, name in names.items()} for side in (0, 1)]
            left_ref = step._add_step("with_columns", {"from": left_ref, "with_columns": added[0]})
            right_ref = step._add_step("with_columns", {"from": right_ref, "with_columns": added[1]})
        bounds = {role: names.get(pair, pair[0]) for role, pair in compared.items()}
        keys = [names.get(pair, pair[0]) for pair in equal]
        join: dict[str, Any] = {"with": right_ref, "how": self.side}
        columns, renames = left.columns, dict[str, str]()
        if self.side not in ("semi", "anti"):
            columns, renames = _merge(step.source, self.name, right, set())
        join["select"] = {column: f"left.{quote(column)}" for column in left.columns}
        if self.side not in ("semi", "anti"):
            join["select"] |= {renames.get(c, c): f"right.{quote(c)}" for c in right.columns}
        if self.conditions.others:
            sides = step._sides()
            text = " and ".join(f"({sides.text(condition)})" for condition in self.conditions.others)
            join["where"] = Placed(text, sides.place_of(self.conditions.others[0]))
        entry: dict[str, Any] = {"from": left_ref, **({"key_by": keys} if keys else {})}
        entry |= {"window": {"attached": bounds}, "join": join}
        ref = step._add_step("join", entry)
        carried = dict(left.bounds)
        if self.side not in ("semi", "anti"):
            carried |= {
                quote(renames.get(c, c)): right.bounds[quote(c)]
                for c in right.columns
                if quote(c) in right.bounds
            }
        joined = Relation(
            ref,
            (*columns, "window"),
            times=left.times,
            windowed=True,
            bounds=carried,
            side_outputs={"late": ref},
        )
        return replace(step.source, relation=joined, scope=step._scope(right, renames))

    def _plain_pair(self, pair: tuple[str, str], step: _Join) -> tuple[str, str]:
        """Return a pair of expressions in terms of the columns that replace computed ones."""
        sides = ((self.source.relation, step.source.relation), (self.right, step.right))
        left, right = (_renamed(text, *relations) for text, relations in zip(pair, sides, strict=True))
        return left, right

    def _look_up(self, options: Mapping[str, Any]) -> Source:
        """Add a lookup; its key columns have the same names on both sides."""
        relation, columns = self.source.relation, self.right.columns or ()
        keys = {of_right: of_left for of_left, of_right in self.conditions.pairs}
        taken = {column.lower() for column in relation.columns or ()}
        clash = [column for column in columns if column.lower() in taken and column not in keys]
        wrong = [key for key, text in keys.items() if key.lower() in taken and text.lower() != key.lower()]
        if clash or wrong:
            what = f"both sides have a column `{(clash or wrong)[0]}`"
            raise refuse(self.place, what, "rename it in a view before the join")
        added = {key: text for key, text in keys.items() if key.lower() not in taken}
        entry: dict[str, Any] = {"from": relation.ref, **({"with_columns": added} if added else {})}
        missing = "null" if self.side == "left" else "drop"
        where = self._where() if self.conditions.others else {}
        step = self._add_step(
            "lookup", {**entry, "lookup": {**options, "on": list(keys), "on_miss": missing, **where}}
        )
        result = (*(relation.columns or ()), *added, *(column for column in columns if column not in keys))
        joined = replace(relation, ref=step, columns=result)
        scope = self.both
        others = [column for column in columns if column not in keys]
        if self.side == "left" and others:
            # The key columns have the values of the stream; without a row of the table they are null.
            matched = " or ".join(f"{quote(column)} is not null" for column in others)
            names = {c: f"if({matched}, {quote(c)}, null)" if c in keys else quote(c) for c in columns}
            right = replace(self.right, columns=(), formulas=names)
            scope = replace(scope, relations={**scope.relations, self.name: right})
        return replace(self.source, relation=joined, scope=scope)

    def _add(self, options: Mapping[str, Any]) -> Source:
        """Add the step of a join, whose columns get names of their own if both sides have them."""
        if not self.conditions.pairs and options.get("at") != "live":
            hint = "add a condition such as ON a.id = b.id"
            raise refuse(self.place, "the join has no equal columns", hint)
        left_ref, right_ref, on = self._keys()
        join: dict[str, Any] = {"with": right_ref, **({"on": on} if on else {}), "how": self.side, **options}
        relation, columns = self.source.relation, tuple(self.source.relation.columns or ())
        renames: dict[str, str] = {}
        if self.side not in ("semi", "anti"):
            columns, renames = _merge(self.source, self.name, self.right, set())
            join["select"] = {
                **{column: f"left.{quote(column)}" for column in relation.columns or ()},
                **{renames.get(c, c): f"right.{quote(c)}" for c in self.right.columns or ()},
            }
        if self.conditions.others:
            join |= self._where()
        step = self._add_step("join", {"from": left_ref, "join": join})
        joined = Relation(step, columns, changes=relation.changes, side_outputs={"late": step})
        return replace(self.source, relation=joined, scope=self._scope(self.right, renames))

    def _where(self) -> dict[str, Any]:
        """Return the conditions that are not pairs of equal columns, over `left` and `right`."""
        sides = self._sides()
        text = " and ".join(f"({sides.text(condition)})" for condition in self.conditions.others)
        return {"where": Placed(text, sides.place_of(self.conditions.others[0]))}

    def _with_time(self, relation: Relation) -> Relation:
        """Return the relation with processing time if its event time is that of the clock."""
        if relation.times or not relation.clock:
            return relation
        step = self._add_step("processing_time", {"from": relation.ref, "processing_time": True})
        return replace(relation, ref=step)

    def _scope(self, right: Relation, renames: Mapping[str, str]) -> Scope:
        """Return the names of a joined row."""
        relations = dict(self.source.scope.relations)
        if self.side not in ("semi", "anti"):
            relations[self.name] = right
        renamed = {(self.name, column): new for column, new in renames.items()}
        names = {**self.source.scope.renamed, **renamed}
        return replace(self.source.scope, relations=relations, renamed=names, place=self.place)

    def _sides(self) -> Scope:
        """Return the names in a condition of a join, over `left` and `right`."""
        scope = self.source.scope
        left = {key: _prefixed(known, "left", scope, key) for key, known in scope.relations.items()}
        nothing = Scope({}, {}, self.place)
        right = {self.name: _prefixed(self.right, "right", nothing, self.name)}
        return Scope({**left, **right}, {}, self.place)

    def _keys(self) -> tuple[str, str, dict[str, str]]:
        """Return both inputs and the pairs of their key columns; an expression becomes a column first."""
        pairs = self.conditions.pairs
        left_ref, left = self._as_columns(self.source.relation, [of_left for of_left, _ in pairs])
        right_ref, right = self._as_columns(self.right, [of_right for _, of_right in pairs])
        return left_ref, right_ref, dict(zip(left, right, strict=True))

    def _as_columns(self, relation: Relation, expressions: list[str]) -> tuple[str, list[str]]:
        if relation.columns is None:
            return relation.ref, expressions
        columns = {quote(name): name for name in relation.columns}
        computed = {text: f"join_key{n + 1}" for n, text in enumerate(expressions) if text not in columns}
        ref = relation.ref
        if computed:
            added = {name: text for text, name in computed.items()}
            ref = self._add_step("with_columns", {"from": ref, "with_columns": added})
        return ref, [columns.get(text) or computed[text] for text in expressions]

    def _with_names(self, relation: Relation, names: Mapping[str, str]) -> Relation:
        """Add a step that renames columns."""
        selected = {names.get(quote(column), column): quote(column) for column in relation.columns or ()}
        step = self._add_step("select", {"from": relation.ref, "select": selected})
        return replace(relation, ref=step, columns=tuple(selected))

    def _add_step(self, verb: str, entry: Mapping[str, Any]) -> str:
        name = self.builder.draft.new_name(self.builder.name, verb)
        self.builder.queries.add(name, self.place, entry)
        return name


def _renamed(text: str, before: Relation, after: Relation) -> str:
    """Return an expression with the columns that replace the computed ones of a relation."""
    for name, formula in before.formulas.items():
        if name not in after.formulas:
            text = text.replace(formula, quote(name)) if formula == text else text
    return text


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


def _false() -> exp.Expr:
    from sqlglot import expressions as exp

    return exp.false()


def _flatten(condition: exp.Expr) -> list[exp.Expr]:
    from sqlglot import expressions as exp

    if isinstance(condition, exp.Paren):
        return _flatten(condition.this)
    if isinstance(condition, exp.And):
        return [*_flatten(condition.left), *_flatten(condition.right)]
    return [condition]


def _uses(condition: exp.Expr, both: Scope, name: str) -> bool:
    """Return True if a condition compares the right side with the left one."""
    from sqlglot import expressions as exp

    owners = {both.owner(column) for column in condition.find_all(exp.Column)}
    return name in owners and len(owners - {None}) > 1


def _sides(condition: exp.Binary, both: Scope, name: str) -> tuple[exp.Expr, exp.Expr] | None:
    """Return the left and the right side of a comparison of both; None if it compares something else."""
    owners = [_owners(part, both) for part in (condition.left, condition.right)]
    if owners[1] == {name} and owners[0] and name not in owners[0]:
        return condition.left, condition.right
    if owners[0] == {name} and owners[1] and name not in owners[1]:
        return condition.right, condition.left
    return None


def _owners(node: exp.Expr, both: Scope) -> set[str | None]:
    from sqlglot import expressions as exp

    return {both.owner(column) for column in node.find_all(exp.Column)}


def _is_time(node: exp.Expr, both: Scope) -> bool:
    from sqlglot import expressions as exp

    owner = both.owner(node) if isinstance(node, exp.Column) else None
    return owner is not None and (
        both.relations[owner].is_time(node.name) or both.relations[owner].is_clock(node.name)
    )


def _bounds(condition: exp.Expr, both: Scope, name: str) -> tuple[int | None, int | None] | None:
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


def _time_plus(node: exp.Expr, both: Scope) -> tuple[str, int] | None:
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
