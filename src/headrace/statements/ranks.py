"""Top-N, de-duplication, `LIMIT` and `ORDER BY` the event time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.sql.shape import is_aggregate
from headrace.statements import windows
from headrace.statements.declarations import Placed
from headrace.statements.draft import refuse
from headrace.statements.relations import Relation, quote
from headrace.statements.syntax import Emit
from headrace.steps.tables.top_n import RANK

if TYPE_CHECKING:
    from sqlglot import expressions as exp

    from headrace.statements.joins import Source
    from headrace.statements.queries import SelectBuilder

_EVERYTHING = "everything"
"""The key of a top-N over all rows."""
_SORTED = "sorted_rows"
"""A column of the step that sorts rows, which the query does not select."""
ARRIVAL = "0"
"""An order in which all rows are equal: the first ones to arrive are first."""
_ORDER_HINT = "keep the first rows: ORDER BY ... LIMIT n, or ROW_NUMBER() OVER (...) <= n"


@dataclass(frozen=True)
class Ranked:
    """`SELECT ... FROM (SELECT ..., ROW_NUMBER() OVER (...) AS rank FROM ...) WHERE rank <= n`."""

    inner: exp.Select
    rank: str
    window: exp.Window
    n: int
    others: tuple[exp.Expr, ...]
    first: int = 1
    """The lowest rank that is selected."""

    @property
    def ties(self) -> str:
        """How equal rows are ranked: `rows`, `rank` or `dense_rank`."""
        from sqlglot import expressions as exp

        kinds = {exp.RowNumber: "rows", exp.Rank: "rank", exp.DenseRank: "dense_rank"}
        return kinds[type(self.window.this)]


def find_ranked(tree: exp.Select) -> Ranked | None:
    """Return the parts of a top-N query; None if it is another query."""
    from sqlglot import expressions as exp

    from headrace.statements.joins import conditions_of

    clause = tree.args.get("from_")
    inner = clause.this.this if clause is not None and isinstance(clause.this, exp.Subquery) else None
    if not isinstance(inner, exp.Select) or tree.args.get("joins"):
        return None
    ranks = {item.alias.lower(): item for item in inner.expressions if _is_rank(item)}
    first, rank = 1, ""
    last: int | None = None
    others = []
    for condition in conditions_of(tree):
        name, low, high = _bounds(condition)
        if name not in ranks or (rank and name != rank):
            others.append(condition)
            continue
        rank, first = name, max(first, low)
        if high is not None:
            last = high if last is None else min(last, high)
    if last is None:
        return None
    return Ranked(inner, ranks[rank].alias, ranks[rank].this, last, tuple(others), first)


def _is_rank(item: exp.Expr) -> bool:
    from sqlglot import expressions as exp

    kinds = (exp.RowNumber, exp.Rank, exp.DenseRank)
    return (
        isinstance(item, exp.Alias)
        and isinstance(item.this, exp.Window)
        and isinstance(item.this.this, kinds)
    )


def _bounds(condition: exp.Expr) -> tuple[str, int, int | None]:
    """Return a column with its lowest and highest value in a condition; None for no highest value."""
    from sqlglot import expressions as exp

    nothing = ("", 1, None)
    if isinstance(condition, exp.Between):
        lowest, highest = _number(condition.args["low"]), _number(condition.args["high"])
        if not isinstance(condition.this, exp.Column) or lowest is None or highest is None:
            return nothing
        return condition.this.name.lower(), lowest, highest
    kinds = {exp.LTE: exp.GTE, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.GT: exp.LT, exp.EQ: exp.EQ}
    kind: Any = type(condition)
    if kind not in kinds:
        return nothing
    column, value = condition.left, condition.right  # type: ignore[attr-defined]
    if isinstance(value, exp.Column):
        column, value, kind = value, column, kinds[kind]
    number = _number(value)
    if not isinstance(column, exp.Column) or number is None:
        return nothing
    low = {exp.GTE: number, exp.GT: number + 1, exp.EQ: number}.get(kind, 1)
    high = {exp.LTE: number, exp.LT: number - 1, exp.EQ: number}.get(kind)
    return column.name.lower(), low, high


def _number(node: exp.Expr) -> int | None:
    from sqlglot import expressions as exp

    return int(node.name) if isinstance(node, exp.Literal) and node.name.isdigit() else None


def build(builder: SelectBuilder, tree: exp.Select, ranked: Ranked) -> Relation:
    """Add the steps of a top-N query."""
    from sqlglot import expressions as exp

    from headrace.statements.joins import Source

    order = ranked.window.args.get("order")
    function = type(ranked.window.this).__name__
    name = {"RowNumber": "ROW_NUMBER", "Rank": "RANK", "DenseRank": "DENSE_RANK"}[function]
    if order is None:
        raise refuse(builder.where, f"{name}() needs ORDER BY", "such as ORDER BY amount DESC")
    partition = ranked.window.args.get("partition_by") or []
    compared = [*partition, *(item.this for item in order.expressions)]
    rows = _Input.of(builder, ranked.inner, ranked.rank, compared)
    source = rows.source
    keys = {_name(part, number): rows.text(part) for number, part in enumerate(partition)}
    others = list(ranked.others)
    if ranked.first > 1:
        lowest = exp.Literal.number(ranked.first)
        others.append(exp.GTE(this=exp.column(ranked.rank), expression=lowest))
    if (carried := windows.attached(source.relation, keys.values())) is not None:
        if ranked.ties != "rows":
            what = f"{name}() in windows is not supported"
            raise refuse(builder.where, what, "use ROW_NUMBER(), with further columns in ORDER BY")
        own = {name: text for name, text in keys.items() if text not in carried[1]}
        entry = {
            "window": carried[0],
            "top_n": {"n": ranked.n, "order_by": Placed(_order_by(rows, order), builder.where)},
        }
        first = _first_of_windows(builder, ranked.rank, source, own, entry)
        if rows.hidden:
            shown = tuple(name for name in first.columns or () if name not in rows.hidden.values())
            first = replace(first, columns=shown)
        outer = Source.of(tree.args["from_"].this.alias or "", first, builder.where)
        return builder.select(tree, replace(outer, where=others), Emit())
    first = _deduplicated(builder, ranked, rows, order, keys) or _top_n(
        builder, rows, _order(builder, rows, order, ranked), ranked.n, keys, ties=ranked.ties
    )
    table = rows.named(first, ranked.rank)
    outer = Source.of(tree.args["from_"].this.alias or "", table, builder.where)
    return builder.select(tree, replace(outer, where=others), Emit())


@dataclass(frozen=True)
class _Input:
    """The rows that are ranked, and the columns that the query selects from them."""

    source: Source
    columns: Mapping[str, str]
    """The selected columns with their expressions over the rows; `rank` is computed by the step."""
    query: exp.Select | None = None
    """The query that computes the rows, if its columns are those of the rows."""
    hidden: Mapping[exp.Expr, str] = field(default_factory=dict)
    """What only the rank compares, with the names of its columns, which the query does not select."""
    by_alias: bool = False
    """True for `ORDER BY` of the query itself, whose names are first of all those of `SELECT`."""

    @classmethod
    def of(
        cls, builder: SelectBuilder, inner: exp.Select, rank: str = "", compared: Iterable[exp.Expr] = ()
    ) -> _Input:
        """Add the steps before a rank; their rows have what the rank compares, if it is not selected."""
        from sqlglot import expressions as exp

        from headrace.statements.joins import Source

        if _reads_one(builder, inner):
            source = builder.from_clause(inner)
            columns: dict[str, str] = {}
            for item in inner.expressions:
                if _is_rank(item):
                    columns[item.alias] = RANK
                    continue
                part = exp.Select(expressions=[item.copy()])
                columns |= {name: str(text) for name, text in builder.items(part, source.scope)}
            return cls(source, columns)
        plain = inner.copy()
        plain.set("expressions", [item for item in plain.expressions if not _is_rank(item)])
        hidden = _hidden(plain, compared)
        added = [exp.alias_(node.copy(), name, quoted=True) for node, name in hidden.items()]
        plain.set("expressions", [*plain.expressions, *added])
        relation = builder.inner(builder.draft.new_name(builder.name, "query"), plain)
        columns = {name: quote(name) for name in relation.columns or () if name not in hidden.values()}
        columns |= {rank: RANK} if rank else {}
        return cls(Source.of("", relation, builder.where), columns, plain, hidden)

    def text(self, node: exp.Expr) -> str:
        """Return an expression over the rows; it can name columns that the query computes."""
        from sqlglot import expressions as exp

        if node in self.hidden:
            return quote(self.hidden[node])

        def replace_part(part: exp.Expr) -> str | None:
            if not isinstance(part, exp.Column) or part.table:
                return None
            if not self.by_alias and self.source.relation.find(part.name):
                return None
            return next(
                (text for name, text in self.columns.items() if name.lower() == part.name.lower()), None
            )

        rows = node if self.query is None else _of_rows(self.query, node, by_alias=self.by_alias)
        return self.source.scope.text(rows, replace_part)

    def named(self, relation: Relation, rank: str = "") -> Relation:
        """Return the relation of a step over the rows with the columns of the query."""
        formulas = {name: relation.formulas.get(text, text) for name, text in self.columns.items()}
        names = {text: name for name, text in reversed(list(self.columns.items()))}
        key = tuple(names.get(quote(column), names.get(column, "")) for column in relation.key)
        times = tuple(names[quote(time)] for time in relation.times if quote(time) in names)
        return replace(
            relation,
            columns=tuple(self.columns),
            formulas=formulas,
            times=times,
            key=key if all(key) else (),
        )


def _hidden(query: exp.Select, compared: Iterable[exp.Expr]) -> dict[exp.Expr, str]:
    """Return what a rank compares and a query does not select, with a name for each expression."""
    from sqlglot import expressions as exp

    if query.args.get("distinct") is not None or any(item.is_star for item in query.expressions):
        return {}
    taken = {item.alias_or_name.lower() for item in query.expressions}
    selected = {item.unalias() for item in query.expressions}
    hidden: dict[exp.Expr, str] = {}
    for node in compared:
        columns = list(node.find_all(exp.Column))
        named = all(c in selected or (not c.table and c.name.lower() in taken) for c in columns)
        if named and not any(map(is_aggregate, node.walk())):
            continue
        name = node.name if isinstance(node, exp.Column) else ""
        while not name or name.lower() in taken:
            name = f"{name or 'compared'}_{len(hidden) + 1}"
        hidden[node] = name
        taken.add(name.lower())
    return hidden


def _reads_one(builder: SelectBuilder, inner: exp.Select) -> bool:
    """Return True if a query selects columns of one relation, without windows, groups or subqueries."""
    from sqlglot import expressions as exp

    from headrace.statements.joins import has_subquery

    if any(
        inner.args.get(key) for key in ("joins", "laterals", "group", "distinct", "order", "limit", "having")
    ):
        return False
    others = [item for item in inner.expressions if not _is_rank(item)]
    if any(item.find(exp.Window) or any(map(is_aggregate, item.walk())) for item in others):
        return False
    where = inner.args.get("where")
    if any(map(has_subquery, [*others, *([where.this] if where is not None else [])])):
        return False
    table = inner.args["from_"].this if inner.args.get("from_") is not None else None
    if not isinstance(table, exp.Table) or isinstance(table.this, exp.Func) or table.alias_column_names:
        return False
    relation = builder.table(table)
    return relation.columns is not None and relation.window is None and not relation.bounds


def _entry(builder: SelectBuilder, rows: _Input) -> dict[str, Any]:
    """Return the entry of a step that reads the rows."""
    entry: dict[str, Any] = {"from": rows.source.relation.ref}
    if rows.source.where:
        entry["where"] = builder.all_of(rows.source.scope, rows.source.where)
    return entry


def _deduplicated(
    builder: SelectBuilder, ranked: Ranked, rows: _Input, order: exp.Order, keys: dict[str, str]
) -> Relation | None:
    """Add the step that keeps the first or the last row of each key by time; None for another order."""
    from sqlglot import expressions as exp

    relation, item = rows.source.relation, order.expressions[0]
    column = item.this
    if ranked.n != 1 or len(order.expressions) > 1 or not isinstance(column, exp.Column):
        return None
    by_clock, by_time = relation.is_clock(column.name), relation.is_time(column.name)
    if relation.changes == "table" or ranked.ties != "rows" or not (by_clock or by_time):
        return None
    descending = bool(item.args.get("desc"))
    plain = all(quote(name) == text for name, text in keys.items())
    step = builder.draft.new_name(builder.name, "latest" if descending else "distinct")
    entry = _entry(builder, rows)
    if descending:
        order_of = {"order": "arrival"} if by_clock and relation.times else {}
        builder.queries.add(
            step, builder.where, {**entry, "key_by": keys or {_EVERYTHING: "1"}, "latest": order_of}
        )
        outputs = {} if by_clock else {"late": step}
        return replace(
            relation,
            ref=step,
            changes="table",
            marked=True,
            key=tuple(keys),
            formulas={RANK: "1"},
            side_outputs=outputs,
        )
    if not by_clock or not keys or not plain:
        return None
    builder.queries.add(step, builder.where, {**entry, "distinct": {"on": list(keys)}})
    return replace(relation, ref=step, formulas={RANK: "1"}, key=tuple(keys), side_outputs={})


def _order(builder: SelectBuilder, rows: _Input, order: exp.Order, ranked: Ranked | None = None) -> str:
    """Return the text of `ORDER BY`; rows in the order of processing time are in the order of arrival."""
    from sqlglot import expressions as exp

    clocks = [
        item
        for item in order.expressions
        if isinstance(item.this, exp.Column) and rows.source.relation.is_clock(item.this.name)
    ]
    if not clocks:
        return _order_by(rows, order)
    tied = ranked is not None and ranked.ties != "rows"
    if len(order.expressions) > 1 or clocks[0].args.get("desc") or tied:
        raise refuse(
            builder.where,
            "rows are ranked by processing time only in ascending order, with ROW_NUMBER()",
            "keep the last row of each key with ROW_NUMBER() ... = 1, or rank by the event time",
        )
    return ARRIVAL


def _first_of_windows(
    builder: SelectBuilder,
    rank: str,
    source: Source,
    own: Mapping[str, str],
    window: Mapping[str, Any],
) -> Relation:
    """Add the step that emits the first rows of each window when it closes."""
    relation = source.relation
    step = builder.draft.new_name(builder.name, "top_n")
    entry: dict[str, Any] = {"from": relation.ref, **({"key_by": own} if own else {}), **window}
    builder.queries.add(step, builder.where, entry)
    columns = relation.columns
    return replace(
        relation,
        ref=step,
        columns=None if columns is None else tuple(dict.fromkeys((*own, *columns))),
        formulas={**relation.formulas, rank: "rank"},
        changes="none",
        side_outputs={"late": step},
    )


def _order_by(rows: _Input, order: exp.Order) -> str:
    """Return the text of `ORDER BY`, with nulls where the query has them first or last."""
    items = []
    for item in order.expressions:
        descending, nulls_first = bool(item.args.get("desc")), item.args.get("nulls_first")
        direction = " desc" if descending else ""
        if nulls_first is not None and bool(nulls_first) == descending:  # not the default of Spark
            direction += " nulls first" if nulls_first else " nulls last"
        items.append(f"{rows.text(item.this)}{direction}")
    return ", ".join(items)


def _of_rows(query: exp.Select, node: exp.Expr, *, by_alias: bool) -> Any:
    """Return an expression over the inputs of a query as one over the columns that it selects of them."""
    from sqlglot import expressions as exp

    aliases = {item.alias_or_name.lower() for item in query.expressions} if by_alias else set()
    selected = {item.unalias(): item.alias_or_name for item in query.expressions}
    stars = {
        item.table.lower() if isinstance(item, exp.Column) else ""
        for item in query.expressions
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and item.is_star)
    }

    def transform(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column) or (not part.table and part.name.lower() in aliases):
            return part
        if part in selected:
            return exp.column(selected[part])
        if not part.table:
            return part
        return exp.column(part.name) if stars & {"", part.table.lower()} else part

    return node.copy().transform(transform)


def build_ordered(builder: SelectBuilder, tree: exp.Select) -> Relation:
    """Add the steps of `ORDER BY ... LIMIT n OFFSET m`, or of `ORDER BY` the event time."""
    from sqlglot import expressions as exp

    from headrace.statements.joins import Source

    order, n = _named_order(builder, tree), _limit(tree)
    offset = tree.args.get("offset")
    skipped = _number(offset.expression) if offset is not None else 0
    plain = tree.copy()
    for key in ("order", "limit", "offset"):
        plain.set(key, None)
    if n is None and tree.args.get("limit") is None and offset is None and order is not None:
        return _sorted_by_time(builder, plain, order)
    if n is None or skipped is None:
        raise refuse(builder.where, "a stream has no end, so its rows cannot be sorted", _ORDER_HINT)
    compared = [item.this for item in order.expressions] if order is not None else []
    rows = replace(_Input.of(builder, plain, compared=compared), by_alias=True)
    if rows.source.relation.columns is None:
        raise refuse(builder.where, "top-N needs a query with known columns", "name the columns")
    order_by = _order(builder, rows, order) if order is not None else ARRIVAL
    step = _top_n(builder, rows, order_by, n + skipped, {})
    table = replace(rows.named(step), formulas={**rows.named(step).formulas, RANK: RANK})
    final = exp.Select(expressions=[exp.column(name, quoted=True) for name in rows.columns])
    where: list[exp.Expr] = (
        [exp.GT(this=exp.column(RANK), expression=exp.Literal.number(skipped))] if skipped else []
    )
    source = replace(Source.of("", table, builder.where), where=where)
    return replace(builder.select(final, source, Emit()), key=())


def _named_order(builder: SelectBuilder, tree: exp.Select) -> exp.Order | None:
    """Return `ORDER BY` with the selected expressions in place of their positions: `ORDER BY 2 DESC`."""
    from sqlglot import expressions as exp

    clause: exp.Order | None = tree.args.get("order")
    if clause is None:
        return None
    order = clause.copy()
    for item in order.expressions:
        number = _number(item.this)
        if number is None:
            continue
        selected = tree.expressions[number - 1] if 0 < number <= len(tree.expressions) else None
        if selected is None or any(each.is_star for each in tree.expressions):
            what = f"ORDER BY {number} is not the position of a selected column"
            raise refuse(builder.where, what, "write the name of the column")
        name = exp.column(selected.alias, quoted=True) if selected.alias else selected.copy()
        item.set("this", name)
    return order


def _sorted_by_time(builder: SelectBuilder, plain: exp.Select, order: exp.Order) -> Relation:
    """Add the step that emits rows in the order of event time when the watermark passes them.

    The kernel's step of `over` emits them so; its other columns of ORDER BY order rows of equal time. Rows in
    the order of processing time are as they arrive.
    """
    from sqlglot import expressions as exp

    from headrace.statements.joins import Source

    first, rows = order.expressions[0], _Input.of(builder, plain)
    relation, column = rows.source.relation, first.this
    by_column = isinstance(column, exp.Column) and not first.args.get("desc") and relation.changes == "none"
    if by_column and relation.is_clock(column.name):
        return builder.select(plain, rows.source, Emit())
    if not by_column or not relation.is_time(column.name):
        raise refuse(builder.where, "a stream has no end, so its rows cannot be sorted", _ORDER_HINT)
    step = builder.draft.new_name(builder.name, "over")
    entry = _entry(builder, rows)
    entry["over"] = {"order_by": Placed(_order_by(rows, order), builder.where), "rows": 0}
    builder.queries.add(step, builder.where, {**entry, "aggregate": {_SORTED: "count(*)"}})
    table = rows.named(replace(relation, ref=step, formulas={}, side_outputs={"late": step}))
    final = exp.Select(expressions=[exp.column(name, quoted=True) for name in rows.columns])
    return builder.select(final, Source.of("", table, builder.where), Emit())


def _limit(tree: exp.Select) -> int | None:
    """Return the number of rows of `LIMIT n` or `FETCH FIRST n ROWS ONLY`; None if it is no number."""
    from sqlglot import expressions as exp

    limit = tree.args.get("limit")
    if isinstance(limit, exp.Fetch):
        count = limit.args.get("count")
        return _number(count) if count is not None else 1
    return _number(limit.expression) if isinstance(limit, exp.Limit) else None


def _top_n(
    builder: SelectBuilder, rows: _Input, order_by: str, n: int, keys: dict[str, str], *, ties: str = "rows"
) -> Relation:
    """Add the step that keeps the first rows of each key; return its relation."""
    relation = rows.source.relation
    if relation.columns is None:
        raise refuse(builder.where, "top-N needs a query with known columns", "name the columns")
    if n < 1:
        raise refuse(builder.where, "no row has a rank below 1", "such as rank <= 3")
    step = builder.draft.new_name(builder.name, "top_n")
    entry: dict[str, Any] = {**_entry(builder, rows), "key_by": keys or {_EVERYTHING: "1"}}
    entry["top_n"] = {"n": n, "order_by": Placed(order_by, builder.where)}
    if ties != "rows":
        entry["top_n"]["ties"] = ties
    builder.queries.add(step, builder.where, entry)
    key = () if ties != "rows" else (*keys, RANK) if n > 1 else tuple(keys)
    return replace(
        relation,
        ref=step,
        formulas={RANK: RANK},
        changes="table",
        marked=True,
        key=key,
        times=(),
        side_outputs={},
    )


def _name(node: exp.Expr, number: int) -> str:
    from sqlglot import expressions as exp

    return str(node.name) if isinstance(node, exp.Column) else f"key{number + 1}"
