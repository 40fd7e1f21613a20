"""Subqueries in conditions and in `SELECT`: semi joins, anti joins, and left joins with one row.

`IN`, `EXISTS` and their negations, combined by `AND` in `WHERE`, are semi and anti joins. Elsewhere, as in
`CASE` and `OR`, and for a scalar subquery, the subquery is an aggregate that is joined to each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.sql.shape import is_aggregate
from headrace.statements import windows
from headrace.statements.declarations import Placed
from headrace.statements.draft import refuse
from headrace.statements.joins import Source, has_subquery, live_join
from headrace.statements.relations import Relation
from headrace.statements.scope import Scope
from headrace.statements.syntax import Emit
from headrace.steps.facts import CHANGE

if TYPE_CHECKING:
    from sqlglot import expressions as exp

    from headrace.statements.queries import SelectBuilder

_IN = (
    "CASE WHEN coalesce(n, 0) = 0 THEN false WHEN x IS NULL THEN NULL WHEN hit IS NOT NULL THEN true "
    "WHEN known < n THEN NULL ELSE false END"
)
"""`x IN (subquery)`: `n` rows, of which `known` are not null, and `hit` rows that equal `x`."""


def apply(builder: SelectBuilder, tree: exp.Select, source: Source) -> Source:
    """Add the joins of the subqueries in `WHERE` and `SELECT`.

    A subquery in `SELECT` is replaced in the tree by the column of its join.
    """
    nested = [condition for condition in source.where if has_subquery(condition)]
    items = [query for item in tree.expressions for query in _subqueries(item)]
    if not nested and not items:
        return source
    source = filter_first(builder, source, nested)
    remaining = [condition for condition in source.where if condition not in nested]
    for condition in nested:
        copy = condition.copy()
        test = _Test.of(copy)
        for query in [query for part in (test.values if test else (copy,)) for query in _subqueries(part)]:
            source, column = _join_value(builder, source, query)
            copy = _replace(copy, query, column)
        test = _Test.of(copy)
        if test is None:
            remaining.append(copy)
        else:
            source = _Subquery.of(builder, source, test.query).semi_join(test)
    for query in items:
        source, column = _join_value(builder, source, query)
        query.replace(column)
    return replace(source, where=remaining)


def filter_first(builder: SelectBuilder, source: Source, nested: list[exp.Expr]) -> Source:
    """Add the filter of the conditions that are not `nested`, so that the next steps get fewer rows."""
    plain = [
        condition
        for condition in source.where
        if condition not in nested and all(map(source.scope.knows, _columns(condition)))
    ]
    if not plain or source.relation.replaces or source.relation.window is not None:
        return source
    step = builder.draft.new_name(builder.name, "where")
    entry = {"from": source.relation.ref, "where": builder.all_of(source.scope, plain)}
    builder.queries.add(step, builder.where, entry)
    rest = [condition for condition in source.where if condition not in plain]
    return replace(source, relation=replace(source.relation, ref=step), where=rest)


@dataclass(frozen=True)
class _Test:
    """`EXISTS (query)` or `x IN (query)`, possibly negated."""

    query: exp.Query
    values: tuple[exp.Expr, ...] = ()
    """The values before `IN`; empty for `EXISTS`."""
    negated: bool = False

    @classmethod
    def of(cls, condition: exp.Expr) -> _Test | None:
        """Return the test that a condition is; None if it is another condition."""
        from sqlglot import expressions as exp

        if isinstance(condition, exp.Paren):
            return cls.of(condition.this)
        if isinstance(condition, exp.Not):
            test = cls.of(condition.this)
            return None if test is None else replace(test, negated=not test.negated)
        if isinstance(condition, exp.Exists):
            return cls(_query_of(condition.this))
        query = condition.args.get("query") if isinstance(condition, exp.In) else None
        if query is None:
            return None
        return cls(_query_of(query), _values_of(condition))


def _values_of(condition: exp.Expr) -> tuple[exp.Expr, ...]:
    from sqlglot import expressions as exp

    inner = condition.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    return tuple(inner.expressions) if isinstance(inner, exp.Tuple) else (inner,)


def _query_of(node: exp.Expr) -> exp.Query:
    from sqlglot import expressions as exp

    while isinstance(node, exp.Subquery):
        node = node.this
    assert isinstance(node, exp.Query)
    return node


@dataclass(frozen=True)
class _Correlation:
    """The conditions of a subquery that refer to the query around it."""

    equal: tuple[tuple[exp.Expr, exp.Expr], ...] = ()
    """Pairs of an outer and an inner expression."""
    others: tuple[exp.Expr, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.equal or self.others)


@dataclass(frozen=True)
class _Subquery:
    """A subquery of a query, and the rows that it is joined with."""

    builder: SelectBuilder
    source: Source
    query: exp.Query
    name: str
    """The name of its rows in the scope of the query."""
    place: str

    @classmethod
    def of(cls, builder: SelectBuilder, source: Source, query: exp.Query) -> _Subquery:
        number = sum(known.hidden for known in source.scope.relations.values()) + 1
        while f"subquery{number}" in source.scope.relations:
            number += 1
        return cls(builder, source, query, f"subquery{number}", builder.place_of(query))

    def semi_join(self, test: _Test) -> Source:
        """Add the semi or anti join of `IN` and `EXISTS`."""
        right, values, on = self._rows(len(test.values))
        if test.values and len(values) != len(test.values):
            what = f"IN compares {len(test.values)} values with {len(values)} columns"
            raise refuse(self.place, what, "select as many columns as values")
        pairs = [self._equal(own, value) for own, value in zip(test.values, values, strict=True)]
        if test.negated and pairs:
            # NOT IN excludes a row too if the comparison is null: that of a null, or with one.
            on = [*on, _parse("coalesce(test, true)", test=_all(pairs))]
        else:
            on = [*on, *pairs]
        side = "anti" if test.negated else "semi"
        return self._join(self.source, right, side, on)

    def counted(self, values: tuple[exp.Expr, ...]) -> tuple[Source, exp.Expr]:
        """Return the query joined with the counts of the subquery, and the condition over them."""
        right, columns, on = self._rows(len(values), equal_only=True)
        if len(values) > 1 or (values and len(columns) != 1):
            raise refuse(self.place, "IN with several columns is supported with AND in WHERE only")
        keys = [name for name in right.columns or () if name not in columns]
        counts = {f"{self.name}_n": "count(*)"}
        if values:
            counts[f"{self.name}_known"] = f"count({columns[0]})"
        groups = self._aggregate(right, keys, counts)
        source = self._join(self.source, groups, "left", on)
        names = {"n": self._column(f"{self.name}_n")}
        if not values:
            return source, _parse("coalesce(n, 0) > 0", **names)
        hits = self._aggregate(right, [*keys, columns[0]], {f"{self.name}_hit": "count(*)"})
        renamed = {name: f"{name}_of_hit" for name in (*keys, columns[0])}
        hits = self._renamed(hits, renamed)
        other = replace(self, name=f"{self.name}_hits")
        own = [*on, self._equal(values[0], columns[0])]
        moved = [_map_columns(item, lambda c: other._moved(c, self.name, renamed)) for item in own]
        source = other._join(source, hits, "left", moved)
        names |= {"known": self._column(f"{self.name}_known"), "x": values[0]}
        names["hit"] = other._column(f"{self.name}_hit")
        return source, _parse(_IN, **names)

    def scalar(self) -> tuple[Source, exp.Expr]:
        """Return the query joined with the only row of the subquery, and the column of its value."""
        from sqlglot import expressions as exp

        query = self.query
        if not isinstance(query, exp.Select) or len(query.expressions) != 1:
            raise refuse(self.place, "a scalar subquery selects one column", "such as SELECT max(price)")
        item = query.expressions[0].unalias()
        if query.args.get("group") is not None or not any(map(is_aggregate, item.walk())):
            what = "a scalar subquery can have several rows"
            raise refuse(self.place, what, "aggregate it, such as SELECT max(price) FROM ...")
        inner, inner_source, correlation = self._open(query)
        if correlation.others:
            what = "a scalar subquery is correlated by equal columns only"
            raise refuse(self.place, what, "compare columns with =, or join and group in FROM")
        keys = {f"{self.name}_key{n + 1}": node for n, (_, node) in enumerate(correlation.equal)}
        value = f"{self.name}_value"
        clone = query.copy()
        named = [*keys.items(), (value, query.expressions[0].unalias().copy())]
        clone.set("expressions", [exp.alias_(node.copy(), name) for name, node in named])
        if keys:
            clone.set("group", exp.Group(expressions=[node.copy() for node in keys.values()]))
        right = replace(inner.select(clone, inner_source, Emit()), hidden=True)
        on = [self._equal(outer, name) for (outer, _), name in zip(correlation.equal, keys, strict=True)]
        source = self._join(self.source, right, "left", on)
        column = self._column(value)
        # Without rows a count is 0, and every other aggregate null.
        is_count = isinstance(item, exp.Count | exp.CountIf)
        return source, _parse("coalesce(x, 0)", x=column) if is_count else column

    def _rows(self, values: int, *, equal_only: bool = False) -> tuple[Relation, list[str], list[exp.Expr]]:
        """Add the rows of the subquery: its values, and what its correlated conditions compare.

        Returns:
            The relation, the columns of the values, and the conditions over both sides.
        """
        from sqlglot import expressions as exp

        query = self.query
        if not isinstance(query, exp.Select) or _is_grouped(query):
            relation = self.builder.inner(self._inner_name(), query)
            return self._whole(relation, values)
        inner, source, correlation = self._open(query)
        if equal_only and correlation.others:
            what = "this subquery is correlated by equal columns only"
            raise refuse(self.place, what, "compare columns with =, or write the condition with AND in WHERE")
        items: dict[str, exp.Expr] = {}
        names: list[str] = []
        for item in query.expressions if values else ():
            if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and item.is_star):
                raise refuse(self.place, "IN compares named columns", "select the column instead of *")
            names.append(f"{self.name}_value{len(names) + 1}")
            items[names[-1]] = item.unalias()
        on: list[exp.Expr] = []
        for outer, node in correlation.equal:
            name = f"{self.name}_key{len(on) + 1}"
            items[name] = node
            on.append(self._equal(outer, name))
        for condition in correlation.others:
            on.append(_map_columns(condition, lambda c: self._added(c, source.scope, items)))
        selected = {name: Placed(source.scope.text(node), self.place) for name, node in items.items()}
        entry: dict[str, Any] = {"from": source.relation.ref}
        if source.where:
            entry["where"] = inner.all_of(source.scope, source.where)
        entry["select"] = {**(selected or {f"{self.name}_one": "1"})}
        if source.relation.marked:
            entry["select"][CHANGE] = CHANGE
        self.builder.queries.add(inner.name, self.place, entry)
        columns = tuple(name for name in entry["select"] if name != CHANGE)
        relation = replace(source.relation, ref=inner.name, columns=columns, formulas={}, times=(), clock=())
        relation = replace(relation, bounds=windows.selected_bounds(relation.bounds, selected.items()))
        return replace(relation, windowed=False, hidden=True, key=(), side_outputs={}), names, on

    def _whole(self, relation: Relation, values: int) -> tuple[Relation, list[str], list[exp.Expr]]:
        """Return the rows of a subquery that is not correlated, under names of their own."""
        if relation.columns is None:
            raise refuse(self.place, "the columns of the subquery are not known", "name them in SELECT")
        renamed = {name: f"{self.name}_value{n + 1}" for n, name in enumerate(relation.visible())}
        plain = self._renamed(relation, renamed)
        return replace(plain, hidden=True), list(renamed.values()) if values else [], []

    def _open(self, query: exp.Select) -> tuple[SelectBuilder, Source, _Correlation]:
        """Return the builder of the subquery, what it reads, and the conditions about the outer query."""
        from sqlglot import expressions as exp

        inner = self.builder.within(self._inner_name())
        source = windows.assign_source(inner, inner.from_clause(query))
        own: list[exp.Expr] = []
        equal: list[tuple[exp.Expr, exp.Expr]] = []
        others: list[exp.Expr] = []
        for condition in source.where:
            columns = list(_columns(condition))
            if all(map(source.scope.knows, columns)):
                own.append(condition)
            elif isinstance(condition, exp.EQ) and (pair := self._sides(condition, source.scope)) is not None:
                equal.append(pair)
            else:
                others.append(condition)
        return inner, replace(source, where=own), _Correlation(tuple(equal), tuple(others))

    def _sides(self, condition: exp.Binary, scope: Scope) -> tuple[exp.Expr, exp.Expr] | None:
        """Return the outer and the inner side of a comparison; None if a side has columns of both."""
        for outer, inner in ((condition.left, condition.right), (condition.right, condition.left)):
            of_outer, of_inner = list(_columns(outer)), list(_columns(inner))
            if of_inner and all(map(scope.knows, of_inner)) and not any(map(scope.knows, of_outer)):
                return outer, inner
        return None

    def _added(self, column: exp.Column, scope: Scope, items: dict[str, exp.Expr]) -> exp.Expr:
        """Return a column of a condition over both sides; one of the subquery is added to its rows."""
        if not scope.knows(column):
            return column
        name = next((known for known, item in items.items() if item == column), "")
        if not name:
            name = f"{self.name}_column{len(items) + 1}"
            items[name] = column.copy()
        return self._column(name)

    def _moved(self, column: exp.Column, table: str, names: Mapping[str, str]) -> exp.Expr:
        return self._column(names[column.name]) if column.table == table else column

    def _aggregate(self, relation: Relation, keys: list[str], aggregates: Mapping[str, str]) -> Relation:
        step = self.builder.draft.new_name(self.builder.name, "aggregate")
        key_by: dict[str, Any] = {"key_by": keys} if keys else {}
        entry = {"from": relation.ref, **key_by, "aggregate": dict(aggregates)}
        self.builder.queries.add(step, self.place, entry)
        columns = (*keys, *aggregates)
        return Relation(step, columns, changes="table", key=tuple(keys), hidden=True)

    def _renamed(self, relation: Relation, names: Mapping[str, str]) -> Relation:
        scope = Scope.of("", relation, self.place)
        selected = {names.get(name, name): text for name, text in scope_items(relation, scope)}
        marked = {CHANGE: CHANGE} if relation.marked else {}
        step = self.builder.draft.new_name(self.builder.name, "select")
        self.builder.queries.add(step, self.place, {"from": relation.ref, "select": {**selected, **marked}})
        bounds = windows.selected_bounds(relation.bounds, selected.items())
        plain = replace(relation, ref=step, columns=tuple(selected), formulas={}, windowed=False)
        return replace(plain, times=(), key=(), bounds=bounds)

    def _join(self, source: Source, right: Relation, side: str, on: list[exp.Expr]) -> Source:
        return live_join(self.builder, source, self.name, right, side=side, on=on, place=self.place)

    def _equal(self, outer: exp.Expr, column: str) -> exp.Expr:
        from sqlglot import expressions as exp

        return exp.EQ(this=outer.copy(), expression=self._column(column))

    def _column(self, name: str) -> exp.Expr:
        from sqlglot import expressions as exp

        return exp.column(name, self.name)

    def _inner_name(self) -> str:
        return self.builder.draft.new_name(self.builder.name, "subquery")


def scope_items(relation: Relation, scope: Scope) -> list[tuple[str, str]]:
    """Return the columns of a relation with their expressions."""
    return [(name, relation.find(name) or name) for name in relation.visible()]


def _join_value(builder: SelectBuilder, source: Source, node: exp.Expr) -> tuple[Source, exp.Expr]:
    """Return the query joined with a subquery, and the expression that takes its place."""
    test = _Test.of(node)
    if test is None:
        return _Subquery.of(builder, source, _query_of(node)).scalar()
    source, value = _Subquery.of(builder, source, test.query).counted(test.values)
    return source, value


def _subqueries(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the outermost tests and scalar subqueries of an expression."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.In) and node.args.get("query") is not None:
        yield from _subqueries(node.this)
        yield node
        return
    if isinstance(node, exp.Exists | exp.Subquery):
        yield node
        return
    for child in node.iter_expressions():
        yield from _subqueries(child)


def _is_grouped(query: exp.Select) -> bool:
    names = ("group", "having", "distinct", "limit", "order", "qualify")
    return any(query.args.get(name) is not None for name in names) or any(
        is_aggregate(part) for item in query.expressions for part in item.walk()
    )


def _columns(node: exp.Expr) -> Iterator[exp.Column]:
    from sqlglot import expressions as exp

    yield from (column for column in node.find_all(exp.Column) if not column.is_star)


def _map_columns(node: exp.Expr, change: Any) -> exp.Expr:
    from sqlglot import expressions as exp

    def transform(part: exp.Expr) -> exp.Expr:
        return change(part) if isinstance(part, exp.Column) else part

    return node.copy().transform(transform)


def _replace(tree: exp.Expr, part: exp.Expr, by: exp.Expr) -> exp.Expr:
    """Return a tree with another part."""
    if tree is part:
        return by
    part.replace(by)
    return tree


def _all(conditions: list[exp.Expr]) -> exp.Expr:
    from sqlglot import expressions as exp

    return exp.and_(*conditions, copy=True)


def _parse(text: str, **parts: exp.Expr) -> exp.Expr:
    """Return an expression with parts in place of its column names."""
    from sqlglot import parse_one

    return _map_columns(parse_one(text, dialect="spark"), lambda c: parts[c.name].copy())
