"""Functions of Flink, ksqlDB and Azure Stream Analytics as those of Spark, or refused with a rewrite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import expressions as exp

_TEMPLATES = {
    "latest_by_offset": "last({0}, true)",
    "earliest_by_offset": "first({0}, true)",
    "topk": "slice(sort_array(collect_list({0}), false), 1, {1})",
    "topkdistinct": "slice(sort_array(collect_set({0}), false), 1, {1})",
    "count_distinct": "count(distinct {0})",
    "collect": "collect_list({0})",
    "convert_tz": "date_format(convert_timezone({1}, {2}, to_timestamp_ntz({0})), 'yyyy-MM-dd HH:mm:ss')",
    "current_row_timestamp": "current_timestamp()",
    "element": "get({0}, 0)",
    "json_exists": "(get_json_object({0}, {1}) is not null)",
    "rand_integer": "cast(floor(rand() * {0}) as int)",
    "is_alpha": "coalesce({0} rlike '^[a-zA-Z]+$', false)",
    "is_decimal": "coalesce({0} rlike '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)$', false)",
    "is_digit": "coalesce({0} rlike '^[0-9]+$', false)",
    "sha224": "sha2({0}, 224)",
    "sha256": "sha2({0}, 256)",
    "sha384": "sha2({0}, 384)",
    "sha512": "sha2({0}, 512)",
}
"""Templates of Spark SQL over the arguments."""
_PLACES = re.compile(r"\{\d\}")
_OF_NUMBERS = {"0": "timestamp_seconds({0})", "3": "timestamp_millis({0})"}
"""`TO_TIMESTAMP_LTZ(number, precision)`."""
_TRUNCATE = "if({0} < 0, ceil({0}, {1}), floor({0}, {1}))"
_CEIL = "date_trunc('{unit}', {{0}} + interval 1 {unit} - interval 1 microsecond)"
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

    for call in tree.find_all(exp.Dot):
        if call.this.name.lower() == "system" and call.expression.name.lower() == "timestamp":
            return exp.Anonymous(this="System.Timestamp"), "group by the event time: GROUP BY customer, ts"
    calls = (call for call in tree.find_all(exp.Anonymous) if call.name.lower() in _REWRITES)
    return next(((call, _REWRITES[call.name.lower()]) for call in calls), None)


_BOUNDS = {"windowstart": "window_start", "windowend": "window_end"}
"""The bounds of a window in ksqlDB."""


def translate_functions(tree: exp.Query) -> exp.Expr:
    """Return a query with Spark's functions in place of those of Flink and ksqlDB."""
    result = tree.copy()
    for node in reversed(list(result.walk())):  # the arguments of a function before it
        if (translated := _translate(node)) is not node:
            node.replace(translated)
    return result


def _translate(node: exp.Expr) -> exp.Expr:
    from sqlglot import expressions as exp

    if isinstance(node, exp.Anonymous):
        return _call(node)
    if isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont):
        return _percentile(node)
    if isinstance(node, exp.Trunc) and node.args.get("decimals") is not None:  # sqlglot drops the places
        return _fill(_TRUNCATE, [node.this, node.args["decimals"]])
    return _form(node)


def _form(node: exp.Expr) -> exp.Expr:
    """Return `FLOOR(ts TO DAY)`, `LOCALTIMESTAMP` and `MAP['a', 1]` as functions; other nodes as they are."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.Floor | exp.Ceil) and (unit := node.args.get("to")) is not None:
        floor = f"date_trunc('{unit.name}', {{0}})"
        return _fill(floor if isinstance(node, exp.Floor) else _CEIL.format(unit=unit.name), [node.this])
    if isinstance(node, exp.SimilarTo) and node.expression.is_string and not node.args.get("escape"):
        pattern = exp.Literal.string(similar_pattern(node.expression.name))
        return exp.RegexpLike(this=node.this, expression=pattern)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.JSON) and _is_any_json(node.expression):
        parsed = exp.Anonymous(this="try_parse_json", expressions=[node.this])
        return exp.Paren(this=exp.Not(this=exp.Is(this=parsed, expression=exp.Null())))
    if isinstance(node, exp.Column) and node.name.upper() == "LOCALTIMESTAMP" and not node.table:
        return exp.Anonymous(this="localtimestamp")
    if isinstance(node, exp.Bracket) and isinstance(node.this, exp.Column) and len(node.expressions) > 1:
        return exp.Anonymous(this=node.this.name, expressions=node.expressions)
    return node


def _is_any_json(test: exp.Expr) -> bool:
    return not test.args.get("this") and not test.args.get("with_") and not test.args.get("unique")


def similar_pattern(pattern: str) -> str:
    r"""Return the regular expression of a pattern of `SIMILAR TO`, which matches a whole text.

    >>> print(similar_pattern("(a|b)%_1.5"))
    ^(?:(a|b).*.1\.5)$
    """
    words = {"%": ".*", "_": ".", ".": "\\.", "^": "\\^", "$": "\\$", "\\": "\\\\"}
    inside, parts = False, []
    for letter in pattern:
        inside = letter == "[" or (inside and letter != "]")
        parts.append(letter if inside else words.get(letter, letter))
    return f"^(?:{''.join(parts)})$"


def translate_bounds(tree: exp.Query) -> None:
    """Rename the bounds of the window in a query of ksqlDB."""
    from sqlglot import expressions as exp

    for column in tree.find_all(exp.Column):
        if (name := _BOUNDS.get(column.name.lower())) is not None and not column.table:
            column.this.set("this", name)


def _call(call: exp.Anonymous) -> exp.Expr:
    name, arguments = call.name.lower(), call.expressions
    template = _TEMPLATES.get(name)
    if name == "to_timestamp_ltz" and len(arguments) == 2:
        template = _OF_NUMBERS.get(arguments[1].name)
    if template is None or len(set(_PLACES.findall(template))) > len(arguments):
        return call
    return _fill(template, arguments)


def _fill(template: str, arguments: Sequence[exp.Expr]) -> exp.Expr:
    """Return an expression of Spark with the arguments in their places."""
    from sqlglot import expressions as exp
    from sqlglot import parse_one

    names = [f"argument{number}" for number in range(len(arguments))]
    translated: exp.Expr = parse_one(template.format(*names), dialect="spark")
    if isinstance(translated, exp.Column):
        return translated
    for column in list(translated.find_all(exp.Column)):
        column.replace(arguments[names.index(column.name)].copy())
    return translated


def _percentile(node: exp.Expr) -> exp.Expr:
    """Return `percentile(x, q)` for `percentile_cont(q) WITHIN GROUP (ORDER BY x)`, which sqlglot rounds."""
    from sqlglot import expressions as exp

    [item] = node.expression.expressions
    share = node.this.this
    if item.args.get("desc"):
        share = exp.Sub(this=exp.Literal.number(1), expression=share)
    return exp.Anonymous(this="percentile", expressions=[item.this, share])
