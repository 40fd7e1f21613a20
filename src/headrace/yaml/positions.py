"""A tree of YAML values with their positions.

Built from text, from a node of ruamel.yaml (a part of a larger file), or from plain or round-trip mappings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.errors import Location

PlainScalar = str | int | float | bool | None
_MAX_LENGTH = 60


@dataclass(frozen=True)
class Scalar:
    """A scalar: `text` is the written form, `value` is the parsed value."""

    where: str
    text: str
    value: PlainScalar

    def __str__(self) -> str:
        if self.value is None:
            return "nothing"
        line = " ".join(self.text.split())
        shown = line if len(line) <= _MAX_LENGTH else f"{line[: _MAX_LENGTH - 3]}..."
        return f"`{shown}`" if line else "an empty text"


@dataclass(frozen=True)
class Items:
    """A list."""

    where: str
    items: tuple[Value, ...]

    def __str__(self) -> str:
        return "a list" if self.items else "an empty list"


@dataclass(frozen=True)
class KeyedValue:
    """A value of a mapping, with the position of its key."""

    key_at: str
    value: Value


@dataclass(frozen=True)
class Fields:
    """A mapping with text keys, in the order they were written."""

    where: str
    entries: Mapping[str, KeyedValue] = field(default_factory=dict)

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def __getitem__(self, key: str) -> Value:
        return self.entries[key].value

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __str__(self) -> str:
        return "a mapping" if self.entries else "an empty mapping"

    def get(self, key: str) -> Value | None:
        """Return the value of a key, or None."""
        return self.entries[key].value if key in self.entries else None

    def key_at(self, key: str) -> str:
        """Return the position of a key."""
        return self.entries[key].key_at

    def only(self, keys: Collection[str]) -> Fields:
        """Return the mapping without other keys."""
        return replace(self, entries={key: entry for key, entry in self.entries.items() if key in keys})


Value = Scalar | Items | Fields


def plain(value: Value) -> Any:
    """Return the value without its positions.

    >>> plain(from_plain({"a": [1, "x"]}, file="p"))
    {'a': [1, 'x']}
    """
    if isinstance(value, Scalar):
        return value.value
    if isinstance(value, Items):
        return [plain(item) for item in value.items]
    return {key: plain(value[key]) for key in value}


def find(value: Value, path: Sequence[str | int]) -> tuple[Value, str]:
    """Return the value at a path of keys and indexes, and the position of its key.

    Parts that the tree does not have are skipped, because a short form has fewer levels than its model.
    """
    key_at = value.where
    for part in path:
        entry = _child(value, part)
        value, key_at = (entry.value, entry.key_at) if entry is not None else (value, value.where)
    return value, key_at


def replace_at(value: Value, path: Sequence[str | int], new: Scalar) -> Value:
    """Return the tree with another scalar at a path, which is followed as in `find`."""
    if not path:
        return new
    part, rest = path[0], path[1:]
    if isinstance(value, Fields) and (entry := _child(value, part)) is not None:
        changed = replace(entry, value=replace_at(entry.value, rest, new))
        return replace(value, entries={**value.entries, str(part): changed})
    if isinstance(value, Items) and isinstance(part, int) and part < len(value.items):
        changed_item = replace_at(value.items[part], rest, new)
        return replace(value, items=(*value.items[:part], changed_item, *value.items[part + 1 :]))
    return replace_at(value, rest, new)


def replace_scalars(value: Value, places: Collection[str], text: str) -> Value:
    """Return the tree with a text in place of the scalars at some positions."""
    if isinstance(value, Fields):
        entries = {
            key: replace(entry, value=replace_scalars(entry.value, places, text))
            for key, entry in value.entries.items()
        }
        return replace(value, entries=entries)
    if isinstance(value, Items):
        return replace(value, items=tuple(replace_scalars(item, places, text) for item in value.items))
    return Scalar(value.where, text, text) if value.where in places else value


def _child(value: Value, part: str | int) -> KeyedValue | None:
    if isinstance(value, Fields):
        return value.entries.get(str(part))
    if isinstance(value, Items) and isinstance(part, int) and part < len(value.items):
        return KeyedValue(value.items[part].where, value.items[part])
    return None


def from_plain(content: Any, *, file: str) -> Value:
    """Build a tree from plain Python values, such as a `dict`.

    Mappings of ruamel.yaml's round-trip loader have lines; other values are located by their path:
    `p: steps.totals.window`.
    """
    marks = getattr(content, "lc", None)
    where = file if marks is None or marks.line is None else Location(file, marks.line + 1, marks.col + 1)
    return _from_plain(content, where, file, "")


def _from_plain(content: Any, where: str, file: str, path: str) -> Value:
    if isinstance(content, Mapping):
        entries = {}
        for key, item in content.items():
            inner = f"{path}.{key}" if path else str(key)
            key_at = _mark(content, "key", key, file) or f"{file}: {inner}"
            value_at = _mark(content, "value", key, file) or f"{file}: {inner}"
            entries[str(key)] = KeyedValue(key_at, _from_plain(item, value_at, file, inner))
        return Fields(where, entries)
    if isinstance(content, list | tuple):
        places = [_mark(content, "item", index, file) for index in range(len(content))]
        inside = [f"{path}[{index}]" for index in range(len(content))]
        items = zip(content, places, inside, strict=True)
        return Items(where, tuple(_from_plain(c, place or f"{file}: {i}", file, i) for c, place, i in items))
    value = content if isinstance(content, str | int | float | bool | None) else str(content)
    text = str(content).lower() if isinstance(content, bool) else "" if content is None else str(content)
    return Scalar(where, text, value)


def _mark(content: Any, kind: str, key: Any, file: str) -> str:
    """Return `file:line:column` of a part of a round-trip mapping or list; empty if it has none."""
    marks = getattr(content, "lc", None)
    if marks is None or not marks.data or key not in marks.data:
        return ""
    line, column = getattr(marks, kind)(key)
    return Location(file, line + 1, column + 1)
