"""Queries to steps: each clause of a query becomes a key of an entry in the document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.durations import text as duration_text
from headrace.errors import did_you_mean
from headrace.sql.shape import is_aggregate
from headrace.statements import (
    constants,
    functions,
    grouping_sets,
    joins,
    over,
    ranks,
    row_patterns,
    subqueries,
    windows,
)
from headrace.statements.declarations import Placed
from headrace.statements.draft import Draft, refuse
from headrace.statements.foreign_functions import refused_function
from headrace.statements.relations import WINDOW_BOUNDS, WINDOW_FORMULAS, Relation, quote
from headrace.statements.scope import Scope
from headrace.statements.syntax import Emit, Select, parse_query
from headrace.statements.tokens import Script
from headrace.steps.facts import CHANGE

_DEFAULT_DATABASE = ("default_catalog", "default_database")
"""Where Flink has the tables of a script."""
_CLOCK = "current_timestamp()"
"""The value of `PROCTIME()` that a query selects; other queries can order by it, and join at it."""
_GROUP = "use GROUP BY instead"
_IN_BOTH = {"INTERSECT": "{0} > 0 and {1} > 0", "EXCEPT": "{0} > 0 and {1} = 0"}
"""The condition of a result of a set operation, over the numbers of such rows on both sides."""
_ROW_COUNTS = ("row_count", "row_count_2")
_STALE = "a pane that no longer satisfies the condition would leave an earlier one in the results"

if TYPE_CHECKING:
    from sqlglot import expressions as exp
    from sqlglot.tokenizer_core import Token


class QueryBuilder:
    """Turns the queries of a script into entries of its document."""

    def __init__(self, script: Script, draft: Draft, catalog: dict[str, Relation]) -> None:
        self.script = script
        self.draft = draft
        self.catalog = catalog
        self.functions: dict[str, functions.Function] = {}
        """The Python functions that queries can call, by lower-case name."""

    def build(self, name: str, tokens: Iterable[Token], where: str, *, positional: bool = False) -> Relation:
        """Add the steps of a query, the last of which is called `name`.

        With `positional` two columns can have the same name: the second gets another.

        Raises:
            DocumentError: the query has no steps that give its rows; with reason and rewrite.
        """
        tokens, catalog = tuple(tokens), self.catalog
        if row_patterns.is_row_pattern(tokens):
            if row_patterns.is_plain(self, tokens):
                return row_patterns.build(self, name, tokens, where)
            tokens, matches = row_patterns.extract(self, name, tokens)
            catalog = {**catalog, **matches}
        parsed = parse_query(self.script, tokens)
        if (refused := refused_function(parsed.tree)) is not None:
            call, rewrite = refused
            place = Scope.of("", Relation("", ()), where).place_of(call)
            raise refuse(
                place, f"the function `{call.name}` of Azure Stream Analytics is not supported", rewrite
            )
        for column in parsed.times:
            self._check_time(column)
        return self.query(name, parsed, where, catalog, positional=positional)

    def query(
        self,
        name: str,
        query: Select,
        where: str,
        catalog: Mapping[str, Relation],
        *,
        positional: bool = False,
    ) -> Relation:
        """Add the steps of a parsed query."""
        tree, known = query.tree, dict(catalog)
        if (ctes := tree.args.get("with_")) is not None:
            for cte in ctes.expressions:
                inner = self.draft.new_name(name, "with")
                place = Scope.of("", Relation("", ()), where).place_of(cte)
                relation = self.query(inner, replace(query, tree=cte.this, emit=Emit()), place, known)
                if names := cte.alias_column_names:
                    relation = SelectBuilder(self, name, place, known).renamed(relation, names, cte.alias)
                known[cte.alias.lower()] = relation
        builder = SelectBuilder(self, name, where, known, positional=positional)
        return builder.build(tree, query.emit)

    def _check_time(self, column: Placed) -> None:
        """Refuse `TIMESTAMP BY` with a column that is the event time of no stream."""
        if not any(relation.is_time(column.text) for relation in self.catalog.values()):
            hint = f"declare it at the source: WATERMARK FOR {column} AS {column} - INTERVAL '5' SECOND"
            raise refuse(column.where, f"`{column}` is not the event time of a stream", hint)

    def add(self, name: str, where: str, entry: Mapping[str, Any]) -> None:
        self.draft.add("steps", name, where, entry)


class SelectBuilder:
    """The steps of one query."""

    def __init__(
        self,
        queries: QueryBuilder,
        name: str,
        where: str,
        catalog: Mapping[str, Relation],
        *,
        positional: bool = False,
    ) -> None:
        self.queries = queries
        self.positional = positional
        self.draft = queries.draft
        self.name = name
        self.where = where
        self.catalog = catalog

    def build(self, tree: exp.Query, emit: Emit) -> Relation:
        from sqlglot import expressions as exp

        if isinstance(tree, exp.Subquery):
            return self.build(tree.this, emit)
        if isinstance(tree, exp.Union):
            return self._union(tree)
        if isinstance(tree, exp.Intersect | exp.Except):
            return self._set_operation(tree)
        if not isinstance(tree, exp.Select):
            raise refuse(self.where, "expected SELECT", "such as SELECT * FROM tx")
        self._refuse_clauses(tree)
        if (ranked := ranks.find_ranked(tree)) is not None:
            return ranks.build(self, tree, ranked)
        if tree.args.get("order") is not None or tree.args.get("limit") is not None:
            return ranks.build_ordered(self, tree)
        return self.select(tree, self.from_clause(tree), emit)

    # FROM

    def from_clause(self, tree: exp.Select) -> joins.Source:
        """Return the relation that a query reads, with the joins of its `FROM` clause."""
        from sqlglot import expressions as exp

        clause = tree.args.get("from_")
        if clause is None:
            source = joins.Source.of("", constants.one_row(self, tree), self.where)
        elif isinstance(clause.this, exp.Unnest):
            source = joins.Source.of("", Relation(constants.add_row(self), ()), self.where)
            source = joins.explode(self, source, clause.this)
        else:
            source = joins.Source.of(*self.relation(clause.this), self.where)
        functions.check_places(self, tree)
        conditions = joins.conditions_of(tree)
        calling = [condition for condition in conditions if any(functions.calls_of(self, condition))]
        conditions = [condition for condition in conditions if condition not in calling]
        all_joins = tree.args.get("joins") or []
        for number, join in enumerate(all_joins):
            pushes = not any(later.side.upper() in ("RIGHT", "FULL") for later in all_joins[number + 1 :])
            source = joins.build(self, source, join, conditions, pushes=pushes)
        for lateral in tree.args.get("laterals") or ():
            source = joins.explode(self, source, lateral)
        source = replace(source, where=[*conditions, *calling])
        if any(map(joins.has_subquery, [*conditions, *tree.expressions])):
            source = windows.assign_source(self, source)
        return functions.apply(self, tree, subqueries.apply(self, tree, source))

    def relation(self, node: exp.Expr) -> tuple[str, Relation]:
        """Return the name and the relation of an item in `FROM`."""
        from sqlglot import expressions as exp

        if node.alias_column_names:
            return node.alias, self._renamed(node)
        if isinstance(node, exp.Subquery):
            alias = node.alias or "subquery"
            inner = self.draft.new_name(self.name, "query")
            relation = self.queries.query(inner, Select(node.this, Emit(), ()), self.where, self.catalog)
            return alias, relation
        if isinstance(node, exp.Values):
            return node.alias or "values", constants.values(self, node)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Func):
            alias, relation = windows.table_function(self, node.this)
            return node.alias or alias, relation
        if not isinstance(node, exp.Table):
            raise refuse(
                self.where, "this item of FROM cannot be read", "read a source, a view or a subquery"
            )
        return node.alias or node.name, self.table(node)

    def _renamed(self, node: exp.Expr) -> Relation:
        """Return the relation of an item with the names of its columns: `AS t (a, b)`."""
        plain = node.copy()
        plain.args["alias"].set("columns", None)
        _, relation = self.relation(plain)
        return self.renamed(relation, node.alias_column_names, node.alias)

    def renamed(self, relation: Relation, names: list[str], alias: str) -> Relation:
        """Return a relation with other names of its columns."""
        columns = relation.visible()
        if relation.columns is None or len(names) != len(columns):
            what = f"{len(names)} names for {len(columns)} columns of `{alias}`"
            raise refuse(self.where, what, "name the columns in the query")
        renamed = dict(zip(columns, names, strict=True))
        selected = {renamed[column]: relation.find(column) or column for column in columns}
        step = self.draft.new_name(self.name, "select")
        marked = {CHANGE: CHANGE} if relation.marked else {}
        self.queries.add(step, self.where, {"from": relation.ref, "select": {**selected, **marked}})
        return replace(
            relation,
            ref=step,
            columns=tuple(names),
            formulas={},
            times=tuple(renamed[time] for time in relation.times if time in renamed),
            key=tuple(renamed[key] for key in relation.key if key in renamed),
            windowed=False,
            side_outputs={},
        )

    def table(self, node: exp.Table) -> Relation:
        """Return the relation of a name."""
        from sqlglot import expressions as exp

        if (node.catalog.lower(), node.db.lower()) == _DEFAULT_DATABASE:
            node = exp.Table(this=node.this)
        name = f"{node.db}.{node.name}" if node.db else node.name
        relation = next((known for key, known in self.catalog.items() if key == name.lower()), None)
        if relation is not None:
            return relation
        place = self.place_of(node)
        if node.db and (main := self.catalog.get(node.db.lower())) is not None:
            if node.name.lower() not in main.side_outputs:
                outputs = [f"{node.db}.{output}" for output in main.side_outputs]
                raise refuse(place, f"unknown output `{name}`", did_you_mean(name, outputs))
            output = main.side_outputs[node.name.lower()]
            return Relation(output if "." in output else f"{output}.{node.name.lower()}", None)
        raise refuse(place, f"unknown source or view `{name}`", did_you_mean(name, self.catalog))

    # SELECT

    def select(self, tree: exp.Select, source: joins.Source, emit: Emit) -> Relation:
        """Add the steps of the clauses after `FROM`."""
        if not _is_grouped(tree) or windows.reads_bounds(tree, source):
            source = windows.assign_source(self, source)
        if over.has_windows(tree):
            if emit and not emit.changes:
                raise refuse(emit.where, "EMIT needs a window to fire", "remove it from the query with OVER")
            return over.build(self, tree, source)
        entry: dict[str, Any] = {"from": source.relation.ref}
        if source.where and source.relation.replaces:
            raise refuse(self.where, _STALE, "add RETRACTING to EMIT of the view")
        if source.where:
            entry["where"] = self.all_of(source.scope, source.where)
        if _is_grouped(tree):
            return self._aggregate(tree, source, entry, emit)
        if emit and not emit.changes:
            raise refuse(emit.where, "EMIT needs a window to fire", "group by a window, or remove it")
        return self.select_columns(tree, source, entry)

    def select_columns(self, tree: exp.Select, source: joins.Source, entry: dict[str, Any]) -> Relation:
        """Add an entry with the selected columns, or the entries of `SELECT DISTINCT`."""
        relation, scope = source.relation, source.scope
        items = self.items(tree, scope)
        if tree.args.get("distinct") is not None:
            return self._distinct(source, entry, items)
        names = tuple(name for name, _ in items)
        own = [] if relation.formulas else [(name, quote(name)) for name in relation.columns or ()]
        passes_all = own == [(name, str(text)) for name, text in items]
        if not passes_all and items:
            entry["select"] = dict(items) | ({CHANGE: CHANGE} if relation.marked else {})
        if list(entry) == ["from"]:
            entry["where"] = "true"
        self.queries.add(self.name, self.where, entry)
        sources = {str(text): name for name, text in reversed(items)}
        times = tuple(sources[quote(time)] for time in relation.times if quote(time) in sources)
        times += tuple(
            name for name, text in items if str(text) == WINDOW_FORMULAS["window_time"] and relation.windowed
        )
        key = tuple(sources.get(quote(column), "") for column in relation.key)
        return Relation(
            self.name,
            names or None,
            times=times or (relation.times if not items else ()),
            clock=tuple(name for name, text in items if relation.is_clock(name) or str(text) == _CLOCK),
            changes=relation.changes,
            key=key if all(key) else (),
            types={
                name: kind for column, kind in relation.types.items() if (name := sources.get(quote(column)))
            },
            marked=relation.marked,
            labelled=relation.labelled,
            replaces=relation.replaces,
            bounds=windows.selected_bounds(relation.bounds, items),
            side_outputs=relation.side_outputs if relation.ref.startswith(f"{self.name}:") else {},
        )

    def items(self, tree: exp.Select, scope: Scope) -> list[tuple[str, Placed]]:
        """Return names and expressions of the selected columns; empty for all columns of an unknown row."""
        from sqlglot import expressions as exp

        result: list[tuple[str, Placed]] = []
        for number, item in enumerate(tree.expressions):
            place = scope.place_of(item)
            if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and item.is_star):
                table = item.table if isinstance(item, exp.Column) else ""
                left_out = _left_out(item, place)
                result += [
                    (name, Placed(text, place))
                    for name, text in scope.star(table)
                    if name.lower() not in left_out
                ]
                continue
            node = item.this if isinstance(item, exp.Alias) else item
            name = item.alias_or_name if isinstance(item, exp.Alias | exp.Column) else f"col{number + 1}"
            is_clock = isinstance(node, exp.Anonymous) and node.name.lower() == "proctime"
            result.append((name, Placed(_CLOCK if is_clock else scope.text(node), place)))
        if self.positional or ":" in self.name:
            result = _distinct_names(result)
        names = [name.lower() for name, _ in result]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise refuse(
                    result[position][1].where,
                    f"two columns are called `{name}`",
                    "rename one of them with AS",
                )
        return result

    def _distinct(
        self, source: joins.Source, entry: dict[str, Any], items: list[tuple[str, Placed]]
    ) -> Relation:
        relation, names = source.relation, tuple(name for name, _ in items)
        if relation.changes == "table" and not (relation.marked or relation.labelled):
            raise refuse(self.where, "SELECT DISTINCT over panes that change is not supported", _GROUP)
        inner = self.draft.new_name(self.name, "select")
        self.queries.add(inner, self.where, {**entry, "select": dict(items)})
        if relation.changes == "table":
            return self._distinct_rows(inner, names)
        self.queries.add(self.name, self.where, {"from": inner, "distinct": {"on": list(names)}})
        return Relation(self.name, names)

    def _distinct_rows(self, ref: str, names: tuple[str, ...]) -> Relation:
        """Add the steps that keep each different row of a table once, as long as the table has it."""
        grouped = self.draft.new_name(self.name, "aggregate")
        count = next(name for name in _ROW_COUNTS if name not in names)
        entry = {"from": ref, "key_by": list(names), "aggregate": {count: "count(*)"}}
        self.queries.add(grouped, self.where, entry)
        selected = {name: quote(name) for name in names}
        self.queries.add(self.name, self.where, {"from": grouped, "select": selected})
        return Relation(self.name, names, changes="table", key=names, labelled=True)

    # GROUP BY

    def _aggregate(
        self, tree: exp.Select, source: joins.Source, entry: dict[str, Any], emit: Emit
    ) -> Relation:
        grouping = grouping_sets.group(self, tree, source, entry)
        if grouping is not None:
            entry.pop("where", None)  # the steps of the sets have it
        else:
            grouping = windows.Grouping.of(self, tree, source)
        entry["from"] = grouping.ref
        results = _Results(source.scope, grouping)
        selected = results.select(tree)
        having = tree.args.get("having")
        condition = None
        replaces = bool(emit) and emit.mode in ("", "accumulating") and grouping.window is not None
        if having is not None and replaces:
            raise refuse(self.where, _STALE, "add RETRACTING to EMIT")
        if having is not None:
            condition = Placed(results.text(having.this), source.scope.place_of(having.this))
        if not results.aggregates:
            results.aggregates["aggregate1"] = Placed("count(*)", self.where)
        if grouping.keys:
            entry["key_by"] = dict(grouping.keys)
        if grouping.window is not None:
            entry["window"] = grouping.window
        elif emit and not emit.changes:
            raise refuse(emit.where, "EMIT needs a window to fire", "group by a window, or remove it")
        if grouping.window is not None and emit:
            entry["emit"] = self._emit(emit)
        entry["aggregate"] = results.aggregates
        if condition is not None:
            inner = self.draft.new_name(self.name, "aggregate")
            self.queries.add(inner, self.where, entry)
            entry = {"from": inner, "where": condition}
        shown = [(name, quote(name)) for name in (*(key for key, _ in grouping.keys), *results.aggregates)]
        if grouping.window is not None or [(name, str(text)) for name, text in selected.items()] != shown:
            entry["select"] = selected
        self.queries.add(self.name, self.where, entry)
        texts = {str(text): name for name, text in selected.items()}
        key = tuple(texts.get(quote(name), "") for name, _ in grouping.keys)
        times = tuple(name for name, text in selected.items() if str(text) == WINDOW_FORMULAS["window_time"])
        updating = grouping.window is None or bool(emit)
        panes = entry["from"] if condition is not None else self.name
        outputs = {"late": panes} if grouping.window is not None else {}
        return Relation(
            self.name,
            tuple(selected),
            times=times,
            changes="table" if updating else "none",
            key=key if all(key) else (),
            labelled=grouping.window is None,
            replaces=replaces,
            bounds=windows.selected_bounds(WINDOW_BOUNDS, selected.items())
            if grouping.window is not None
            else {},
            side_outputs=outputs,
        )

    def _emit(self, emit: Emit) -> dict[str, Any]:
        entry: dict[str, Any] = {}
        if emit.early is not None:
            entry["early"] = {"every": duration_text(emit.early)}
        elif emit.changes:
            entry["early"] = {"after_count": 1}
        if emit.lateness is not None:
            entry["lateness"] = duration_text(emit.lateness)
        if emit.mode:
            entry["mode"] = emit.mode
        return entry

    # UNION

    def _union(self, tree: exp.Union) -> Relation:
        from sqlglot import expressions as exp

        parts: list[Any] = []
        node: Any = tree
        distinct = False
        while isinstance(node, exp.Union):
            distinct = distinct or bool(node.args.get("distinct"))
            parts.insert(0, node.expression)
            node = node.this
        parts.insert(0, node)
        relations = []
        for part in parts:
            inner = self.draft.new_name(self.name, "query")
            relations.append(self.inner(inner, part))
        first = relations[0]
        if any(each.changes == "table" and not (each.marked or each.labelled) for each in relations):
            what = "UNION of panes that replace earlier ones is not supported"
            raise refuse(self.where, what, "write each query to the sink with an INSERT of its own")
        changes = any(each.changes == "table" for each in relations)
        if any(relation.columns is None for relation in relations):
            raise refuse(
                self.where, "UNION needs queries with known columns", "name the columns instead of *"
            )
        aligned = [self._align(first, first)]
        for relation in relations[1:]:
            if len(relation.columns or ()) != len(first.columns or ()):
                counts = f"{len(first.columns or ())} and {len(relation.columns or ())}"
                raise refuse(self.where, f"the queries of UNION have {counts} columns", "select as many")
            aligned.append(self._align(relation, first))
        name = self.draft.new_name(self.name, "union") if distinct else self.name
        self.queries.add(name, self.where, {"union": aligned, **({} if distinct else {"where": "true"})})
        if distinct and changes:
            return self._distinct_rows(name, first.columns or ())
        if distinct:
            self.queries.add(
                self.name, self.where, {"from": name, "distinct": {"on": list(first.columns or ())}}
            )
        if changes:
            return Relation(self.name, first.columns, changes="table", labelled=True)
        return Relation(self.name, first.columns, times=first.times)

    def _set_operation(self, tree: exp.Intersect | exp.Except) -> Relation:
        """Add the steps of `INTERSECT` and `EXCEPT`, which count the equal rows of each side."""
        kind = type(tree).__name__.upper()
        if not tree.args.get("distinct"):
            hint = f"write {kind}, which has each row once"
            raise refuse(self.where, f"{kind} ALL is not supported", hint)
        sides = []
        for part in (tree.this, tree.expression):
            sides.append(self.inner(self.draft.new_name(self.name, "query"), part))
        names = sides[0].columns or ()
        if any(side.columns is None for side in sides) or len(names) != len(sides[1].columns or ()):
            what = f"the queries of {kind} need known columns, and as many on both sides"
            raise refuse(self.where, what, "name the columns instead of *")
        if any(side.changes == "table" and not (side.marked or side.labelled) for side in sides):
            raise refuse(self.where, f"{kind} of panes that replace earlier ones is not supported", _GROUP)
        counts = [
            next(f"{side}{n}" for n in ("", "_2") if f"{side}{n}" not in names) for side in ("left", "right")
        ]
        parts = [
            self._align(side, sides[0], {name: str(int(at == number)) for at, name in enumerate(counts)})
            for number, side in enumerate(sides)
        ]
        union, grouped = (self.draft.new_name(self.name, verb) for verb in ("union", "aggregate"))
        self.queries.add(union, self.where, {"union": parts, "where": "true"})
        sums = {name: f"sum({quote(name)})" for name in counts}
        self.queries.add(grouped, self.where, {"from": union, "key_by": list(names), "aggregate": sums})
        condition = _IN_BOTH[kind].format(*map(quote, counts))
        entry = {"from": grouped, "where": condition, "select": {name: quote(name) for name in names}}
        self.queries.add(self.name, self.where, entry)
        return Relation(self.name, names, changes="table", key=names, labelled=True)

    def _align(self, relation: Relation, first: Relation, added: Mapping[str, str] | None = None) -> str:
        """Return the output of a query with the columns of the first one, without `change`."""
        if relation.columns == first.columns and not relation.marked and not added:
            return relation.ref
        pairs = zip(first.columns or (), relation.columns or (), strict=True)
        name = self.draft.new_name(self.name, "select")
        selected = {to: quote(of) for to, of in pairs} | dict(added or {})
        self.queries.add(name, self.where, {"from": relation.ref, "select": selected})
        return name

    # Helpers

    def inner(self, name: str, tree: exp.Query) -> Relation:
        """Add the steps of an inner query."""
        return SelectBuilder(self.queries, name, self.where, self.catalog).build(tree, Emit())

    def within(self, name: str) -> SelectBuilder:
        """Return the builder of the steps of an inner query."""
        return SelectBuilder(self.queries, name, self.where, self.catalog)

    def project(self, tree: exp.Select, source: joins.Source, where: list[exp.Expr]) -> Relation:
        """Add the step that selects columns of the rows that satisfy conditions."""
        entry: dict[str, Any] = {"from": source.relation.ref}
        if where:
            entry["where"] = self.all_of(source.scope, where)
        return self.select_columns(tree, source, entry)

    def place_of(self, node: exp.Expr) -> str:
        return Scope.of("", Relation("", ()), self.where).place_of(node)

    def all_of(self, scope: Scope, conditions: list[exp.Expr]) -> Placed:
        texts = [scope.text(condition) for condition in conditions]
        joined = texts[0] if len(texts) == 1 else " and ".join(f"({text})" for text in texts)
        return Placed(joined, scope.place_of(conditions[0]))

    def _refuse_clauses(self, tree: exp.Select) -> None:
        from sqlglot import expressions as exp

        if (part := tree.find(exp.TableSample, exp.Pivot)) is not None:
            raise refuse(self.place_of(part), f"{part.key.upper()} is not supported", "leave it out")
        for key, what in (
            ("fetch", "FETCH"),
            ("qualify", "QUALIFY"),
            ("sort", "SORT BY"),
            ("cluster", "CLUSTER BY"),
        ):
            if tree.args.get(key) is not None:
                raise refuse(self.where, f"{what} is not supported over streams", "use a top-N query")
        having = tree.args.get("having")
        if having is not None and joins.has_subquery(having):
            raise refuse(
                self.place_of(having),
                "a subquery in HAVING is not supported",
                "group in a view, and compare its rows with the subquery in WHERE",
            )


def _left_out(item: exp.Expr, place: str) -> set[str]:
    """Return the columns that `* EXCEPT (a, b)` leaves out, in lower case."""
    star = item if item.args.get("except_") or not item.args.get("this") else item.this
    for clause in ("replace", "rename"):
        if star.args.get(clause):
            raise refuse(place, f"* {clause.upper()} is not supported", "name the columns")
    return {column.name.lower() for column in star.args.get("except_") or ()}


def _distinct_names(items: list[tuple[str, Placed]]) -> list[tuple[str, Placed]]:
    """Return the items with a number after a name that an earlier one has: `id`, `id0`, as in Flink."""
    taken = {name.lower() for name, _ in items}
    seen: set[str] = set()
    result = []
    for name, text in items:
        new, number = name, 0
        while new.lower() in seen or (new != name and new.lower() in taken):
            new, number = f"{name}{number}", number + 1
        seen.add(new.lower())
        result.append((new, text))
    return result


def _is_grouped(tree: exp.Select) -> bool:
    """Return True if a query has `GROUP BY` or selects aggregates."""
    from sqlglot import expressions as exp

    selected = (part for item in tree.expressions for part in item.walk())
    owners = (part.find_ancestor(exp.Window, exp.Query) for part in selected if is_aggregate(part))
    # The aggregates of OVER and of subqueries do not group the rows of this query.
    return tree.args.get("group") is not None or any(owner is None or owner is tree for owner in owners)


class _Results:
    """The selected columns of a grouped query, over its keys and the aggregates that it needs."""

    def __init__(self, scope: Scope, grouping: windows.Grouping) -> None:
        self._scope = scope
        self._grouping = grouping
        self._names: dict[str, str] = {}
        self.aggregates: dict[str, Placed] = {}

    def select(self, tree: exp.Select) -> dict[str, Placed]:
        """Return names and expressions of the selected columns."""
        from sqlglot import expressions as exp

        selected: dict[str, Placed] = {}
        for number, item in enumerate(tree.expressions):
            place = self._scope.place_of(item)
            if isinstance(item, exp.Star):
                raise refuse(place, "SELECT * cannot be grouped", "name the keys and the aggregates")
            node = item.this if isinstance(item, exp.Alias) else item
            name = item.alias_or_name if isinstance(item, exp.Alias | exp.Column) else f"col{number + 1}"
            if name.lower() in (known.lower() for known in selected):
                raise refuse(place, f"two columns are called `{name}`", "rename one of them with AS")
            selected[name] = Placed(self.text(node, name), place)
        return selected

    def text(self, node: exp.Expr, name: str = "") -> str:
        """Return an expression over keys and aggregates; its aggregates are computed by the step before.

        Args:
            node: the expression.
            name: the name of the column, which an aggregate has if the expression is nothing else.
        """
        from sqlglot import expressions as exp

        wrapped = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)

        def replace_part(part: exp.Expr) -> str | None:
            if (formula := self._grouping.formula(part, self._scope)) is not None:
                return formula
            if isinstance(part, wrapped) or is_aggregate(part):
                return self._aggregate(part, name if part.parent is None else "")
            if isinstance(part, exp.Column):
                keys = ", ".join(f"`{key}`" for key, _ in self._grouping.keys) or "none"
                what = f"`{part.sql()}` is neither a key of GROUP BY nor inside an aggregate function"
                raise refuse(self._scope.place_of(part), what, f"the keys: {keys}")
            return None

        return self._scope.text(node, replace_part)

    def _aggregate(self, part: exp.Expr, name: str) -> str:
        text = self._scope.text(part)
        if text not in self._names:
            free = name and not self._grouping.names(name) and name not in self.aggregates
            self._names[text] = name if free else f"aggregate{len(self._names) + 1}"
            self.aggregates[self._names[text]] = Placed(text, self._scope.place_of(part))
        return quote(self._names[text])
