"""The axes of the matrix: kinds of windows, triggers, modes, and what becomes of the rows' order.

A cell is one of each. What the contract refuses is a cell too: it has a refusal instead of a transcript.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Emit = Mapping[str, Any]

LATENESS = "20 seconds"
NO_LATENESS = "windows process rows in order, so they have no lateness and no late firings"
NO_TRIGGER = "a trailing window emits one result per row and accepts no trigger"
MAY_LOSE = "this trigger may leave rows unemitted"


@dataclass(frozen=True)
class Kind:
    """A kind of window, as a document writes it.

    Attributes:
        name: What cells call it; its file is named so too.
        window: What stands under `window`.
        looks_at: The column besides key, value and time that it looks at.
    """

    name: str
    window: Mapping[str, Any]
    looks_at: str = ""

    @property
    def word(self) -> str:
        return next(iter(self.window))

    @property
    def ordered(self) -> bool:
        """True if the window requires ordered rows, so that it accepts no late ones."""
        return self.word in ("count", "delta", "punctuation", "landmark")

    @property
    def file(self) -> str:
        return re.sub(r"\W+", "_", self.name).strip("_")


@dataclass(frozen=True)
class Trigger:
    """A trigger, as a document writes it.

    Attributes:
        name: What cells call it.
        emit: What stands under `emit`, without lateness and mode.
        late: Whether it is about late rows, so that a window without lateness refuses it.
        lateness: Whether it is tried with lateness where a window can have it.
    """

    name: str
    emit: Emit
    late: bool = False
    lateness: bool = True


KINDS = (
    Kind("tumbling", {"tumbling": "10 seconds"}),
    Kind("tumbling(offset)", {"tumbling": {"size": "10 seconds", "offset": "3 seconds"}}),
    Kind("sliding", {"sliding": {"size": "10 seconds", "every": "5 seconds"}}),
    Kind("session", {"session": "4 seconds"}),
    Kind("global", {"global": {}}),
    Kind("count", {"count": 3}),
    Kind("count(every)", {"count": {"size": 3, "every": 2}}),
    Kind("delta", {"delta": {"of": "x", "by": 5}}, "x"),
    Kind("punctuation", {"punctuation": "kind = 'end'"}, "kind"),
    Kind("landmark(when)", {"landmark": {"when": "kind = 'open'"}}, "kind"),
    Kind("landmark(reset)", {"landmark": {"reset": "20 seconds", "step": "10 seconds"}}),
    Kind("trailing", {"trailing": "10 seconds"}),
)

_TWO: Emit = {"after_count": 2}
_EACH: Emit = {"after_count": 1}
_SOON: Emit = {"every": "5 seconds"}
_END: Emit = {"after_watermark": {}}

TRIGGERS = (
    Trigger("default", {}, lateness=False),
    Trigger("emit(early)", {"early": _TWO}, lateness=False),
    Trigger("emit(early, late)", {"early": _SOON, "late": _EACH}, late=True),
    Trigger("after_watermark(early)", {"trigger": {"after_watermark": {"early": _SOON}}}, lateness=False),
    Trigger("after_watermark(late)", {"trigger": {"after_watermark": {"late": _EACH}}}, late=True),
    Trigger("every", {"trigger": _SOON, "allow_loss": True}),
    Trigger("after_count", {"trigger": _TWO, "allow_loss": True}),
    Trigger("any_of", {"trigger": {"repeatedly": {"any_of": [{"after_count": 3}, _SOON]}}}),
    Trigger("all_of", {"trigger": {"repeatedly": {"all_of": [_TWO, _SOON]}}}),
    Trigger("in_sequence", {"trigger": {"in_sequence": [_EACH, _END, {"repeatedly": _EACH}]}}),
    Trigger("repeatedly", {"trigger": {"repeatedly": _TWO}}),
    Trigger("or_finally", {"trigger": {"or_finally": [{"repeatedly": _EACH}, _END]}, "allow_loss": True}),
)

MODES = ("discarding", "accumulating", "retracting")
DISORDERS = ("in order", "out of order", "late", "killed")


@dataclass(frozen=True)
class Cell:
    """One of each."""

    kind: Kind
    trigger: Trigger
    mode: str
    disorder: str

    @property
    def name(self) -> str:
        return f"{self.kind.name} / {self.trigger.name} / {self.mode} / {self.disorder}"

    @property
    def anchor(self) -> str:
        """Its name as a part of an address."""
        return re.sub(r"\W+", "-", f"{self.trigger.name} {self.mode} {self.disorder}").strip("-")

    @property
    def emit(self) -> dict[str, Any]:
        """Return the value of `emit`."""
        wants_lateness = self.trigger.late or (self.trigger.lateness and not self.kind.ordered)
        lateness = {"lateness": LATENESS} if wants_lateness else {}
        return {**self.trigger.emit, **lateness, "mode": self.mode}

    @property
    def refusal(self) -> str:
        """Return the errors of the plan; empty if it is valid."""
        if self.kind.ordered and self.trigger.late:
            return f"{self.kind.word} {NO_LATENESS}"
        only_late = self.trigger.name in ("default", "after_watermark(late)")
        return NO_TRIGGER if self.kind.word == "trailing" and not only_late else ""


def cells(kind: Kind | None = None) -> Iterator[Cell]:
    """All cells, or those of one kind of window, in the order of the table."""
    for each in KINDS if kind is None else (kind,):
        for trigger in TRIGGERS:
            for mode in MODES:
                for disorder in DISORDERS:
                    yield Cell(each, trigger, mode, disorder)
