"""`emit` and triggers in documents."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Annotated, Any, Self

from annotated_types import Len, MinLen
from pydantic import Field

from headrace import triggers
from headrace.durations import text as duration_text
from headrace.steps.grammar.model import DeclarationModel, DocumentModel, OneKey, write_as
from headrace.steps.grammar.values import Expected, Flag, LengthText, Rows
from headrace.triggers import Emission, LateRows, Mode, Trigger

Several = Annotated[
    tuple["TriggerModel", ...],
    MinLen(1),
    Expected("a list of triggers", "such as {any_of: [{every: 1 minute}, {after_count: 100}]}"),
]
Pair = Annotated[
    tuple["TriggerModel", ...],
    Len(2, 2),
    Expected("a list of two triggers", "such as {or_finally: [trigger, until]}"),
]


class AfterWatermarkParts(DocumentModel):
    """The triggers before and after the watermark passes the end of the window."""

    label = "after_watermark"
    example = "such as {after_watermark: {early: {every: 30 seconds}}}"
    early: TriggerModel | None = None
    late: TriggerModel | None = None

    def build(self) -> dict[str, Trigger]:
        """Return the triggers by name."""
        parts = {"early": self.early, "late": self.late}
        return {name: part.build() for name, part in parts.items() if part is not None}


class TriggerModel(OneKey[Trigger]):
    """A trigger."""

    label = "trigger"
    example = "such as {every: 30 seconds} or {after_count: 100}"
    bare = frozenset({"after_watermark"})
    every: LengthText | None = None
    after_count: Rows | None = None
    after_watermark: AfterWatermarkParts | None = None
    any_of: Several | None = None
    all_of: Several | None = None
    in_sequence: Several | None = None
    repeatedly: TriggerModel | None = None
    or_finally: Pair | None = None

    def build(self) -> Trigger:
        """Call the function of the same name in `headrace.triggers`."""
        name, value = self.choice
        make: Callable[..., Trigger] = getattr(triggers, name)
        if isinstance(value, AfterWatermarkParts):
            return make(**value.build())
        parts = value if isinstance(value, tuple) else (value,)
        return make(*(part.build() if isinstance(part, TriggerModel) else part for part in parts))

    @classmethod
    def from_values(cls, source: Trigger) -> Self:
        """Return the model of a trigger."""
        return cls.model_validate(_plain(source))


def _plain(trigger: Trigger) -> dict[str, Any]:
    """Return the plain value of a trigger: its class name in snake case, and its fields."""
    key = re.sub(r"(?<!^)(?=[A-Z])", "_", type(trigger).__name__).lower()
    fields = {field.name: getattr(trigger, field.name) for field in dataclasses.fields(trigger)}
    if isinstance(trigger, triggers.AfterWatermark):
        return {key: {name: _plain(part) for name, part in fields.items() if part is not None}}
    values = [part for value in fields.values() for part in (value if isinstance(value, tuple) else (value,))]
    parts = [_plain(part) if isinstance(part, Trigger) else part for part in values]
    if isinstance(trigger, triggers.Every):
        return {key: duration_text(trigger.period)}
    single = isinstance(trigger, triggers.AfterCount | triggers.Repeatedly)
    return {key: parts[0] if single else parts}


class EmitModel(DeclarationModel[Emission]):
    """The value of `emit`: trigger, lateness and accumulation mode of windows."""

    label = "emit"
    example = "such as {lateness: 5 minutes, mode: retracting}"
    early: TriggerModel | None = Field(
        default=None, description="Fires before the watermark passes the window's end, repeatedly"
    )
    late: TriggerModel | None = Field(default=None, description="Fires after it, repeatedly")
    trigger: TriggerModel | None = Field(default=None, description="The long form, instead of early and late")
    lateness: LengthText = Field(
        default="0 seconds", description="How long after its end a window accepts rows"
    )
    mode: Mode = Field(default="accumulating", description="How results refine each other")
    allow_loss: Flag = Field(default=False, description="Accept a trigger that may leave rows unemitted")
    late_rows: LateRows = Field(
        default="divert", description="The spelling of 0.2: `count` is `engine: native` of the step"
    )

    def build(self) -> Emission:
        options: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        parts = {name: part.build() for name, part in options.items() if isinstance(part, TriggerModel)}
        return triggers.emission(**options | parts)

    @classmethod
    def from_values(cls, source: Emission) -> Self:
        """Return the model of an emission, in the short form if possible."""
        plain = _plain_triggers(source)
        if source.lateness:
            plain["lateness"] = duration_text(source.lateness)
        for name in ("mode", "allow_loss", "late_rows"):
            if getattr(source, name) != cls.model_fields[name].default:
                plain[name] = getattr(source, name)
        return cls.model_validate(plain)


def _plain_triggers(emission: Emission) -> dict[str, Any]:
    """Return the keys of a trigger: `early` and `late`, or `trigger` if it has another form."""
    trigger, implied = emission.trigger, triggers.AfterCount(1) if emission.lateness else None
    if not isinstance(trigger, triggers.AfterWatermark) or (trigger.late is None and implied is not None):
        return {"trigger": _plain(trigger)}
    late = None if trigger.late == implied else trigger.late
    parts = {"early": trigger.early, "late": late}
    return {key: _plain(part) for key, part in parts.items() if part is not None}


EmitValue = Annotated[Emission, write_as(EmitModel)]
