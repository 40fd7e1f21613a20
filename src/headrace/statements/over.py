"""`OVER` windows: a step for each different window, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.durations import text as duration_text
from headrace.statements.declarations import Placed
from headrace.statements.draft import refuse
from headrace.statements.durations import interval_length
from headrace.statements.relations import Relation, quote
from headrace.statements.windows import timed_by

if TYPE_CHECKING:
    from sqlglot import expressions as exp

    from headrace.statements.joins import Source
    from headrace.statements.queries import SelectBuilder
    from headrace.statements.scope import Scope

_FRAMELESS = ("ROW_NUMBER", "RANK", "DENSE_RANK", "LAG", "LEAD")
"""Functions that have an order and no frame."""
_WHOLE = ("NTILE", "PERCENT_RANK", "CUME_DIST", "NTH_VALUE")
_CLOCK = "processing_time"
"""The column of the step that adds processing time."""
_FRAME_HINT = (
    "a frame ends with the current row: ROWS n PRECEDING, RANGE BETWEEN INTERVAL ... PRECEDING AND "
    "CURRENT ROW; LEAD reads later rows, and OVER (PARTITION BY ...) without ORDER BY covers all rows"
)


@dataclass(frozen=True)
class Frame:
    """The rows that an aggregate covers: a key of `over`, and its value."""

    key: str = ""
    value: Any = None


@dataclass
class Window:
    """A step: functions over one partition, order and frame."""

    keys: tuple[tuple[str, str], ...]
    """Columns of PARTITION BY, each with its expression."""
    order: str
    frame: Frame
    by_time: bool
    by_clock: bool
    place: str
    calls: dict[str, Placed]
    """The functions by name of their column."""
    waits: bool = False
    """True if it has `LEAD`, which waits for later rows."""

    @property
    def rank(self) -> int:
        """The position of the step: append streams come first, and those that wait last of these."""
        return (1 if self.waits else 0) if self.by_time or self.by_clock else 2

    def entry(self, ref: str, keys: dict[str, str]) -> dict[str, Any]:
        """Return the entry of the step, which reads an output."""
        over: dict[str, Any] = {"order_by": Placed(self.order, self.place)} if self.order else {}
        if self.frame.key:
            over[self.frame.key] = self.frame.value
        entry: dict[str, Any] = {"from": ref, "key_by": keys, "over": over, "aggregate": dict(self.calls)}
        return entry if keys else {key: value for key, value in entry.items() if key != "key_by"}


def has_windows(tree: exp.Select) -> bool:
    """Return True if a query selects an `OVER` window."""
    from sqlglot import expressions as exp

    return any(_own_windows(item, exp) for item in tree.expressions)


def build(builder: SelectBuilder, tree: exp.Select, source: Source) -> Relation:
    """Add the steps of the `OVER` windows that a query selects."""
    if tree.args.get("group") is not None or tree.args.get("having") is not None:
        hint = "put the query with GROUP BY in a subquery, and select OVER from it"
        raise refuse(builder.where, "OVER windows and GROUP BY in one query are not supported", hint)
    if source.relation.window is not None:
        hint = "aggregate by window_start and window_end in a subquery"
        raise refuse(builder.where, "OVER over a window function without GROUP BY is not supported", hint)
    planner = _Planner(tree, source)
    selected = planner.replace_windows()
    relation = source.relation
    for clock in {window.order for window in planner.windows if window.by_clock}:
        relation = replace(timed_by(builder, relation, clock, builder.where), clock=relation.clock)
    for window in planner.windows:
        if window.by_clock:
            window.order = _CLOCK
    entry: dict[str, Any] = {"from": relation.ref}
    if source.where:
        entry["where"] = builder.all_of(source.scope, source.where)
    *first, last = sorted(planner.windows, key=lambda window: window.rank)
    names = planner.key_names()
    for window in first:
        step = builder.draft.new_name(builder.name, "over")
        builder.queries.add(step, window.place, entry | _later(window.entry(entry["from"], names(window))))
        entry = {"from": step}
    entry |= _later(last.entry(entry["from"], names(last)))
    revised = last.rank == 2 or relation.changes == "table"
    changes = {"changes": "table", "marked": True} if revised else {}
    key = relation.key if relation.changes == "table" else ()
    above = source.with_relation(replace(relation, key=key, **changes))  # type: ignore[arg-type]
    result = builder.select_columns(selected, above, entry)
    return result if revised else replace(result, side_outputs={"late": builder.name})


def _later(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "from"}


class _Planner:
    """Collects the windows of a query, and replaces their functions by columns."""

    def __init__(self, tree: exp.Select, source: Source) -> None:
        self.windows: list[Window] = []
        self._tree = tree
        self._source = source
        self._scope: Scope = source.scope
        self._named = {item.name.lower(): item for item in tree.args.get("windows") or ()}
        self._taken = {name.lower() for name in source.relation.columns or ()}
        self._names: dict[tuple[str, int], str] = {}

    def replace_windows(self) -> exp.Select:
        """Return the query with the columns of the steps in place of the functions."""
        from sqlglot import expressions as exp

        nodes = [node for item in self._tree.expressions for node in _own_windows(item, exp)]
        framed = [node for node in nodes if not self._is_frameless(node)]
        columns = {id(node): self._column(node) for node in (*framed, *_without(nodes, framed))}
        tree = self._tree.copy()
        copies = [node for item in tree.expressions for node in _own_windows(item, exp)]
        for node, copy in zip(nodes, copies, strict=True):
            column: exp.Expr = exp.Var(this=quote(columns[id(node)]))
            if copy.parent is tree:  # without an alias
                number = next(i for i, item in enumerate(tree.expressions) if item is copy)
                column = exp.alias_(column, f"col{number + 1}")
            copy.replace(column)
        tree.set("windows", None)
        return tree

    def key_names(self) -> Any:
        """Return a function that names the keys of a window; those of computed keys differ between steps."""
        used = 0

        def names(window: Window) -> dict[str, str]:
            nonlocal used
            keys = {}
            for name, text in window.keys:
                used += 0 if name else 1
                keys[name or self._free(f"over_key{used}")] = text
            return keys

        return names

    def _column(self, node: exp.Window) -> str:
        """Return the column of a function, and add it to its window."""
        place = self._scope.place_of(node)
        window = self._window(node, place)
        text = self._call(node, place)
        known = self._names.get((text, id(window)))
        if known is None:
            known = self._free(f"over{len(self._names) + 1}")
            self._names[text, id(window)] = known
            window.calls[known] = Placed(text, place)
            window.waits = window.waits or _function(node) == "LEAD"
        return known

    def _call(self, node: exp.Window, place: str) -> str:
        function = _function(node)
        if function in _WHOLE:
            what = f"{function} needs all rows of the partition, which a stream never has"
            raise refuse(place, what, "use ROW_NUMBER(), RANK() or COUNT(*)")
        if function in ("LAG", "LEAD") and node.find(_expressions().IgnoreNulls):
            hint = "filter the rows without the value in a subquery"
            raise refuse(place, f"{function} with IGNORE NULLS is not supported", hint)
        return self._scope.text(node.this)

    def _window(self, node: exp.Window, place: str) -> Window:
        """Return the window of a function; one without a frame shares that of others in its order."""
        full = self._inherit(node, place)
        keys = tuple(self._key(part) for part in full.args.get("partition_by") or ())
        order, by_time, by_clock = self._order(full, place)
        frameless = self._is_frameless(node)
        if frameless and not order:
            hint = "such as ORDER BY ts"
            raise refuse(place, f"{_function(node)} needs ORDER BY", hint)
        frame = Frame() if frameless else self._frame(full, order, by_time or by_clock, place)
        for window in self.windows:
            same = (window.keys, window.order) == (keys, order)
            if same and (frameless or window.frame == frame):
                return window
        self.windows.append(Window(keys, order, frame, by_time, by_clock, place, {}))
        return self.windows[-1]

    def _inherit(self, node: exp.Window, place: str) -> exp.Window:
        """Return a window with the clauses of the named window that it refers to."""
        name = node.alias
        if not name:
            return node
        base = self._named.get(name.lower())
        if base is None:
            known = ", ".join(item.name for item in self._named.values()) or "none"
            raise refuse(place, f"unknown window `{name}`", f"the windows of the query: {known}")
        base = self._inherit(base, place) if base.alias and base.alias != base.name else base
        result = node.copy()
        for clause in ("partition_by", "order", "spec"):
            if not result.args.get(clause):
                result.set(clause, base.args.get(clause))
        return result

    def _key(self, part: exp.Expr) -> tuple[str, str]:
        text = self._scope.text(part)
        plain = text.strip("`")
        columns = {name.lower(): name for name in self._source.relation.columns or ()}
        if isinstance(part, _expressions().Column) and plain.lower() in columns:
            return columns[plain.lower()], text
        return "", text

    def _order(self, window: exp.Window, place: str) -> tuple[str, bool, bool]:
        """Return the order, and True if it is that of event time, or of arrival."""
        clause = window.args.get("order")
        items = list(clause.expressions) if clause is not None else []
        if not items:
            return "", False, False
        first, relation = items[0], self._source.relation
        ascending = not first.args.get("desc")
        column = first.this if isinstance(first.this, _expressions().Column) else None
        append = ascending and column is not None and relation.changes == "none"
        if column is not None and relation.is_clock(column.name):
            if not append or len(items) > 1:
                hint = "ORDER BY it alone, ascending, over rows that are not revised"
                raise refuse(place, "processing time is the order of arrival", hint)
            return str(column.name), False, True
        texts = [self._order_text(item) for item in items]
        by_time = append and relation.is_time(texts[0].strip("`"))
        return ", ".join(texts), by_time, False

    def _order_text(self, item: exp.Expr) -> str:
        text = self._scope.text(item.this)
        descending = bool(item.args.get("desc"))
        nulls_first = item.args.get("nulls_first")
        words = " desc" if descending else ""
        if nulls_first is not None and bool(nulls_first) == descending:  # not Spark's default
            words += " nulls first" if nulls_first else " nulls last"
        return text + words

    def _frame(self, window: exp.Window, order: str, by_time: bool, place: str) -> Frame:
        spec = window.args.get("spec")
        if spec is None:
            return Frame()
        if not order:
            if _is_whole(spec):
                return Frame()
            raise refuse(place, "a frame needs ORDER BY", "such as ORDER BY ts")
        kind, start = str(spec.args.get("kind")).upper(), spec.args.get("start")
        ends_here = str(spec.args.get("end") or "CURRENT ROW").upper() == "CURRENT ROW"
        precedes = str(spec.args.get("start_side") or "PRECEDING").upper() == "PRECEDING"
        if kind not in ("ROWS", "RANGE") or spec.args.get("exclude") or not ends_here or not precedes:
            raise refuse(place, "this frame is not supported", _FRAME_HINT)
        if str(start).upper() == "UNBOUNDED":
            return Frame("rows", "unbounded") if kind == "ROWS" else Frame()
        current = str(start).upper() == "CURRENT ROW"
        if kind == "ROWS":
            return Frame("rows", 0 if current else _whole_number(start, place))
        return self._distance(start, current, by_time, place)

    def _distance(self, start: Any, current: bool, by_time: bool, place: str) -> Frame:
        exp = _expressions()
        if current:
            return Frame("range", "0 seconds" if by_time else 0)
        if isinstance(start, exp.Literal) and not start.is_string:
            if by_time:
                hint = "such as RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW, or ROWS"
                raise refuse(place, "a range over event time is an interval", hint)
            return Frame("range", float(start.name) if "." in start.name else int(start.name))
        length = interval_length(start)
        if length is None:
            raise refuse(place, f"expected an interval, got `{start.sql()}`", "such as INTERVAL '1' HOUR")
        return Frame("range", duration_text(length))

    def _is_frameless(self, node: exp.Window) -> bool:
        return _function(node) in _FRAMELESS

    def _free(self, name: str) -> str:
        while name.lower() in self._taken:
            name += "_"
        return name


def _is_whole(spec: exp.WindowSpec) -> bool:
    """Return True if a frame is all rows of the partition."""
    bounds = [str(spec.args.get(name)).upper() for name in ("start", "end")]
    return bounds == ["UNBOUNDED", "UNBOUNDED"]


def _whole_number(start: Any, place: str) -> int:
    if not isinstance(start, _expressions().Literal) or not start.name.isdigit():
        raise refuse(place, f"expected a number of rows, got `{start.sql()}`", "such as ROWS 2 PRECEDING")
    return int(start.name)


def _function(node: exp.Window) -> str:
    """Return the name of the function of a window, in upper case."""
    exp = _expressions()
    call = node.this
    while isinstance(call, exp.IgnoreNulls | exp.RespectNulls | exp.Filter | exp.WithinGroup):
        call = call.this
    if isinstance(call, exp.Func) and not isinstance(call, exp.Anonymous):
        return str(call.sql_name()).upper()
    return str(call.name or call.key).upper()


def _own_windows(item: exp.Expr, exp: Any) -> list[exp.Window]:
    """Return the windows of a selected expression, without those of subqueries."""
    inside = item.walk(prune=lambda node: isinstance(node, exp.Query | exp.Window))
    return [node for node in inside if isinstance(node, exp.Window)]


def _without(nodes: list[exp.Window], others: list[exp.Window]) -> Iterator[exp.Window]:
    known = {id(node) for node in others}
    return (node for node in nodes if id(node) not in known)


def _expressions() -> Any:
    from sqlglot import expressions

    return expressions
