"""What a checkpoint's stateful step was declared as: written beside the checkpoint, compared before it is used again.

State is bytes whose meaning is in the declaration. Read by another one they give wrong results, and often no error: Spark
takes the state of `sum(amount)` for that of `sum(fee)`. So a step whose own declaration, or the type of a column it looks
at, has changed is refused. Other sinks, other stateless steps and more columns are not its state's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headrace.checkpoints.layout import read_record, write_record
from headrace.durations import text as length
from headrace.errors import Problem
from headrace.steps.base import Node
from headrace.steps.expressions import Expression, Named, Opaque, PythonFold
from headrace.steps.grammar.triggers import TriggerModel
from headrace.steps.grammar.windows import WindowModel
from headrace.steps.patterns.match import Match, MatchOptions
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.sql import Sql
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.stateful.window import WindowAggregate
from headrace.windows import Trailing

NAME = "step.json"
STATELESS: dict[str, str] = {"step": "stateless"}

_IN_ORDER = {"layout": "one entry a key"}
"""How the kernel keeps the state of patterns; it once kept rows that wait in a list of their own."""

Record = dict[str, str]
"""What matters of a step for its state, in words, by the name of each thing."""


def record_of(node: Node, columns: Mapping[str, str], *, by_clock: bool = False) -> Record:
    """What a node's state depends on.

    Args:
        node: the step.
        columns: the types of all columns of its input, as Spark says them.
        by_clock: whether the clock is its time.

    >>> from headrace.steps.base import Ref
    >>> node = Distinct("unique", Ref("tx"), ("id",), 60_000_000)
    >>> record_of(node, {"id": "bigint", "note": "string"})
    {'step': 'distinct', 'on': 'id', 'within': '1 minute', 'columns': 'id bigint'}
    """
    match node:
        case WindowAggregate():
            record, looked_at = _window(node, by_clock), _looked_at_by_window(node, columns)
        case Match():
            record, looked_at = _match(node, by_clock), list(columns)
        case MatchRules():
            time = "clock" if by_clock else "event"
            record, looked_at = {"keys": _named(node.keys), "order": node.order, "time": time}, list(columns)
        case Distinct():
            within = length(node.within) if node.within is not None else "for ever"
            record, looked_at = {"on": ", ".join(node.on), "within": within}, list(node.on)
        case Aggregate():
            record = {"keys": _named(node.keys), "aggregates": _listed(node.aggregates)}
            looked_at = _mentioned(columns, _expressions(node.keys, node.aggregates))
        case Sql():
            record, looked_at = {"query": _one_line(node.query)}, _mentioned(columns, [node.query])
        case RowPattern():
            record, looked_at = _row_pattern(node), list(columns)
        case _:
            return dict(STATELESS)
    typed = ", ".join(f"{name} {columns[name]}" for name in looked_at if name in columns)
    return {"step": node.verb, **record, "columns": typed}


def kept(checkpoint: Path) -> Record | None:
    """The record of the step that made a query's checkpoint; None where there is none, or nothing was run."""
    record: Record | None = read_record(checkpoint, NAME)
    return record


def keep(checkpoint: Path, record: Record) -> None:
    """Write the record beside the checkpoint."""
    write_record(checkpoint, NAME, record)


def changed(where: str, was: Record | None, now: Record) -> Problem | None:
    """What is wrong where a checkpoint's step is declared differently now.

    >>> print(changed("`totals`", {"step": "aggregate", "keys": "card"}, {"step": "aggregate", "keys": "shop"}))
    `totals`: its checkpoint holds the state of another declaration: keys were `card`, are `shop`
      hint: put that back to resume, or start over with --fresh (or rename the step)
    """
    if was is None or was == now:
        return None
    names = ["step"] if was["step"] != now["step"] else dict.fromkeys((*was, *now))
    said = [_difference(name, was.get(name, ""), now.get(name, "")) for name in names]
    return Problem(
        where,
        f"its checkpoint holds the state of another declaration: {'; '.join(filter(None, said))}",
        "put that back to resume, or start over with --fresh (or rename the step)",
    )


def _window(node: WindowAggregate, by_clock: bool) -> Record:
    emission = node.emission
    return {
        "window": _plain(WindowModel.describe(node.window).document()),
        "keys": _named(node.keys),
        "aggregates": _listed(node.aggregates),
        "trigger": _plain(TriggerModel.describe(emission.trigger).document()),
        "lateness": length(emission.lateness),
        "mode": emission.mode,
        "late_rows": emission.late_rows,
        "time": "clock" if by_clock else "event",
        **({"ttl": length(node.ttl)} if node.ttl is not None else {}),
    }


def _match(node: Match, by_clock: bool) -> Record:
    """What a match gives is computed from its rows when it is found: it is not in the state, unless it says what is kept."""
    free = ("late_rows", "timeouts", *(() if node.narrow else ("select",)))
    said = {
        name: _plain(value)
        for name, value in MatchOptions.from_values(node).document().items()
        if name not in free
    }
    return {"keys": _named(node.keys), **said, "time": "clock" if by_clock else "event", **_IN_ORDER}


def _row_pattern(node: RowPattern) -> Record:
    """What decides which rows are kept and how far the search has come; measures say which of their columns are."""
    clause = node.clause
    within = length(clause.within) if clause.within is not None else "for ever"
    return {
        "keys": ", ".join(clause.partition_by),
        "pattern": json.dumps(clause.pattern.plain()),
        "conditions": ", ".join(f"{name} as {_one_line(text.text)}" for name, text in clause.define),
        "measures": ", ".join(_one_line(text.text) for _, text in clause.measures),
        "subsets": ", ".join(f"{name} = {' '.join(members)}" for name, members in clause.subsets),
        "skip": " ".join((clause.skip, *clause.skip_to)),
        "rows": clause.rows,
        "within": within,
        **_IN_ORDER,
    }


def _looked_at_by_window(node: WindowAggregate, columns: Mapping[str, str]) -> list[str]:
    """Columns whose types are in the state: of rows that wait there, all of them in their order."""
    waits = node.window.order_dependent and getattr(node.window, "order", "") != "arrival"
    if waits or isinstance(node.window, Trailing):
        return list(columns)
    conditions = [str(getattr(node.window, name, None) or "") for name in ("when", "of")]
    return _mentioned(columns, [*_expressions(node.keys, node.aggregates), *conditions])


def _mentioned(columns: Iterable[str], expressions: Iterable[str]) -> list[str]:
    """Those columns whose names are in the expressions: some too many, rather than one too few."""
    said = " ".join(expressions).lower()
    return [
        name for name in columns if re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", said) is not None
    ]


def _expressions(*several: Named) -> list[str]:
    return [_text(expression) for named in several for _, expression in named]


def _named(columns: Named) -> str:
    said = ((name, _text(expression)) for name, expression in columns)
    return ", ".join(name if name == text else f"{name} = {text}" for name, text in said)


def _listed(columns: Named) -> str:
    """Without names: the state has none."""
    return ", ".join(_expressions(columns))


def _text(expression: Expression) -> str:
    if isinstance(expression, PythonFold):  # its arguments are what is kept; what is made of them may change
        return f"python({', '.join(map(str, expression.aggregate.of))})"
    if isinstance(expression, Opaque):
        # Spark numbers the arguments of lambdas and the calls of Python functions anew in every process.
        return re.sub(r"#\d+L?|(?<=\b[xyz])_\d+", "", _one_line(str(expression.column)))
    return _one_line(expression)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _plain(said: Any) -> str:
    """A document's words without its brackets: `sliding(size(1 hour), every(10 minutes))`."""
    if isinstance(said, Mapping):
        return ", ".join(f"{key}({_plain(value)})" for key, value in said.items())
    if isinstance(said, list):
        return ", ".join(map(_plain, said))
    return str(said)


def _difference(name: str, was: str, now: str) -> str:
    if was == now:
        return ""
    many = name.endswith("s") and name not in ("lateness",)
    be = ("were", "are") if many else ("was", "is")
    return f"{name} {be[0]} `{was or 'nothing'}`, {be[1]} `{now or 'nothing'}`"
