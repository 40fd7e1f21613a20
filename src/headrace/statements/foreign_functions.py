"""Aggregates as those of Spark, names of ksqlDB, and functions of Azure Stream Analytics with a rewrite."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import expressions as exp

_AGGREGATES = {
    "latest_by_offset": "last({0}, true)",
    "earliest_by_offset": "first({0}, true)",
    "topk": "slice(sort_array(collect_list({0}), false), 1, {1})",
    "topkdistinct": "slice(sort_array(collect_set({0}), false), 1, {1})",
    "count_distinct": "count(distinct {0})",
}
"""Templates of Spark SQL over the arguments."""
_RANKED = (
    "filter ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY {} over the rows of TUMBLE(...)"
)
_REWRITES = {
    "slidingwindow": "use OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND "
    "CURRENT ROW), which has a row for each row that enters",
    "topone": _RANKED.format("amount DESC) = 1"),
    "isfirst": _RANKED.format("ts) = 1"),
    "collecttop": _RANKED.format("amount DESC) <= n"),
}
"""Functions without a counterpart of the same shape, with what to write."""


def refused_function(tree: exp.Query) -> tuple[exp.Expr, str] | None:
    """Return the first call of a function without a counterpart, and what to write instead."""
    from sqlglot import expressions as exp

    calls = (call for call in tree.find_all(exp.Anonymous) if call.name.lower() in _REWRITES)
    return next(((call, _REWRITES[call.name.lower()]) for call in calls), None)


_BOUNDS = {"windowstart": "window_start", "windowend": "window_end"}
"""The bounds of a window in ksqlDB."""


def translate_functions(tree: exp.Query) -> exp.Expr:
    """Return a query with Spark's aggregates in place of those of ksqlDB."""
    from sqlglot import expressions as exp

    def translate(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous):
            return _aggregate(node)
        is_percentile = isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont)
        return _percentile(node) if is_percentile else node

    return tree.transform(translate)


def translate_bounds(tree: exp.Query) -> None:
    """Rename the bounds of the window in a query of ksqlDB."""
    from sqlglot import expressions as exp

    for column in tree.find_all(exp.Column):
        if (name := _BOUNDS.get(column.name.lower())) is not None and not column.table:
            column.this.set("this", name)


def _aggregate(call: exp.Anonymous) -> exp.Expr:
    from sqlglot import expressions as exp
    from sqlglot import parse_one

    template = _AGGREGATES.get(call.name.lower())
    if template is None or template.count("{") > len(call.expressions):
        return call
    names = [f"argument{number}" for number in range(len(call.expressions))]
    translated: exp.Expr = parse_one(template.format(*names), dialect="spark")
    for column in list(translated.find_all(exp.Column)):
        column.replace(call.expressions[names.index(column.name)].copy())
    return translated


def _percentile(node: exp.Expr) -> exp.Expr:
    """Return `percentile(x, q)` for `percentile_cont(q) WITHIN GROUP (ORDER BY x)`, which sqlglot rounds."""
    from sqlglot import expressions as exp

    [item] = node.expression.expressions
    share = node.this.this
    if item.args.get("desc"):
        share = exp.Sub(this=exp.Literal.number(1), expression=share)
    return exp.Anonymous(this="percentile", expressions=[item.this, share])
