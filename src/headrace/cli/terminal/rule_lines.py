"""Render rule tables for `headrace explain`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.explain.text import Line
    from headrace.rules.listing import RuleListing, TableListing

_ROLES = {"in force": "good", "next batch": "warn", "retired": "warn", "not active": "rail", "wrong": "bad"}


def lines_of(listing: TableListing, *, width: int) -> Iterator[Line]:
    """Render a table: its rules, their status and errors."""
    yield ()
    yield ("Rules", "heading"), (f"   of {listing.step}, from {listing.table}", "rail")
    for fault in listing.faults:
        yield from _fault(str(fault), "  ")
    if not listing.rules and not listing.faults:
        yield (("  it has none", "warn"),)
    name_width = max((len(rule.id) for rule in listing.rules), default=0) + 2
    standings = {rule.id: _standing(rule, begun=listing.begun) for rule in listing.rules}
    standing_width = max(map(len, standings.values()), default=0) + 2
    for rule in listing.rules:
        indent = 2 + name_width + standing_width
        texts = (rule.description, *rule.conditions)
        lines = [line for text in texts for line in textwrap.wrap(text, max(width - indent, 30))] or [""]
        yield (
            (f"  {rule.id:<{name_width}}", "name"),
            (f"{standings[rule.id]:<{standing_width}}", _ROLES[rule.standing]),
            (lines[0], "fact"),
        )
        for line in lines[1:]:
            yield (" " * indent, ""), (line, "fact")
        if rule.place and not rule.faults:
            yield (" " * indent, ""), (rule.place, "rail")
        for fault in rule.faults:
            yield from _fault(str(fault), " " * (2 + name_width))


def _standing(rule: RuleListing, *, begun: bool) -> str:
    version = f"version {rule.version}, " if rule.version is not None else ""
    match rule.standing:
        case "in force":
            return f"{version}in force since epoch {rule.since}"
        case "next batch":
            until = f"; until then {rule.until_then}" if rule.until_then is not None else ""
            return f"{version}from the {'next' if begun else 'first'} batch on{until}"
        case "retired":
            return f"{version}until the next batch"
        case "not active":
            return f"{version}not active"
        case "wrong":
            return f"wrong; version {rule.version} stays in force" if version else "wrong, not in force"


def _fault(text: str, indent: str) -> Iterator[Line]:
    for line in text.splitlines():
        yield (indent, ""), (line, "bad" if not line.startswith("  hint") else "hint")
