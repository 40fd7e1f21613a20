"""The axes of the matrix of patterns.

How `b` follows, how often `a` comes before it, the skip, and the rows' order.

Every pattern is `s`, then `a` with a quantifier, then `b`. A cell is one of each axis. What the plan refuses
is a cell too: it has a refusal instead of a transcript.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from docs.playground.model.patterns import Element, Group, Step

from tests.support.matrix.cells import DISORDERS

WITHIN = 14
"""Seconds that a match may take."""
OPTIONAL = "`x` must not follow `a`, which is optional"


@dataclass(frozen=True)
class Quantifier:
    """The quantifier of `a`, in a document and in the model."""

    name: str
    written: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    group: bool = False

    @property
    def file(self) -> str:
        return re.sub(r"\W+", "_", self.name).strip("_")


_LOOP: Mapping[str, Any] = {"least": 1, "most": None}
_MORE: Mapping[str, Any] = {"one_or_more": True}

CONTIGUITIES = ("next", "followed_by", "followed_by_any", "not_next", "not_followed_by")
QUANTIFIERS = (
    Quantifier("once"),
    Quantifier("times(2)", {"times": 2}, {"least": 2, "most": 2}),
    Quantifier("times(1, 2)", {"times": {"from": 1, "to": 2}}, {"least": 1, "most": 2}),
    Quantifier("one_or_more", _MORE, _LOOP),
    Quantifier("optional", {"optional": True}, {"optional": True}),
    Quantifier("consecutive", {**_MORE, "consecutive": True}, {**_LOOP, "repeats": "next"}),
    Quantifier("combinations", {**_MORE, "combinations": True}, {**_LOOP, "repeats": "followed_by_any"}),
    Quantifier("greedy", {**_MORE, "greedy": True}, {**_LOOP, "greedy": True}),
    Quantifier("until", {**_MORE, "until": "letter = 'e'"}, {**_LOOP, "until": "e"}),
    Quantifier("group", _MORE, _LOOP, group=True),
)
SKIPS = ("none", "past_last", "to_next", "to_first(a)", "to_last(a)")


@dataclass(frozen=True)
class Cell:
    """One of each."""

    contiguity: str
    quantifier: Quantifier
    skip: str
    disorder: str

    @property
    def name(self) -> str:
        return f"{self.contiguity} / {self.quantifier.name} / {self.skip} / {self.disorder}"

    @property
    def anchor(self) -> str:
        """Its name as a part of an address."""
        return re.sub(r"\W+", "-", f"{self.contiguity} {self.skip} {self.disorder}").strip("-")

    @property
    def written_skip(self) -> str | dict[str, str]:
        """The skip as a document writes it."""
        word, _, step = self.skip.rstrip(")").partition("(")
        return {word: step} if step else word

    @property
    def refusal(self) -> str:
        """Return the errors of the plan; empty if it is valid."""
        negated = self.contiguity.startswith("not")
        return OPTIONAL if negated and self.quantifier.name == "optional" else ""

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The pattern as a document writes it."""
        what: Any = "letter = 'a'"
        if self.quantifier.group:
            what = [{"a": "letter = 'a'"}, {"c": {"next": "letter = 'c'"}}]
        name = "pair" if self.quantifier.group else "a"
        return [
            {"s": "letter = 's'"},
            {name: {"followed_by": what, **self.quantifier.written}},
            *({step.name: {step.verb: f"letter = '{step.letters}'"}} for step in self._last),
        ]

    @property
    def model(self) -> tuple[Element, ...]:
        """The pattern as the model takes it."""
        chosen = self.quantifier.model
        repeated: Element = Step("a", "followed_by", "a", **chosen)
        if self.quantifier.group:
            repeated = Group(
                "pair", "followed_by", (Step("a", "next", "a"), Step("c", "next", "c")), **chosen
            )
        return (Step("s", "next", "s"), repeated, *self._last)

    @property
    def _last(self) -> tuple[Step, ...]:
        if self.contiguity.startswith("not"):
            return (Step("x", self.contiguity, "x"), Step("b", "followed_by", "b"))
        return (Step("b", self.contiguity, "b"),)


def cells(quantifier: Quantifier | None = None) -> Iterator[Cell]:
    """All cells, or those of one quantifier, in the order of the table."""
    for each in QUANTIFIERS if quantifier is None else (quantifier,):
        for contiguity in CONTIGUITIES:
            for skip in SKIPS:
                for disorder in DISORDERS:
                    yield Cell(contiguity, each, skip, disorder)
