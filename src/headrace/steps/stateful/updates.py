"""The rows of a running aggregate on their way to sinks.

A running aggregate is a table. Sinks that replace rows by key apply its changes, others get the new row of
each changed key, or every change. A SQL query of Spark over it, or with an aggregation of its own, emits new
rows only, so that no filter may remove one before a sink that replaces rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headrace.steps.base import Node, Plan, Ref
from headrace.steps.facts import output_name, source_column
from headrace.steps.rows.columns import ColumnNode, Select, Where, WithColumns
from headrace.steps.rows.route import Route
from headrace.steps.rows.union import Union
from headrace.steps.traits import Finding

if TYPE_CHECKING:
    from headrace.steps.facts import Facts

_RANK = "rank"
"""The column of the ranks of `top_n`."""
_CARRY_CHANGES = (ColumnNode, Route, Union)
"""Steps that process the old and the new row of a change alike."""


def replaces_rows(sink: Any, facts: Facts) -> bool:
    """Return True if a sink replaces the rows of a running aggregate, whose keys its key identifies.

    Others append rows: without a key, or with the key of a Kafka record that several rows share.
    """
    if not facts.keyed:
        return True
    fixed = {name.lower(): keys for name, keys in facts.fixed}
    names = [name.lower() for name in sink.connector.row_key]
    covered = {key for name in names for key in fixed.get(name, ())}
    return bool(names) and set(names) <= set(fixed) and set(facts.table_key) <= covered


def needs_old_rows(plan: Plan, node: Node) -> bool:
    """Return True if a later step or sink reads the rows that the changes of a table remove."""
    for step in later_steps(plan, node):
        if step.stateful:
            return True
        if step.verb == "write":
            facts = plan.facts(step.inputs[0])
            replaces = bool(step.connector.row_key) and replaces_rows(step, facts)
            if step.write_mode(plan) == "changes" or (replaces and not facts.grows):
                return True
    return False


def check_replaced(plan: Plan, sink: Any) -> Iterator[Finding]:
    """Yield the reasons for which a sink with a key would keep rows that no longer exist."""
    facts, connector = plan.facts(sink.input), sink.connector
    if not facts.keyed or sink.mode == "complete" or not connector.row_key:
        return
    if connector.kind != "kafka":  # a record of Kafka can share its key with others
        yield from _check_key(facts, connector.row_key)
    if facts.grows:
        return
    labelled = facts.change == "table" and connector.kind != "redis"
    for step in _path(plan, sink):
        if step.drops_rows and not (labelled and isinstance(step, _CARRY_CHANGES)):
            what = f"a key whose row `{step.name.split(':')[0]}` ({step.verb}) drops would keep its old row"
            hint = 'use key_by(...).aggregate(...).where("n > 1"), and write that to a table with a key'
            yield Finding(what, hint, ("from",))
            return
    if not labelled:
        what = f"a key that leaves the table behind `{sink.input.step.split(':')[0]}` would keep its old row"
        yield Finding(
            what, "use where(...) and select(...) instead of sql, and a sink that deletes", ("from",)
        )


def _check_key(facts: Facts, key: tuple[str, ...]) -> Iterator[Finding]:
    fixed = {name.lower(): keys for name, keys in facts.fixed}
    keys = ", ".join(facts.table_key)
    hint = (
        f"use the keys of the aggregate as the key of the sink: {keys}"
        if keys
        else ('remove `key`, or add a constant column to be the key: with_columns(id="1")')
    )
    for name in key:
        if name.lower() not in fixed:
            what = (
                f"`{name}` of the sink's key is not a key of the running aggregate: rows with its old values "
            )
            yield Finding(f"{what}would remain", hint, ("key",))
            return
    missing = set(facts.table_key) - {each for name in key for each in fixed[name.lower()]}
    if missing:
        names = ", ".join(sorted(missing))
        what = f"the sink's key lacks {names}: rows would replace those of other keys of the aggregate"
        yield Finding(what, hint, ("key",))


def warn_of_key(plan: Plan, sink: Any) -> Iterator[Finding]:
    """Yield a warning if the key of a sink does not identify the rows of the table that it gets."""
    facts, key = plan.facts(sink.input), sink.connector.row_key
    if facts.change != "table" or facts.keyed or not key or sink.mode in ("changes", "complete"):
        return
    producer, steps = _producer(plan, sink)
    sources: list[str | None] = list(key)
    for step in steps:
        if isinstance(step, Select | WithColumns):
            computed = {name or output_name(item): source_column(item) for name, item in step.columns}
            sources = [computed.get(name, name) if name is not None else None for name in sources]
    identifying = set(plan.facts(Ref(producer.name)).table_key)
    if getattr(producer, "n", 0) == 1 or any(isinstance(step, Where) for step in steps):
        identifying -= {_RANK}  # a filter may keep one rank
    missing = {name.lower() for name in identifying} - {name.lower() for name in sources if name is not None}
    if missing and None not in sources:
        parts = ", ".join(sorted(missing))
        what = (
            f"the sink's key {', '.join(key)} does not identify the rows, as {parts} is not part of it: "
            "of several rows with the same key, the last one remains"
        )
        yield Finding(what, f"the key of the rows is {', '.join(sorted(identifying))}", ("key",))


def _producer(plan: Plan, sink: Any) -> tuple[Node, list[ColumnNode]]:
    """Return the step that makes the rows of a sink, and the projections and filters after it, backwards."""
    nodes = {node.name: node for node in plan.upstream(sink)}
    step, steps = nodes[sink.input.step], []
    while isinstance(step, ColumnNode):
        steps.append(step)
        step = nodes[step.input.step]
    return step, steps


def later_steps(plan: Plan, node: Node) -> Iterator[Any]:
    """Yield the steps and sinks that read a step, up to the stateful ones."""
    todo = [Ref(node.name, output) for output in node.outputs]
    while todo:
        for step in plan.consumers.get(todo.pop(), ()):
            yield step
            if not step.stateful:
                todo += [Ref(step.name, output) for output in step.outputs]


def _path(plan: Plan, sink: Node) -> Iterator[Node]:
    """Yield the steps between a sink and the stateful steps before it."""
    nodes = {node.name: node for node in plan.upstream(sink)}
    todo = [ref.step for ref in sink.inputs]
    while todo:
        step = nodes[todo.pop()]
        if not step.stateful:
            yield step
            todo += [ref.step for ref in step.inputs]
