"""Windows in queries: table functions, group functions, and the keys beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.durations import text as duration_text
from headrace.expand.declare import GROUPING_ID
from headrace.statements.draft import refuse
from headrace.statements.durations import interval_length
from headrace.statements.relations import WINDOW_FORMULAS, Relation, Window, quote

if TYPE_CHECKING:
    from sqlglot import expressions as exp

    from headrace.statements.joins import Source
    from headrace.statements.queries import SelectBuilder
    from headrace.statements.scope import Scope

_TABLE_FUNCTIONS = {"tumble": 1, "hop": 2, "session": 1, "cumulate": 2}
"""Window functions, with the number of their durations."""
_GROUP_FUNCTIONS = ("tumble", "hop", "session", "window", "session_window")
_AZURE = {"tumblingwindow": "tumble", "hoppingwindow": "hop", "sessionwindow": "session"}
_PARTS = {"start": "window_start", "end": "window_end", "rowtime": "window_time"}
_EXAMPLE = "such as TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' MINUTES)"


def table_function(builder: SelectBuilder, call: exp.Func) -> tuple[str, Relation]:
    """Return the name and the relation of `TUMBLE(TABLE bid, DESCRIPTOR(ts), ...)` in `FROM`."""
    from sqlglot import expressions as exp

    name = call.name.lower()
    place = builder.place_of(call)
    if name not in _TABLE_FUNCTIONS:
        raise refuse(place, f"unknown table function `{call.name}`", "use TUMBLE, HOP, SESSION or CUMULATE")
    arguments = [_argument(item) for item in call.expressions]
    if len(arguments) < 2 or not isinstance(arguments[0], exp.Column):
        raise refuse(place, f"expected a stream and a column in {call.name.upper()}", _EXAMPLE)
    table = exp.Table(this=arguments[0].this, db=arguments[0].args.get("table"))
    table.meta.update(arguments[0].this.meta)
    relation = builder.table(table)
    column = _descriptor(arguments[1])
    if column is None:
        raise refuse(place, f"expected DESCRIPTOR(column) in {call.name.upper()}", _EXAMPLE)
    window = _window(name, arguments[2:], place)
    relation = timed_by(builder, relation, column, builder.place_of(arguments[1]))
    return table.name, replace(
        relation, window=Window(window, name == "session"), formulas={**relation.formulas, **WINDOW_FORMULAS}
    )


def timed_by(builder: SelectBuilder, relation: Relation, column: str, place: str) -> Relation:
    """Return the relation whose time is a column: the event time or processing time of the stream."""
    if relation.is_time(column) or relation.columns is None:
        return relation
    if relation.is_clock(column):
        name = builder.draft.new_name(builder.name, "processing_time")
        builder.queries.add(name, place, {"from": relation.ref, "processing_time": True})
        return replace(relation, ref=name)
    if relation.times:
        raise refuse(
            place, f"`{column}` is not the event time of the stream", f"use {' or '.join(relation.times)}"
        )
    raise refuse(
        place,
        f"`{column}` has no watermark",
        f"declare it at the source: WATERMARK FOR {column} AS {column} - INTERVAL '5' SECOND",
    )


@dataclass(frozen=True)
class Grouping:
    """The clause `GROUP BY`: keys, and the window of the groups."""

    keys: tuple[tuple[str, str], ...]
    """Names and expressions of the key columns."""
    window: Mapping[str, Any] | None
    ref: str
    """The input, whose time is that of the window."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The key of an expression that is grouped by."""
    bits: Mapping[str, int] = field(default_factory=dict)
    """The bit of `grouping_id` of each expression, if the query has several grouping sets."""

    @classmethod
    def of(cls, builder: SelectBuilder, tree: exp.Select, source: Source) -> Grouping:
        """Return the grouping of a query."""
        from sqlglot import expressions as exp

        scope, relation = source.scope, source.relation
        window: Mapping[str, Any] | None = None
        keys: list[tuple[str, str]] = []
        texts: dict[str, str] = {}
        group = tree.args.get("group")
        bounds = set()
        for item in group.expressions if group is not None else ():
            node = _selected(item, tree)
            if (spec := _group_window(node, builder, source)) is not None:
                if window is not None:
                    raise refuse(scope.place_of(node), "a query has one window in GROUP BY", "remove one")
                window, relation = spec
                source = source.with_relation(relation)
            elif (
                relation.window is not None
                and isinstance(node, exp.Column)
                and node.name.lower() in WINDOW_FORMULAS
            ):
                bounds.add(node.name.lower())
            else:
                name = _key_name(node, tree, len(keys))
                text = scope.text(node)
                keys.append((name, text))
                texts[text] = name
        if relation.window is not None:
            if not bounds:
                raise refuse(
                    builder.where,
                    "the window of the stream is not in GROUP BY",
                    "group by window_start, window_end",
                )
            window = relation.window.document
            if relation.window.session and keys:
                what = "the sessions of SESSION(...) are those of all rows, not of each key"
                raise refuse(builder.where, what, "write GROUP BY card, session(ts, INTERVAL '5' MINUTES)")
        return cls(tuple(keys), window, relation.ref, texts)

    def names(self, name: str) -> bool:
        """Return True if a key has this name."""
        return name.lower() in (key.lower() for key, _ in self.keys)

    def formula(self, node: exp.Expr, scope: Scope) -> str | None:
        """Return an expression that the grouping determines: a key, or a bound of the window."""
        from sqlglot import expressions as exp

        if self.bits and isinstance(node, exp.Grouping | exp.GroupingId):
            return self._set_of(node, scope)
        if isinstance(node, exp.Column) and self.window is not None:
            if node.name.lower() in WINDOW_FORMULAS:
                return WINDOW_FORMULAS[node.name.lower()]
            if node.table.lower() in ("window", "session_window") and node.name.lower() in ("start", "end"):
                return f"window.{node.name.lower()}"
            if not node.table and node.name.lower() in ("window", "session_window"):
                return "window"
        if isinstance(node, exp.Func) and self.window is not None:
            function, _, part = node.name.lower().partition("_")
            if function in _TABLE_FUNCTIONS and part in _PARTS:
                return WINDOW_FORMULAS[_PARTS[part]]
        name = self.texts.get(scope.text(node)) if self._may_be_key(node) else None
        return quote(name) if name is not None else None

    def _set_of(self, node: exp.Expr, scope: Scope) -> str | None:
        """Return `GROUPING_ID()`, or `GROUPING(column)`: 1 in the rows of sets without the column."""
        if not node.expressions:
            return GROUPING_ID
        bit = self.bits.get(scope.text(node.expressions[0]))
        return "0" if bit is None else f"(shiftright({GROUPING_ID}, {bit}) & 1)"

    def _may_be_key(self, node: exp.Expr) -> bool:
        from sqlglot import expressions as exp

        return bool(self.texts) and isinstance(node, exp.Condition) and not node.find(exp.Star)


def _group_window(
    node: exp.Expr, builder: SelectBuilder, source: Source
) -> tuple[Mapping[str, Any], Relation] | None:
    """Return the window of `TUMBLE(ts, INTERVAL '1' HOUR)` in `GROUP BY`."""
    from sqlglot import expressions as exp

    if not isinstance(node, exp.Func):
        return None
    name = (node.name or node.sql_name()).lower()
    arguments = list(node.expressions) or [part for part in node.args.values() if isinstance(part, exp.Expr)]
    place = source.scope.place_of(node)
    if name in _AZURE:
        kind = _AZURE[name]
        lengths = _azure_lengths(arguments, place)
        if kind == "hop":
            lengths = [lengths[1], lengths[0], *lengths[2:]]
        return _spec(kind, lengths[:2] if kind == "hop" else lengths[:1], place), source.relation
    if name not in _GROUP_FUNCTIONS or len(arguments) < 2 or not isinstance(arguments[0], exp.Column):
        return None
    relation = timed_by(builder, source.relation, arguments[0].name, place)
    if name == "window":
        lengths = [_length(item, place) for item in arguments[1:]]
        if len(lengths) == 1:
            return _spec("tumble", lengths, place), relation
        return _spec("hop", [lengths[1], lengths[0], *lengths[2:]], place), relation
    kind = "session" if name == "session_window" else name
    return _window(kind, arguments[1:], place), relation


def _window(kind: str, arguments: list[exp.Expr], place: str) -> dict[str, Any]:
    lengths = [_length(item, place) for item in arguments]
    if len(lengths) not in (_TABLE_FUNCTIONS[kind], _TABLE_FUNCTIONS[kind] + 1):
        raise refuse(
            place,
            f"expected {_TABLE_FUNCTIONS[kind]} durations in {kind.upper()}, got {len(lengths)}",
            _EXAMPLE,
        )
    return _spec(kind, lengths, place)


def _spec(kind: str, lengths: list[int], place: str) -> dict[str, Any]:
    """Return a window in a document; `HOP` and `CUMULATE` have the step first, then the size."""
    first, *more = (duration_text(length) for length in lengths)
    if kind == "tumble":
        return {"tumbling": {"size": first, **({"offset": more[0]} if more else {})}}
    if kind == "session":
        return {"session": first}
    if len(more) > 1:
        raise refuse(place, f"an offset of {kind.upper()} is not supported", "leave it out")
    if kind == "hop":
        return (
            {"tumbling": {"size": first}}
            if more[0] == first
            else {"sliding": {"size": more[0], "every": first}}
        )
    raise refuse(
        place, "CUMULATE is not supported", "use TUMBLE with EMIT EARLY EVERY and the step as its period"
    )


def _length(node: exp.Expr, place: str) -> int:
    length = interval_length(_argument(node))
    if length is None:
        raise refuse(place, f"expected a duration, got `{node.sql()}`", "such as INTERVAL '10' MINUTES")
    return length


def _azure_lengths(arguments: list[exp.Expr], place: str) -> list[int]:
    from headrace.statements.durations import length_of

    unit = arguments[0].name or arguments[0].sql()
    lengths = [length_of(f"{item.name} {unit}") for item in arguments[1:]]
    if not lengths or None in lengths:
        raise refuse(place, "expected a unit and numbers", "such as TumblingWindow(second, 10)")
    return [length for length in lengths if length is not None]


def _argument(node: exp.Expr) -> exp.Expr:
    """Return the value of a named argument: `SIZE => INTERVAL '10' MINUTES`."""
    from sqlglot import expressions as exp

    return node.expression if isinstance(node, exp.Kwarg | exp.PropertyEQ) else node


def _descriptor(node: exp.Expr) -> str | None:
    from sqlglot import expressions as exp

    if isinstance(node, exp.Anonymous) and node.name.lower() == "descriptor" and len(node.expressions) == 1:
        return str(node.expressions[0].name)
    return None


def _selected(node: exp.Expr, tree: exp.Select) -> exp.Expr:
    """Return the expression that `GROUP BY 1` or `GROUP BY alias` refers to."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        number = int(node.name)
        if 1 <= number <= len(tree.expressions):
            item = tree.expressions[number - 1]
            return item.this if isinstance(item, exp.Alias) else item  # type: ignore[no-any-return]
    return node


def _key_name(node: exp.Expr, tree: exp.Select, number: int) -> str:
    from sqlglot import expressions as exp

    if isinstance(node, exp.Column):
        return str(node.name)
    alias = next(
        (item.alias for item in tree.expressions if isinstance(item, exp.Alias) and item.this == node), ""
    )
    return alias or f"key{number + 1}"
