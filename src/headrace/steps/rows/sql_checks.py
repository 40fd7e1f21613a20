"""Checks of a SQL query against the streams that it reads: event time, changes, and bounds of outer joins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from headrace.sql.shape import QueryShape, conditions_of
from headrace.steps.facts import Facts
from headrace.steps.traits import Finding

if TYPE_CHECKING:
    from sqlglot import expressions as exp

Tables = Mapping[str, Facts]
_KEYS = ("sql",)
_STEPS = "or use where(...) and select(...), which carry the changes along"


def check_against(shape: QueryShape, tables: Tables) -> Iterator[Finding]:
    """Yield the problems of a query over these tables."""
    if shape.windows:
        yield from _check_time(shape, tables)
    yield from _check_changes(shape, tables)
    if len(shape.joins) == 1:
        yield from _check_outer_join(shape.joins[0], tables)


def _check_time(shape: QueryShape, tables: Tables) -> Iterator[Finding]:
    """Check that the grouped window is over event time: a result is emitted when the watermark passes it."""
    if len(tables) != 1 or len(shape.windows) != 1:
        return  # another problem
    [(table, facts)] = tables.items()
    call = shape.windows[0].name
    if not facts.timed:
        hint = 'declare it before the query with event_time("ts"), so that windows close'
        yield Finding(f"group by {call}(...) needs event time, but `{table}` has none", hint, _KEYS)
    elif facts.time_column is None or (shape.time_column or "").lower() != facts.time_column.lower():
        time = f"`{facts.time_column}`" if facts.time_column else "no column of the query"
        what = f"group by {call}(...) needs the column of event time, which is {time}, so that windows close"
        yield Finding(what, "group by it, or use event_time(...).window(...).aggregate(...)", _KEYS)


def _check_changes(shape: QueryShape, tables: Tables) -> Iterator[Finding]:
    """Check that the query passes on the column by which later steps and sinks recognise removed rows."""
    if shape.groups or shape.joins:
        return  # steps with state check their inputs
    for table, facts in tables.items():
        if facts.change == "table" and not facts.keyed and not shape.keeps("change"):
            what = f"`{table}` is a table, whose removed rows would be results: the query drops its `change`"
            hint = f"select `change` of this one table without joins and subqueries, {_STEPS}"
            yield Finding(what, hint, _KEYS)
        if facts.change == "refinements" and not facts.adds and not shape.keeps("pane"):
            what = f"`{table}` replaces rows, whose old versions would be results: the query drops its `pane`"
            hint = f"select `pane` of this one stream without joins and subqueries, {_STEPS}"
            yield Finding(what, hint, _KEYS)


def _check_outer_join(join: exp.Join, tables: Tables) -> Iterator[Finding]:
    """Check that an outer join has the bounds of event time that Spark needs to emit unmatched rows."""
    from sqlglot import expressions as exp

    if not join.side and join.kind != "SEMI":
        return
    untimed = [name for name, facts in tables.items() if not facts.timed]
    if untimed:
        what = f"an outer join of streams needs event time, but `{untimed[0]}` has none"
        yield Finding(what, "declare it before the query: event_time(..., step_name=...)", _KEYS)
        return
    source = join.parent.args.get("from_") if join.parent is not None else None
    sides = [source.this if source is not None else None, join.this]
    if not all(isinstance(side, exp.Table) and side.name in tables for side in sides):
        what = "both sides of an outer join must be streams, not subqueries"
        yield Finding(what, "write the subqueries as steps", _KEYS)
        return
    left, right = ((side.alias_or_name, tables[side.name].time_column or "") for side in sides)
    bounds = [(right, left)] if join.side in ("LEFT", "FULL", "") else []
    bounds += [(left, right)] if join.side in ("RIGHT", "FULL") else []
    for low, high in bounds:
        if not any(_is_bound(condition, low, high) for condition in conditions_of(join)):
            times = f"{low[0]}.{low[1]} <= {high[0]}.{high[1]} + interval 10 seconds"
            what = "an outer join of streams needs a bound of event times, so that unmatched rows are emitted"
            how = (join.side or "semi").lower()
            hint = f'add a condition such as {times}, or use join(..., how="{how}", within=...)'
            yield Finding(what, hint, _KEYS)
            return


def _is_bound(condition: exp.Expr, low: tuple[str, str], high: tuple[str, str]) -> bool:
    """Return True if a condition bounds the time `low` from above by the time `high`."""
    from sqlglot import expressions as exp

    if isinstance(condition, exp.Between):
        pairs = [(condition.this, condition.args["high"]), (condition.args["low"], condition.this)]
    elif isinstance(condition, exp.LT | exp.LTE):
        pairs = [(condition.left, condition.right)]
    elif isinstance(condition, exp.GT | exp.GTE):
        pairs = [(condition.right, condition.left)]
    elif isinstance(condition, exp.EQ):
        pairs = [(condition.left, condition.right), (condition.right, condition.left)]
    else:
        return False
    return any(_is_time(less, low) and _is_time(more, high) for less, more in pairs)


def _is_time(expression: exp.Expr, time: tuple[str, str]) -> bool:
    """Return True for a column of time, plus or minus an interval."""
    from sqlglot import expressions as exp

    columns = list(expression.find_all(exp.Column))
    plain = (
        exp.Column,
        exp.Identifier,
        exp.Add,
        exp.Sub,
        exp.Paren,
        exp.Interval,
        exp.Literal,
        exp.Var,
        exp.Neg,
    )
    if len(columns) != 1 or not all(
        isinstance(node, (*plain, exp.IntervalSpan)) for node in expression.walk()
    ):
        return False
    table, name = columns[0].table.lower(), columns[0].name.lower()
    return name == time[1].lower() and table in ("", time[0].lower())
