"""The rows of a running aggregate on their way to a sink that replaces rows by key.

Spark's running aggregate emits the new row of a changed key. A filter after it drops new rows, so that a sink
with a key would keep the old ones: the aggregate then runs in the kernel, which emits old and new rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headrace.steps.base import Node, Plan
from headrace.steps.rows.columns import ColumnNode
from headrace.steps.rows.route import Route
from headrace.steps.rows.union import Union
from headrace.steps.tables.retractions import has_retractions
from headrace.steps.traits import Finding

if TYPE_CHECKING:
    from headrace.steps.facts import Facts

_CARRY_CHANGES = (ColumnNode, Route, Union)
"""Steps that process old and new rows alike."""


def replaces_rows(sink: Any, facts: Facts) -> bool:
    """Return True if a sink replaces the rows of a running aggregate, whose keys its key identifies.

    Others append rows: without a key, or with the key of a Kafka record that several rows share.
    """
    if facts.change != "updates":
        return True
    fixed = {name.lower(): keys for name, keys in facts.fixed}
    names = [name.lower() for name in sink.connector.row_key]
    covered = {key for name in names for key in fixed.get(name, ())}
    return bool(names) and set(names) <= set(fixed) and set(facts.table_key) <= covered


def is_filtered(plan: Plan, node: Node) -> bool:
    """Return True if a sink replaces rows of this running aggregate that a step before it may drop."""
    return any(
        sink.mode != "complete"
        and replaces_rows(sink, plan.facts(sink.input))
        and any(step.drops_rows for step in _path(plan, sink))
        for sink in plan.sinks_of(node)
        if sink.connector.row_key
    )


def check_replaced(plan: Plan, sink: Any) -> Iterator[Finding]:
    """Yield the reasons for which a sink with a key would keep rows that no longer exist."""
    facts, connector = plan.facts(sink.input), sink.connector
    if facts.change != "updates" or sink.mode == "complete" or not connector.row_key:
        return
    if connector.kind != "kafka":  # a record of Kafka can share its key with others
        yield from _check_key(facts, connector.row_key)
    for step in _path(plan, sink):
        if step.drops_rows and (connector.kind == "redis" or not _carry_changes(plan, sink)):
            what = f"a key whose row `{step.name.split(':')[0]}` ({step.verb}) drops would keep its old row"
            hint = 'use key_by(...).aggregate(...).where("n > 1"), and write that to a table with a key'
            yield Finding(what, hint, ("from",))
            return
        if step.verb == "sql" and is_over_table(plan, step):
            what = f"a key that leaves the table behind `{step.name}` would keep its old row"
            yield Finding(what, "use where(...) and select(...) instead of sql", ("from",))
            return


def is_over_table(plan: Plan, node: Node) -> bool:
    """Return True if a step reads a running aggregate over a table, whose keys can disappear."""
    return any(
        step.verb == "aggregate" and step.updates and has_retractions(plan.facts(step.inputs[0]))
        for step in plan.upstream(node)
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


def _carry_changes(plan: Plan, sink: Any) -> bool:
    """Return True if the steps between the aggregate and a sink process its old rows, too."""
    steps = list(_path(plan, sink))
    stateful = [step for step in plan.upstream(sink) if step.stateful and step.updates]
    return all(isinstance(step, _CARRY_CHANGES) for step in steps) and all(
        step.verb == "aggregate" for step in stateful
    )


def _path(plan: Plan, sink: Node) -> Iterator[Node]:
    """Yield the steps between a sink and the stateful steps before it."""
    nodes = {node.name: node for node in plan.upstream(sink)}
    todo = [ref.step for ref in sink.inputs]
    while todo:
        step = nodes[todo.pop()]
        if not step.stateful:
            yield step
            todo += [ref.step for ref in step.inputs]
