"""State signatures: what the state of a step depends on, compared before a checkpoint is reused.

State that is read under another declaration gives wrong results, often without an error: Spark accepts the
state of `sum(amount)` for `sum(fee)`. A step is therefore rejected if its declaration, or the type of a
column that it uses, has changed. Changes of sinks, of stateless steps and additional columns are allowed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.checkpoints.layout import read_record, write_record
from headrace.durations import text
from headrace.errors import Problem
from headrace.steps.base import Node
from headrace.steps.expressions import Opaque, one_line, stable_text

NAME = "step.json"
VERSION = 2
"""The version of this file and of the kernel's state format. Version 0.1 wrote none."""

Signature = dict[str, Any]

STATELESS: Signature = {"version": VERSION, "step": "stateless", "fields": {}, "columns": {}}

_DURATIONS = {
    "size",
    "offset",
    "every",
    "gap",
    "reset",
    "step",
    "period",
    "whole",
    "between",
    "lateness",
    "ttl",
    "within",
    "lower",
    "upper",
    "tolerance",
}


def signature_of(
    node: Node, columns: Mapping[str, str], *, by_clock: bool = False, changes: bool = False
) -> Signature:
    """Return the signature of a step's state.

    Args:
        node: the step.
        columns: the types of its input columns, as Spark prints them.
        by_clock: True if its time is the clock.
        changes: True for a running aggregate in the kernel, whose rows are changes.

    >>> from headrace.steps.base import Ref
    >>> from headrace.steps.stateful.aggregate import Aggregate
    >>> node = Aggregate("totals", Ref("tx"), aggregates=(("n", "sum(v)"),))
    >>> signature_of(node, {"v": "bigint", "note": "string"})["columns"]
    {'v': 'bigint'}
    """
    if not node.stateful:
        return dict(STATELESS)
    time = {"time": "clock" if by_clock else "event"} if node.needs_time else {}
    fields = {name: _plain(value) for name, value in node.state_fields().items() if value is not None}
    fields |= {"output": "changes"} if changes else {}
    types = {name: columns[name] for name in node.state_columns(list(columns)) if name in columns}
    return {"version": VERSION, "step": node.verb, "fields": fields | time, "columns": types}


def read_signature(checkpoint: Path) -> Signature | None:
    """Return the signature stored beside the checkpoint of a query; None if there is none."""
    signature: Signature | None = read_record(checkpoint, NAME)
    return signature


def write_signature(checkpoint: Path, signature: Signature) -> None:
    """Store a signature beside a query's checkpoint."""
    write_record(checkpoint, NAME, signature)


def signature_problem(where: str, was: Signature | None, now: Signature) -> Problem | None:
    """Return the problem if a checkpoint has the state of another declaration; None if it can be reused.

    >>> kinds = ("sum(v)", "avg(v)")
    >>> total, mean = ({"version": 2, "step": "aggregate", "fields": {"aggregates": [a]}} for a in kinds)
    >>> print(signature_problem("`totals`", total, mean))
    `totals`: its checkpoint holds the state of another declaration: aggregates were `sum(v)`, are `avg(v)`
      hint: restore the declaration to resume, or start over with --fresh (or rename the step)
    """
    if was is None or was == now:
        return None
    if was.get("version") != now["version"]:
        writer = f"version {was['version']}" if "version" in was else "version 0.1 of Headrace"
        what = f"its checkpoint was written by {writer}, whose state this version cannot read"
        return Problem(where, what, "start over with --fresh")
    return Problem(
        where,
        f"its checkpoint holds the state of another declaration: {'; '.join(differences(was, now))}",
        "restore the declaration to resume, or start over with --fresh (or rename the step)",
    )


def differences(was: Signature, now: Signature) -> list[str]:
    """Describe each field and column type in which two signatures differ."""
    if was["step"] != now["step"]:
        return [_difference("step", was["step"], now["step"])]
    before, after = (
        {**signature["fields"], "columns": signature.get("columns", {})} for signature in (was, now)
    )
    names = dict.fromkeys((*before, *after))
    return [
        _difference(name, before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    ]


def _difference(name: str, was: Any, now: Any) -> str:
    plural = name.endswith("s") and name != "lateness"
    old, new = ("were", "are") if plural else ("was", "is")
    separator = " " if name == "columns" else " = "
    before, after = (_render(value, name, separator) or "nothing" for value in (was, now))
    return f"{name} {old} `{before}`, {new} `{after}`"


def _plain(value: Any) -> Any:
    """Return a value as JSON data; a declaration as its kind and the fields that differ from defaults."""
    if isinstance(value, Opaque):
        return stable_text(value)
    if dataclasses.is_dataclass(value):
        fields = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
        set_fields = {field.name: _plain(item) for field, item in fields if item != field.default}
        return {"kind": re.sub(r"(?<!^)(?=[A-Z])", "_", type(value).__name__).lower(), **set_fields}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, int | float) else one_line(str(value))


def _render(value: Any, name: str = "", separator: str = " = ") -> str:
    """Format JSON data of a signature for an error."""
    if isinstance(value, Mapping) and "kind" in value:
        counts = value["kind"] == "count"
        items = ((key, item) for key, item in value.items() if key != "kind")
        shown = (f"{key}={_render(item, '' if counts else key)}" for key, item in items)
        return f"{value['kind']}({', '.join(shown)})"
    if isinstance(value, Mapping):
        return ", ".join(
            key if key == item else f"{key}{separator}{_render(item)}" for key, item in value.items()
        )
    if isinstance(value, list):
        return ", ".join(map(_render, value))
    if isinstance(value, int) and not isinstance(value, bool) and name in _DURATIONS:
        return text(value)
    return "" if value is None else str(value)
