"""Windows in queries: table functions, group functions, and the keys beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.durations import text as duration_text
from headrace.expand.declare import GROUPING_ID
from headrace.sql.shape import is_aggregate
from headrace.statements.draft import refuse
from headrace.statements.durations import interval_length
from headrace.statements.relations import WINDOW_BOUNDS, WINDOW_FORMULAS, Relation, Window, quote
from headrace.statements.scope import Scope
from headrace.statements.syntax import PARTITION_KEYS

if TYPE_CHECKING:
    from sqlglot import expressions as exp

    from headrace.statements.joins import Source
    from headrace.statements.queries import SelectBuilder

_LENGTHS = {
    "tumble": ("size",),
    "hop": ("slide", "size"),
    "session": ("gap",),
    "cumulate": ("step", "size"),
}
"""Window functions, with the names of their durations."""
_GROUP_FUNCTIONS = ("tumble", "hop", "session", "window", "session_window")
_AZURE = {"tumblingwindow": "tumble", "hoppingwindow": "hop", "sessionwindow": "session"}
_PARTS = {
    "start": "window_start",
    "end": "window_end",
    "rowtime": "window_time",
    "proctime": "window_time",
}
_FORMULA_OF = {role: text for text, role in WINDOW_BOUNDS.items()}
_EXAMPLE = "such as TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' MINUTES)"


def table_function(builder: SelectBuilder, call: exp.Func) -> tuple[str, Relation]:
    """Return the name and the relation of `TUMBLE(TABLE bid, DESCRIPTOR(ts), ...)` in `FROM`."""
    from sqlglot import expressions as exp

    name = call.name.lower()
    place = builder.place_of(call)
    if name not in _LENGTHS:
        raise refuse(place, f"unknown table function `{call.name}`", "use TUMBLE, HOP, SESSION or CUMULATE")
    arguments = _Arguments.of(name, call.expressions, place)
    table = exp.Table(this=arguments.data.this, db=arguments.data.args.get("table"))
    table.meta.update(arguments.data.this.meta)
    relation = builder.table(table)
    scope = Scope.of(table.name, relation, place)
    keys = tuple((_column_name(key, n), scope.text(key)) for n, key in enumerate(arguments.keys))
    if keys and name != "session":
        keys = ()  # windows of fixed bounds are the same for all keys
    relation = timed_by(builder, assign(builder, relation), arguments.column, place)
    return table.name, replace(
        relation,
        window=Window(_window(name, arguments.lengths, place), name == "session", keys),
        formulas={**relation.formulas, **WINDOW_FORMULAS},
        bounds=WINDOW_BOUNDS,
    )


@dataclass(frozen=True)
class _Arguments:
    """The arguments of a window function in `FROM`, by position or by name."""

    data: exp.Column
    column: str
    lengths: list[exp.Expr]
    keys: tuple[exp.Expr, ...]

    @classmethod
    def of(cls, function: str, items: list[exp.Expr], place: str) -> _Arguments:
        from sqlglot import expressions as exp

        keys: tuple[exp.Expr, ...] = ()
        named: dict[str, exp.Expr] = {}
        plain: list[exp.Expr] = []
        for item in items:
            if isinstance(item, exp.Anonymous) and item.name.lower() == PARTITION_KEYS:
                keys = tuple(item.expressions)
            elif isinstance(item, exp.Kwarg | exp.PropertyEQ):
                named[item.this.name.lower()] = item.expression
            else:
                plain.append(item)
        for name in ("data", "timecol", *_LENGTHS[function], "offset"):
            if name in named:
                plain.append(named.pop(name))
        if named:
            known = ", ".join(("DATA", "TIMECOL", *_LENGTHS[function], "OFFSET")).upper()
            what = f"unknown argument `{next(iter(named)).upper()}` of {function.upper()}"
            raise refuse(place, what, f"the arguments are {known}")
        if len(plain) < 2 or not isinstance(plain[0], exp.Column):
            raise refuse(place, f"expected a stream and a column in {function.upper()}", _EXAMPLE)
        column = _descriptor(plain[1])
        if column is None:
            raise refuse(place, f"expected DESCRIPTOR(column) in {function.upper()}", _EXAMPLE)
        return cls(plain[0], column, plain[2:], keys)


def assign(builder: SelectBuilder, relation: Relation) -> Relation:
    """Return the rows of a window function with their window, if no `GROUP BY` has used it."""
    window = relation.window
    if window is None:
        return relation
    step = builder.draft.new_name(builder.name, "assign_window")
    entry: dict[str, Any] = {"from": relation.ref}
    if window.keys:
        entry["key_by"] = dict(window.keys)
    builder.queries.add(step, builder.where, {**entry, "assign_window": window.document})
    columns = None if relation.columns is None else (*relation.columns, "window")
    outputs = {"late": step} if window.session else {}
    return replace(
        relation,
        ref=step,
        columns=columns,
        times=("window_time",),
        clock=(),
        window=None,
        windowed=True,
        side_outputs=outputs,
    )


def assign_source(builder: SelectBuilder, source: Source) -> Source:
    """Return what a query reads with the windows of its rows."""
    relation = assign(builder, source.relation)
    if relation is source.relation:
        return source
    scope = source.scope
    relations = {
        name: replace(known, **_assigned(relation)) if known.window is not None else known
        for name, known in scope.relations.items()
    }
    return replace(source, relation=relation, scope=replace(scope, relations=relations))


def _assigned(relation: Relation) -> dict[str, Any]:
    names = ("ref", "columns", "times", "clock", "window", "windowed")
    return {name: getattr(relation, name) for name in names}


def reads_bounds(tree: exp.Select, source: Source) -> bool:
    """Return True if a grouped query reads the window of single rows: in `WHERE`, or inside an aggregate."""
    from sqlglot import expressions as exp

    if source.relation.window is None:
        return False
    group = tree.args.get("group")
    keys = [item for item in grouped(group.expressions) if not isinstance(item, exp.Column)] if group else []
    calls = [
        part
        for item in (*tree.expressions, *([tree.args["having"]] if tree.args.get("having") else []))
        for part in item.walk()
        if is_aggregate(part)
    ]
    columns = [column for part in (*source.where, *keys, *calls) for column in part.find_all(exp.Column)]
    return any(column.name.lower() in WINDOW_FORMULAS for column in columns)


def grouped(items: Iterable[exp.Expr]) -> Iterator[exp.Expr]:
    """Yield the expressions of `GROUP BY`, those of grouping sets included."""
    from sqlglot import expressions as exp

    for item in items:
        if isinstance(item, exp.GroupingSets | exp.Cube | exp.Rollup | exp.Tuple):
            yield from grouped(item.expressions)
        else:
            yield item


def attached(relation: Relation, texts: Iterable[str]) -> tuple[Mapping[str, Any], set[str]] | None:
    """Return the window whose bounds are among expressions, and the expressions that belong to it.

    None if the expressions lack the start or the end of the window that rows carry.
    """
    roles = {text: relation.bounds[text] for text in texts if text in relation.bounds}
    texts_by_role = {role: text for text, role in reversed(roles.items())}
    if "start" not in texts_by_role or "end" not in texts_by_role:
        return None
    start, end = texts_by_role["start"], texts_by_role["end"]
    if (start, end) == ("window.start", "window.end"):
        return {"attached": {}}, set(roles)
    return {"attached": {"start": start, "end": end}}, set(roles)


def selected_bounds(bounds: Mapping[str, str], items: Iterable[tuple[str, object]]) -> dict[str, str]:
    """Return the bounds of rows after a projection.

    Args:
        bounds: the bounds of the rows before it.
        items: names and expressions of the selected columns.
    """
    return {quote(name): bounds[str(text)] for name, text in items if str(text) in bounds}


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
        f"declare it at the source: WATERMARK FOR {column} AS {column} - INTERVAL '5' SECOND in SQL, "
        f'event_time("{column}") before a sql step',
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
    bounds: Mapping[str, str] = field(default_factory=dict)
    """Expressions over the input for bounds of the window that rows carry, with those over the results."""
    bits: Mapping[str, int] = field(default_factory=dict)
    """The bit of `grouping_id` of each expression, if the query has several grouping sets."""
    variants: Set[str] = frozenset()
    """The keys that are the text of a variant."""

    @classmethod
    def of(cls, builder: SelectBuilder, tree: exp.Select, source: Source) -> Grouping:
        """Return the grouping of a query."""
        from sqlglot import expressions as exp

        scope, relation = source.scope, source.relation
        window: Mapping[str, Any] | None = None
        keys: list[tuple[str, str]] = []
        texts: dict[str, str] = {}
        variants: set[str] = set()
        bounds: dict[str, str] = {}
        group = tree.args.get("group")
        for item in group.expressions if group is not None else ():
            node = _selected(item, tree, scope)
            if (spec := _group_window(node, builder, source)) is not None:
                if window is not None:
                    raise refuse(scope.place_of(node), "a query has one window in GROUP BY", "remove one")
                window, relation = spec
                source = source.with_relation(relation)
                continue
            name, text = _key_name(node, tree, len(keys)), scope.text(node)
            if text in relation.bounds and isinstance(node, exp.Column):
                bounds[text] = name
            elif scope.type_of(node) == "VARIANT":  # Spark groups by their text
                keys.append((f"{name}_json", f"to_json({text})"))
                texts[text] = f"{name}_json"
                variants.add(f"{name}_json")
            else:
                keys.append((name, text))
                texts[text] = name
        if relation.window is not None and not bounds:
            raise refuse(
                builder.where,
                "the window of the stream is not in GROUP BY",
                "group by window_start, window_end",
            )
        if relation.window is not None:
            if not relation.window.session or {t for _, t in keys} == {t for _, t in relation.window.keys}:
                return cls(tuple(keys), relation.window.document, relation.ref, texts, variants=variants)
            relation = assign(builder, relation)  # the sessions are not those of each group
        if bounds and window is None and (carried := attached(relation, bounds)) is not None:
            roles = {text: _FORMULA_OF[relation.bounds[text]] for text in carried[1]}
            return cls(tuple(keys), carried[0], relation.ref, texts, roles, variants=variants)
        for text, name in bounds.items():
            keys.append((name, text))
            texts[text] = name
        return cls(tuple(keys), window, relation.ref, texts, variants=variants)

    def names(self, name: str) -> bool:
        """Return True if a key has this name."""
        return name.lower() in (key.lower() for key, _ in self.keys)

    def formula(self, node: exp.Expr, scope: Scope) -> str | None:
        """Return an expression that the grouping determines: a key, or a bound of the window."""
        from sqlglot import expressions as exp

        if self.bits and isinstance(node, exp.Grouping | exp.GroupingId):
            return self._set_of(node, scope)
        if isinstance(node, exp.Column) and self.bounds and (text := scope.text(node)) in self.bounds:
            return self.bounds[text]
        if self.window is not None and (bound := self._bound(node)) is not None:
            return bound
        name = self.texts.get(scope.text(node)) if self._may_be_key(node) else None
        if name is None:
            return None
        return f"parse_json({quote(name)})" if name in self.variants else quote(name)

    def _bound(self, node: exp.Expr) -> str | None:
        """Return a bound of the window that the steps add to the results."""
        from sqlglot import expressions as exp

        if isinstance(node, exp.Column) and not self.bounds:
            if node.name.lower() in WINDOW_FORMULAS:
                return WINDOW_FORMULAS[node.name.lower()]
            if node.table.lower() in ("window", "session_window") and node.name.lower() in ("start", "end"):
                return f"window.{node.name.lower()}"
            if not node.table and node.name.lower() in ("window", "session_window"):
                return "window"
        if isinstance(node, exp.Func):
            function, _, part = node.name.lower().partition("_")
            if function in _LENGTHS and part in _PARTS:
                return WINDOW_FORMULAS[_PARTS[part]]
        return None

    def _set_of(self, node: exp.Expr, scope: Scope) -> str | None:
        """Return `GROUPING_ID()`, or the bits of columns, each 1 in the rows of sets without the column."""
        if not node.expressions:
            return GROUPING_ID
        bits = [self._bit(column, scope) for column in node.expressions]
        terms = [
            f"(shiftright({GROUPING_ID}, {bit}) & 1) * {1 << place}"
            for place, bit in enumerate(reversed(bits))
            if bit is not None
        ]
        return f"({' + '.join(terms)})" if terms else "0L"

    def _bit(self, column: exp.Expr, scope: Scope) -> int | None:
        """Return the bit of a column in `grouping_id`; None for one that all sets have."""
        text = scope.text(column)
        known = text in self.texts or text in self.bounds
        if not known and (self.window is None or self._bound(column) is None):
            what = f"`{column.sql()}` is not in GROUP BY"
            raise refuse(scope.place_of(column), what, "name a column of the grouping sets")
        return self.bits.get(text)

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
        if kind == "hop" and len(lengths) < 2:
            raise refuse(place, "expected a unit, a size and a hop", "such as HoppingWindow(second, 10, 5)")
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
    if len(lengths) not in (len(_LENGTHS[kind]), len(_LENGTHS[kind]) + 1):
        raise refuse(
            place,
            f"expected {len(_LENGTHS[kind])} durations in {kind.upper()}, got {len(lengths)}",
            _EXAMPLE,
        )
    return _spec(kind, lengths, place)


def _spec(kind: str, lengths: list[int], place: str) -> dict[str, Any]:
    """Return a window in a document; `HOP` and `CUMULATE` have the step first, then the size."""
    number = len(_LENGTHS[kind])
    first, *more = (duration_text(length) for length in lengths[:number])
    if kind == "session":
        if len(lengths) > 1:
            raise refuse(place, "sessions have no offset", "leave it out")
        return {"session": first}
    period = lengths[1] if kind == "cumulate" else lengths[0]
    shift = lengths[number] % period if len(lengths) > number else 0
    offset = {"offset": duration_text(shift)} if shift else {}
    if kind == "tumble" or (kind == "hop" and more[0] == first):
        return {"tumbling": {"size": first, **offset}}
    if kind == "hop":
        return {"sliding": {"size": more[0], "every": first, **offset}}
    return {"cumulating": {"size": more[0], "step": first, **offset}}


def _length(node: exp.Expr, place: str) -> int:
    length = interval_length(node)
    if length is None:
        raise refuse(place, f"expected a duration, got `{node.sql()}`", "such as INTERVAL '10' MINUTES")
    return length


def _azure_lengths(arguments: list[exp.Expr], place: str) -> list[int]:
    from headrace.statements.durations import length_of

    unit = arguments[0].name or arguments[0].sql() if arguments else ""
    lengths = [length_of(f"{item.name} {unit}") for item in arguments[1:]]
    if not lengths or None in lengths:
        raise refuse(place, "expected a unit and numbers", "such as TumblingWindow(second, 10)")
    return [length for length in lengths if length is not None]


def _descriptor(node: exp.Expr) -> str | None:
    """Return the column of `DESCRIPTOR(ts)`, or of `ts` alone, as in RisingWave."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.Column) and not node.table:
        return str(node.name)
    if isinstance(node, exp.Anonymous) and node.name.lower() == "descriptor" and len(node.expressions) == 1:
        return str(node.expressions[0].name)
    return None


def _selected(node: exp.Expr, tree: exp.Select, scope: Scope) -> exp.Expr:
    """Return the expression that `GROUP BY 1` or `GROUP BY alias` refers to; columns go before aliases."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.Column) and not node.table and not scope.knows(node):
        named = (item.this for item in tree.expressions if item.alias.lower() == node.name.lower())
        return next(named, node)
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        number = int(node.name)
        if 1 <= number <= len(tree.expressions):
            item = tree.expressions[number - 1]
            return item.this if isinstance(item, exp.Alias) else item  # type: ignore[no-any-return]
    return node


def _column_name(node: exp.Expr, number: int) -> str:
    from sqlglot import expressions as exp

    return str(node.name) if isinstance(node, exp.Column) else f"key{number + 1}"


def _key_name(node: exp.Expr, tree: exp.Select, number: int) -> str:
    from sqlglot import expressions as exp

    if isinstance(node, exp.Column):
        return str(node.name)
    alias = next(
        (item.alias for item in tree.expressions if isinstance(item, exp.Alias) and item.this == node), ""
    )
    return alias or f"key{number + 1}"
