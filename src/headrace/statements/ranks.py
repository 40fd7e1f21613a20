"""Top-N, de-duplication and `ORDER BY ... LIMIT`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.statements import windows
from headrace.statements.declarations import Placed
from headrace.statements.draft import refuse
from headrace.statements.relations import Relation, quote
from headrace.statements.syntax import Emit
from headrace.steps.facts import CHANGE

if TYPE_CHECKING:
    from sqlglot import expressions as exp

    from headrace.statements.joins import Source
    from headrace.statements.queries import SelectBuilder

_EVERYTHING = "everything"
"""The key of a top-N over all rows."""
_ORDER_HINT = "keep the first rows: ORDER BY ... LIMIT n, or ROW_NUMBER() OVER (...) <= n"


@dataclass(frozen=True)
class Ranked:
    """`SELECT ... FROM (SELECT ..., ROW_NUMBER() OVER (...) AS rank FROM ...) WHERE rank <= n`."""

    inner: exp.Select
    rank: str
    window: exp.Window
    n: int
    others: tuple[exp.Expr, ...]


def find_ranked(tree: exp.Select) -> Ranked | None:
    """Return the parts of a top-N query; None if it is another query."""
    from sqlglot import expressions as exp

    from headrace.statements.joins import conditions_of

    clause = tree.args.get("from_")
    inner = clause.this.this if clause is not None and isinstance(clause.this, exp.Subquery) else None
    if not isinstance(inner, exp.Select) or tree.args.get("joins"):
        return None
    ranks = {
        item.alias.lower(): item.this
        for item in inner.expressions
        if isinstance(item, exp.Alias)
        and isinstance(item.this, exp.Window)
        and isinstance(item.this.this, exp.RowNumber)
    }
    for condition in (conditions := conditions_of(tree)):
        if not isinstance(condition, exp.LTE | exp.LT | exp.EQ):
            continue
        column, limit = condition.left, condition.right
        if isinstance(column, exp.Column) and column.name.lower() in ranks and isinstance(limit, exp.Literal):
            n = int(limit.name) - (1 if isinstance(condition, exp.LT) else 0)
            if isinstance(condition, exp.EQ) and n != 1:
                continue
            others = tuple(other for other in conditions if other is not condition)
            return Ranked(inner, column.name, ranks[column.name.lower()], n, others)
    return None


def build(builder: SelectBuilder, tree: exp.Select, ranked: Ranked) -> Relation:
    """Add the steps of a top-N query."""
    from sqlglot import expressions as exp

    from headrace.statements.joins import Source

    inner = ranked.inner.copy()
    inner.set(
        "expressions",
        [
            item
            for item in inner.expressions
            if not (isinstance(item, exp.Alias) and isinstance(item.this, exp.Window))
        ],
    )
    partition, order = ranked.window.args.get("partition_by") or [], ranked.window.args.get("order")
    source_name = builder.draft.new_name(builder.name, "query")
    relation = builder.inner(source_name, inner)
    source = Source.of("", relation, builder.where)
    if order is None:
        raise refuse(builder.where, "ROW_NUMBER() needs ORDER BY", "such as ORDER BY amount DESC")
    keys = {_name(part, number): source.scope.text(part) for number, part in enumerate(partition)}
    if (carried := windows.attached(relation, keys.values())) is not None:
        own = {name: text for name, text in keys.items() if text not in carried[1]}
        first = _first_of_windows(builder, ranked, source, own, carried[0])
        outer = Source.of(tree.args["from_"].this.alias or "", first, builder.where)
        return builder.select(tree, replace(outer, where=list(ranked.others)), Emit())
    step, relation = _top_n(builder, source, order, ranked.n, keys)
    columns = tuple(dict.fromkeys((*keys, *(relation.columns or ()))))
    table = Relation(
        step, columns, formulas={ranked.rank: "rank"}, changes="table", key=(*keys, ranked.rank), marked=True
    )
    outer = Source.of(tree.args["from_"].this.alias or "", table, builder.where)
    return builder.project(tree, outer, list(ranked.others))


def _first_of_windows(
    builder: SelectBuilder,
    ranked: Ranked,
    source: Source,
    own: Mapping[str, str],
    window: Mapping[str, Any],
) -> Relation:
    """Add the step that emits the first rows of each window when it closes."""
    relation = source.relation
    step = builder.draft.new_name(builder.name, "top_n")
    entry: dict[str, Any] = {"from": relation.ref, **({"key_by": own} if own else {}), "window": window}
    order = Placed(_order_by(source, ranked.window.args["order"]), builder.where)
    builder.queries.add(step, builder.where, {**entry, "top_n": {"n": ranked.n, "order_by": order}})
    columns = relation.columns
    return replace(
        relation,
        ref=step,
        columns=None if columns is None else tuple(dict.fromkeys((*own, *columns))),
        formulas={**relation.formulas, ranked.rank: "rank"},
        changes="none",
        side_outputs={"late": step},
    )


def _order_by(source: Source, order: exp.Order) -> str:
    """Return the text of `ORDER BY`, with nulls where the query has them first or last."""
    items = []
    for item in order.expressions:
        direction = " desc" if item.args.get("desc") else ""
        items.append(f"{source.scope.text(item.this)}{direction}")
    return ", ".join(items)


def build_ordered(builder: SelectBuilder, tree: exp.Select) -> Relation:
    """Add the steps of `ORDER BY ... LIMIT n`."""
    from sqlglot import expressions as exp

    from headrace.statements.joins import Source

    order, limit = tree.args.get("order"), tree.args.get("limit")
    if order is None:
        raise refuse(builder.where, "LIMIT without ORDER BY has no end over a stream", _ORDER_HINT)
    if not isinstance(limit, exp.Limit) or not limit.expression.name.isdigit():
        raise refuse(builder.where, "a stream has no end, so its rows cannot be sorted", _ORDER_HINT)
    plain = tree.copy()
    plain.set("order", None)
    plain.set("limit", None)
    inner = builder.inner(builder.draft.new_name(builder.name, "query"), plain)
    source = Source.of("", inner, builder.where)
    step, relation = _top_n(builder, source, order, int(limit.expression.name), {})
    columns = relation.columns or ()
    selected = {name: quote(name) for name in (*columns, CHANGE)}
    builder.queries.add(builder.name, builder.where, {"from": step, "select": selected})
    return Relation(builder.name, columns, changes="table", marked=True)


def _top_n(
    builder: SelectBuilder, source: Source, order: exp.Order, n: int, keys: dict[str, str]
) -> tuple[str, Relation]:
    """Add the step that keeps the first rows of each key; return it and its input."""
    relation = source.relation
    if relation.columns is None:
        raise refuse(builder.where, "top-N needs a query with known columns", "name the columns")
    order_by = _order_by(source, order)
    step = builder.draft.new_name(builder.name, "top_n")
    entry: dict[str, Any] = {"from": relation.ref, "key_by": keys or {_EVERYTHING: "1"}}
    entry["top_n"] = {"n": n, "order_by": Placed(order_by, builder.where)}
    builder.queries.add(step, builder.where, entry)
    return step, relation


def _name(node: exp.Expr, number: int) -> str:
    from sqlglot import expressions as exp

    return str(node.name) if isinstance(node, exp.Column) else f"key{number + 1}"
