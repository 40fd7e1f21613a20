"""Facts about an output that can be derived without Spark: columns, time, and how its rows change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from headrace.functions.failures import rename_reserved
from headrace.schemas.fields import Schema
from headrace.steps.expressions import find_columns

Change = Literal["none", "updates", "refinements", "table"]
Time = Literal["event", "clock"]
"""`clock` for ingestion and processing time, where the watermark is the clock."""

CHANGE = "change"
"""The column of a table's rows: `insert`, `update_before`, `update_after` or `delete`. In the rows of a CDC
source it is a struct.
"""
LATE_COLUMNS = ("late_by", "window", "watermark", "reason")
_STRONGEST: tuple[Change, ...] = ("updates", "table", "refinements")
_NAME = re.compile(r"`([^`]+)`|([A-Za-z_]\w*)")
_ALIASED = re.compile(r"(.*)\sas\s+(?:`([^`]+)`|([A-Za-z_]\w*))\s*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Facts:
    """The facts about one output; every step derives them from the facts about its inputs."""

    columns: tuple[str, ...] | None = None
    """The names of its columns; None if only Spark can determine them."""
    schema: Schema | None = None
    """The declared types of columns that no step has computed."""
    timed: bool = False
    """True if its rows have a time: event, ingestion or processing time."""
    by_clock: bool = False
    """True if that time is a clock, so that the watermark is the clock."""
    time_column: str | None = None
    """The present name of the time column."""
    order_from: tuple[tuple[str, str], ...] = ()
    """Pairs of a column and its source, if it was computed by an order-preserving expression such as
    `timestamp_seconds(id)`.
    """
    hold: int | None = 0
    """How long after its event time a row may be emitted, in microseconds; None without bound. Matches wait
    for `within`.
    """
    change: Change = "none"
    """`table`: the rows are the changelog of a table, such as a running aggregate; `updates`: a SQL query of
    Spark emits a key again; `refinements`: a window fires more than once."""
    adds: bool = False
    """True for panes that fire more than once in discarding mode: a pane adds to the earlier ones."""
    table_key: tuple[str, ...] = ()
    """The columns that identify a row of a table; empty if unknown, and for the one row of an aggregate
    without keys.
    """
    fixed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The columns of an updated row that its later versions repeat, each with the keys of the running
    aggregate (`table_key`) that it is computed from.
    """
    keyed: bool = False
    """True for a running aggregate, whose keys are known: `table_key`, at present called as in `fixed`."""
    grows: bool = False
    """True for a table whose rows are replaced and never removed: a running aggregate over inserts."""
    cdc: bool = False
    """True for the changes of a CDC source, whose column `change` has the operation."""
    delivered: bool = False
    """True for the changes of a changelog source, which `latest` applies by key."""

    @property
    def time(self) -> Time:
        """The time of its rows, if they have one."""
        return "clock" if self.by_clock else "event"

    @property
    def order_columns(self) -> tuple[str, ...]:
        """The columns with the order of time: the time column, and those that it was computed from."""
        if self.time_column is None:
            return ()
        name = self.time_column.lower()
        return (self.time_column, *(source for column, source in self.order_from if column.lower() == name))


def late_facts(facts: Facts) -> Facts:
    """Return the facts of the `late` output of a step with this input."""
    return Facts(columns=None if facts.columns is None else late_columns(facts.columns))


def late_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of `late`: those of the input, renamed if necessary, then the late columns.

    >>> late_columns(["card", "window"])
    ('card', 'input_window', 'late_by', 'window', 'watermark', 'reason')
    """
    return (*rename_reserved(columns, LATE_COLUMNS), *LATE_COLUMNS)


def with_columns(facts: Facts, names: Iterable[str]) -> Facts:
    """Return the facts of rows with added or replaced columns."""
    names = tuple(names)
    if facts.columns is None:
        return replace(facts, schema=None)
    known = {column.lower() for column in facts.columns}
    added = tuple(name for name in names if name.lower() not in known)
    return replace(facts, columns=(*facts.columns, *added), schema=None)


def union_facts(inputs: Sequence[Facts]) -> Facts:
    """Return the facts of rows that come from several inputs."""
    keys = _common_keys(inputs)
    parts = [facts.columns for facts in inputs]
    columns = None if None in parts else tuple(dict.fromkeys(name for part in parts for name in part or ()))
    times = {facts.time_column for facts in inputs}
    changes, holds = {facts.change for facts in inputs}, {facts.hold for facts in inputs}
    return Facts(
        columns=columns,
        timed=all(facts.timed for facts in inputs),
        by_clock=any(facts.by_clock for facts in inputs),
        time_column=times.pop() if len(times) == 1 else None,
        order_from=tuple(pair for facts in inputs for pair in facts.order_from),
        hold=None if None in holds else max(holds, default=0),  # type: ignore[type-var]
        change=next((change for change in _STRONGEST if change in changes), "none"),
        adds=all(facts.adds for facts in inputs if facts.change == "refinements"),
        cdc=all(facts.cdc for facts in inputs),
        delivered=all(facts.delivered for facts in inputs),
        table_key=keys.table_key,
        fixed=keys.fixed,
        keyed=any(facts.keyed for facts in inputs),
        grows=all(facts.grows for facts in inputs),
    )


def _common_keys(inputs: Sequence[Facts]) -> Facts:
    """Return facts with the keys of updated rows that all inputs share; empty facts for other rows."""
    shared = len({(facts.change, facts.table_key, facts.fixed) for facts in inputs}) == 1
    return inputs[0] if shared and inputs[0].keyed else Facts()


def fixed_after(facts: Facts, items: Iterable[tuple[str | None, object]]) -> Facts:
    """Return the facts of updated rows with the columns `fixed` of named expressions."""
    fixed = {name.lower(): keys for name, keys in facts.fixed}
    after: dict[str, tuple[str, ...]] = {}
    for name, item in items:
        if item == "*":
            after.update(fixed)
        elif name is not None and (keys := _keys_of(item, facts.columns, fixed)) is not None:
            after[name.lower()] = keys
    return replace(facts, fixed=tuple(after.items()))


def _keys_of(
    item: object, columns: tuple[str, ...] | None, fixed: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...] | None:
    """Return the keys from which an expression is computed; None if it may depend on other columns."""
    source = source_column(item)
    if source is not None:
        return fixed.get(source.lower())
    if not isinstance(item, str) or columns is None:
        return None
    aliased = _ALIASED.fullmatch(item)
    text = aliased.group(1) if aliased else item
    used = [name.lower() for name in find_columns(columns, [text])]
    if not used and "(" in text:  # such as now()
        return None
    return (
        tuple(dict.fromkeys(key for name in used for key in fixed[name])) if set(used) <= set(fixed) else None
    )


def plain_column(expression: object) -> str | None:
    """Return the column if an expression is only a column name, otherwise None.

    >>> plain_column("card"), plain_column("lower(card)")
    ('card', None)
    """
    match = _NAME.fullmatch(expression.strip()) if isinstance(expression, str) else None
    return (match.group(1) or match.group(2)) if match else None


def output_name(item: object) -> str | None:
    """Return the name of the column that an item of a select produces; None if only Spark can determine it.

    >>> output_name("amount * 2 as double"), output_name("card"), output_name("upper(card)")
    ('double', 'card', None)
    """
    aliased = _ALIASED.fullmatch(item) if isinstance(item, str) else None
    return (aliased.group(2) or aliased.group(3)) if aliased else plain_column(item)


def source_column(item: object) -> str | None:
    """Return the column that an item of a select passes on unchanged or renamed; otherwise None.

    >>> source_column("ts as at"), source_column("upper(card) as card")
    ('ts', None)
    """
    aliased = _ALIASED.fullmatch(item) if isinstance(item, str) else None
    return plain_column(aliased.group(1) if aliased else item)


def duplicates(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once; Spark does not distinguish upper and lower case.

    >>> duplicates(["card", "n", "Card"])
    ['Card']
    """
    names = list(names)
    counts = Counter(name.lower() for name in names)
    return [name for name in {name.lower(): name for name in names}.values() if counts[name.lower()] > 1]
