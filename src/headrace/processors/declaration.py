"""The declaration of a processor class for the plan: its outputs, timers and state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.errors import OptionError
from headrace.functions.signatures import missing_output, output_of
from headrace.processors.processor import Processor
from headrace.schemas.fields import Schema


@dataclass(frozen=True)
class Declaration:
    """The outputs, timers and state that a processor declares."""

    output: Schema
    side_outputs: tuple[tuple[str, Schema], ...]
    has_event_timers: bool
    has_clock_timers: bool
    has_ttl: bool
    has_state: bool
    """False if a key never has state."""


def declaration_of(target: Any, *, name: str, output: Any = None) -> Declaration:
    """Return the declaration of a processor class or instance.

    Raises:
        OptionError: it is no processor, or a side output has the name of another output.
        SchemaError: the columns of an output are unknown or invalid.
    """
    where = f"`{name}`"
    kind = target if isinstance(target, type) else type(target)
    if not issubclass(kind, Processor):
        hint = "derive it from headrace.Processor; for a function of state and row, use stateful_map"
        raise OptionError(f"expected a Processor class, got {target!r}", where=where, hint=hint)
    declared = output if output is not None else target.output
    columns = Schema.of(declared) if declared is not None else output_of(kind.process, many=True)
    if columns is None:
        raise missing_output(name)
    sides = [(side, Schema.of(item.schema)) for side, item in kind.side_outputs.items()]
    for side, _ in sides:
        if side in ("main", "dead_letters", "late", "visited"):
            raise OptionError(f"a side output cannot be called `{side}`", where=where, hint="rename it")
    domains = {timer.domain for timer in kind.declared_timers.values()}
    has_ttl = any(cell.ttl is not None for cell in kind.cells.values())
    has_state = bool(kind.cells or kind.declared_timers)
    return Declaration(columns, tuple(sides), "event" in domains, "clock" in domains, has_ttl, has_state)
