"""The entries that the flow editor offers: sources and sinks by connector, steps by kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from headrace.connectors import registry
from headrace.connectors.base import Connector
from headrace.dashboard.editor.schema_tree import object_of, walk
from headrace.steps.grammar.step import PaletteEntry
from headrace.yaml.entries import STEPS

Section = Literal["sources", "steps", "sinks"]
_GENERATOR = {
    "generator": {"rate": 10, "columns": {"id": "sequence", "value": "normal"}},
    "ingestion_time": True,
}
_PATTERN = {"steps": [{"first": True}, {"second": {"followed_by": True}}], "within": "10 minutes"}


@dataclass(frozen=True)
class PaletteItem:
    """An entry that can be added: its first content has the keys that make it this kind."""

    section: Section
    kind: str
    group: str
    title: str
    about: str = ""
    entry: Mapping[str, Any] = field(default_factory=dict)
    base: str = ""
    """The name of a new entry; a number is added if it is taken."""

    @property
    def id(self) -> str:
        """The id of the item."""
        return f"{self.section}/{self.kind}"


def _step(group: str, kind: str, title: str, **entry: Any) -> PaletteItem:
    content = entry or {kind: None}
    about = _about(("steps", "a", kind.removeprefix("window_")))
    return PaletteItem("steps", kind, group, title, about, content, re.sub(r"\W+", "_", title.lower()))


def _features(group: str) -> list[PaletteItem]:
    entries = [(model, model.palette) for model in STEPS if model.palette and model.palette.group == group]
    return [_step(group, _kind(model.key, entry), entry.title, **entry.content) for model, entry in entries]


def _kind(key: str, entry: PaletteEntry) -> str:
    """Return the kind of a step; a key can have two, such as `top_n` with and without a window.

    >>> _kind("top_n", PaletteEntry("", "", {"window": {}, "top_n": {}}))
    'window_top_n'
    """
    first = next(iter(entry.content))
    return key if first == key else f"{first}_{key}"


def _about(path: tuple[str, ...]) -> str:
    texts = [option["description"] for option in walk(path) if "description" in option]
    return str(texts[-1]).partition("\n")[0] if texts else ""


@cache
def palette() -> tuple[PaletteItem, ...]:
    """Return all items, in the order of the palette.

    >>> [item.title for item in palette() if item.group == "Join"]
    ['Join', 'Join as of', 'Lookup']
    """
    return (
        *_endpoints("sources", "source"),
        _step("Rows", "where", "Filter"),
        _step("Rows", "select", "Select"),
        _step("Rows", "with_columns", "Add columns"),
        _step("Rows", "drop", "Drop columns"),
        _step("Rows", "sql", "SQL", sql="select * from this"),
        _step("Rows", "union", "Union"),
        _step("Rows", "route", "Route"),
        *_features("Rows"),
        _step("Time and state", "event_time", "Event time"),
        _step("Time and state", "ingestion_time", "Ingestion time", ingestion_time=True),
        _step("Time and state", "processing_time", "Processing time", processing_time=True),
        *_features("Time and state"),
        _step("Time and state", "aggregate", "Running aggregate", aggregate={"n": "count(*)"}),
        _step("Time and state", "distinct", "Distinct"),
        _step("Time and state", "latest", "Latest rows", key_by=None, latest={}),
        _step("Time and state", "top_n", "Top N", key_by=None, top_n={"n": 3}),
        _step("Patterns", "match", "Pattern", match=_PATTERN),
        _step("Patterns", "match_rules", "Pattern rules", match_rules={"rules": "rules.yaml"}),
        _step("Join", "join", "Join", join={"within": "10 minutes"}),
        _step("Join", "join_as_of", "Join as of"),
        *_features("Join"),
        *_features("Analytics"),
        _step("Python", "map", "Map"),
        _step("Python", "flat_map", "Flat map"),
        _step("Python", "filter", "Filter in Python"),
        _step("Python", "map_batches", "Map batches"),
        _step("Python", "process", "Process"),
        *_endpoints("sinks", "sink"),
    )


def _endpoints(section: Section, role: str) -> list[PaletteItem]:
    models = {kind: registry.connector(kind) for kind in registry.kinds()}
    group = section.capitalize()
    return [
        PaletteItem(section, kind, group, kind, _about((section, "a", kind)), entry, base)
        for kind, model in models.items()
        if role in model.roles
        for entry, base in [_endpoint(kind, model, section)]
    ]


def _endpoint(kind: str, model: type[Connector], section: Section) -> tuple[Mapping[str, Any], str]:
    options = object_of(list(walk((section, "a", kind)))) or {}
    content: dict[str, Any] = {kind: None if options.get("required") or options.get("anyOf") else {}}
    if section == "sinks":
        return content, f"to_{kind}"
    if kind == "generator":
        return _GENERATOR, kind
    carries: Any = model.carries  # a property unless all options carry the same
    if kind == "files" or carries is Connector.carries:
        content["format"] = "json"
    return content if carries == "rows" else {**content, "schema": None}, kind


def find_item(item: str) -> PaletteItem | None:
    """Return the item with an id such as `steps/where`."""
    return next((each for each in palette() if each.id == item), None)
