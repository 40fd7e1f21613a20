"""Forms of Spark SQL that cannot be right over streams, each with the steps to use instead.

A query without state runs on each micro-batch, where `limit`, `union` or a subquery would apply to that batch
only. Other forms need the end of the stream, or are rejected by Spark when the query starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from headrace.sql.expression_check import ExpressionFault
from headrace.sql.match_recognize.tokens import position_of, tokens_of
from headrace.sql.shape import QueryShape

if TYPE_CHECKING:
    from sqlglot import expressions as exp

Place = Callable[..., str]
"""Returns the first of alternative words that the query contains, with its position."""

_TOP_N = 'use key_by(...).top_n("first", n=2, order_by="amount desc")'
_SEMI = 'use join(..., how="semi", within="10 minutes"), or join(...) with a table of key_by(...).latest(...)'
_ANTI = 'use join(..., how="anti", within="10 minutes")'
_VERSION = 'use join(..., at="event_time") with a table of key_by(...).latest(...), or join_as_of(...)'
_AGGREGATE = 'use key_by("customer").aggregate("totals", n="count(*)")'
_RANKS = ("rownumber", "rank", "denserank", "percentrank", "cumedist", "ntile")
_NEIGHBOURS = ("lag", "lead", "nthvalue")


def refused_forms(query: str, shape: QueryShape) -> Iterator[ExpressionFault]:
    """Yield the forms in a query that cannot be right over streams.

    >>> from headrace.sql.facts import shape_of
    >>> query = "select id from tx limit 2"
    >>> [fault.problem for fault in refused_forms(query, shape_of(query))]
    ['LIMIT at line 1, column 19: each micro-batch would have its own first rows']
    """
    at = partial(_place, query)
    yield from _check_rows(shape, at)
    yield from _check_inputs(shape, at)
    subqueries = list(_check_subqueries(shape, at))
    yield from subqueries
    if not subqueries:
        yield from _check_sessions(shape, at)
        yield from _check_joins(shape, at)


def _place(query: str, *forms: str) -> str:
    """Return the first of these forms in a query, with its position: `LIMIT at line 1, column 2`."""
    tokens = [token for token in tokens_of(query) if token.kind != "end"]
    words = [token.text.upper() if token.kind in ("word", "sign") else "" for token in tokens]
    for form in forms:
        parts = form.split()
        for i, token in enumerate(tokens):
            if words[i : i + len(parts)] == parts:
                name = "the subquery" if parts == ["(", "SELECT"] else form.strip("( ")
                first = tokens[i + 1] if parts[0] == "(" else token
                return f"{name} at {position_of(query, first.at)}"
    return forms[0]


def _check_rows(shape: QueryShape, at: Place) -> Iterator[ExpressionFault]:
    """Yield the clauses that need all rows of a stream: limits, orders, windows and sets."""
    from sqlglot import expressions as exp

    tree, yielded = shape.tree, set[str]()
    limited = tree.find(exp.Limit, exp.Fetch, exp.Offset, exp.TableSample) is not None
    for node in tree.walk():
        fault: ExpressionFault | None = None
        if isinstance(node, exp.TableSample):
            what = f"{at('TABLESAMPLE')}: each micro-batch would be sampled separately"
            fault = ExpressionFault(what, 'use where("rand() < 0.1")')
        elif isinstance(node, exp.Limit | exp.Fetch | exp.Offset):
            place = at("LIMIT", "OFFSET", "FETCH")
            fault = ExpressionFault(f"{place}: each micro-batch would have its own first rows", _TOP_N)
        elif isinstance(node, exp.Order | exp.Sort | exp.Cluster | exp.Distribute) and not limited:
            if isinstance(node.parent, exp.Query):
                place = at("ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY")
                what = f"{place}: a stream has no end, so its rows cannot be sorted"
                fault = ExpressionFault(what, "sort them in the target system, or use key_by(...).top_n(...)")
        elif isinstance(node, exp.Union) and node.args.get("distinct"):
            what = f"{at('UNION')}: each micro-batch would drop its own duplicates"
            fault = ExpressionFault(what, 'use UNION ALL, then distinct(on=["customer"])')
        elif isinstance(node, exp.Except | exp.Intersect):
            fault = _refuse_set(node, at)
        elif isinstance(node, exp.Distinct) and isinstance(node.parent, exp.Select):
            what = f"{at('SELECT DISTINCT')}: each micro-batch would drop its own duplicates"
            fault = ExpressionFault(what, 'use distinct(on=["customer"]) after select')
        elif isinstance(node, exp.Window):
            fault = _refuse_window(node, at)
        if fault is not None and fault.problem not in yielded:
            yielded.add(fault.problem)
            yield fault


def _refuse_set(node: exp.Expr, at: Place) -> ExpressionFault:
    from sqlglot import expressions as exp

    word, hint = ("EXCEPT", _ANTI) if isinstance(node, exp.Except) else ("INTERSECT", _SEMI)
    return ExpressionFault(f"{at(word, 'MINUS')}: each micro-batch would be compared separately", hint)


def _refuse_window(node: exp.Window, at: Place) -> ExpressionFault:
    function = node.this.unnest().key
    if function in _RANKS:
        hint = f'{_TOP_N}; to drop duplicates, distinct(on="customer") or key_by(...).latest(...)'
    elif function in _NEIGHBOURS:
        hint = "use key_by(...).stateful_map(...), or MATCH_RECOGNIZE with prev(...)"
    else:
        hint = 'use key_by(...).window(windows.trailing("10 seconds")).aggregate(...)'
    return ExpressionFault(f"{at('OVER')}: Spark has no OVER for streams", hint)


def _check_subqueries(shape: QueryShape, at: Place) -> Iterator[ExpressionFault]:
    """Yield the queries inside expressions, which Spark rejects or runs on each micro-batch."""
    from sqlglot import expressions as exp

    whole = "a subquery would read one micro-batch, or all of a stream that has no end"
    for node in shape.tree.walk():
        if isinstance(node, exp.In) and node.args.get("query"):
            place, hint = at("NOT IN (", "IN ("), _ANTI if isinstance(node.parent, exp.Not) else _SEMI
            yield ExpressionFault(f"{place}: {whole}", hint)
        elif isinstance(node, exp.Exists) and isinstance(node.this, exp.Query):
            place, hint = at("NOT EXISTS", "EXISTS"), _ANTI if isinstance(node.parent, exp.Not) else _SEMI
            yield ExpressionFault(f"{place}: {whole}", hint)
        elif isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            yield ExpressionFault(f"{at('LATERAL')}: {whole}", "use lookup(...), or join(...) with a table")
        elif isinstance(node, exp.Subquery | exp.Select) and _is_value(node):
            hint = (
                'use window(...).aggregate("averages", average="avg(amount)"), and join the rows with '
                "`averages`"
            )
            yield ExpressionFault(f"{at('( SELECT')}: {whole}", hint)


def _is_value(node: exp.Expr) -> bool:
    """Return True for a query that is a value, such as `amount > (select ...)`."""
    from sqlglot import expressions as exp

    tables = (exp.From, exp.Join, exp.Query, exp.CTE, exp.Lateral, exp.In, exp.Exists)
    return node.parent is not None and not isinstance(node.parent, tables)


def _check_inputs(shape: QueryShape, at: Place) -> Iterator[ExpressionFault]:
    """Yield the tables that no stream can be."""
    from sqlglot import expressions as exp

    tree = shape.tree
    if tree.find(exp.Version) is not None:
        what = f"{at('FOR SYSTEM_TIME', 'FOR SYSTEM_VERSION', 'TIMESTAMP AS OF', 'VERSION AS OF')}: a stream"
        yield ExpressionFault(f"{what} has no versions", _VERSION)
    if tree.find(exp.Unnest) is not None:
        hint = "write `lateral view explode(split(tags, ',')) t as tag`"
        yield ExpressionFault(f"Spark SQL has no {at('UNNEST')}", hint)
    for pivot in tree.find_all(exp.Pivot):
        if not pivot.args.get("unpivot"):
            hint = f"{_AGGREGATE} with one aggregate for each value: a=\"sum(v) filter (where k = 'a')\""
            yield ExpressionFault(f"{at('PIVOT')}: each micro-batch would be aggregated separately", hint)
    for clause in tree.find_all(exp.With):
        if clause.args.get("recursive"):
            yield ExpressionFault(
                f"{at('WITH RECURSIVE')}: a stream has no end", "use key_by(...).process(...)"
            )


def _check_sessions(shape: QueryShape, at: Place) -> Iterator[ExpressionFault]:
    """Yield windows of sessions outside of GROUP BY."""
    if any(_is_session(node) for node in shape.tree.walk()):
        hint = "write `group by session_window(...)`"
        yield ExpressionFault(f"{at('SESSION_WINDOW')} is not a key of GROUP BY", hint)


def _is_session(node: exp.Expr) -> bool:
    from sqlglot import expressions as exp

    return isinstance(node, exp.Anonymous) and node.name.lower() == "session_window"


def _check_joins(shape: QueryShape, at: Place) -> Iterator[ExpressionFault]:
    """Yield the joins with values, such as `explode(...)`, that keep unmatched values."""
    from sqlglot import expressions as exp

    for join in shape.tree.find_all(exp.Join):
        if join.side in ("RIGHT", "FULL"):
            name = at(f"{join.side} {join.kind} JOIN".replace("  ", " "), "JOIN", ",")
            hint = "use LEFT JOIN, or lookup(...) for a table of values"
            yield ExpressionFault(f"{name}: each micro-batch would have its own unmatched values", hint)
