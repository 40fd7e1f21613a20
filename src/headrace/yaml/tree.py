"""A YAML text as a small tree of values, each of which knows where it was written.

The rest of the package reads this tree and nothing of YAML. It can be made from text, from a node that ruamel.yaml
composed (a part of a larger file), and from plain or round-trip mappings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

PlainScalar = str | int | float | bool | None


@dataclass(frozen=True)
class Scalar:
    """One word, number or text. `text` is what was written, `value` what YAML takes it for."""

    where: str
    text: str
    value: PlainScalar

    def __str__(self) -> str:
        return "nothing" if self.value is None else f"`{_shortened(self.text)}`"


@dataclass(frozen=True)
class Items:
    """A list."""

    where: str
    items: tuple[Value, ...]

    def __str__(self) -> str:
        return "a list"


@dataclass(frozen=True)
class Entry:
    """A value of a mapping; `key_at` is where its key stands."""

    key_at: str
    value: Value


@dataclass(frozen=True)
class Fields:
    """A mapping with text keys, in the order they were written."""

    where: str
    entries: Mapping[str, Entry] = field(default_factory=dict)

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
        """The value of a key, if it is there."""
        return self.entries[key].value if key in self.entries else None

    def key_at(self, key: str) -> str:
        """Where the key stands."""
        return self.entries[key].key_at


Value = Scalar | Items | Fields


def plain(value: Value) -> Any:
    """The value without its positions.

    >>> plain(tree_of({"a": [1, "x"]}, file="p"))
    {'a': [1, 'x']}
    """
    if isinstance(value, Scalar):
        return value.value
    if isinstance(value, Items):
        return [plain(item) for item in value.items]
    return {key: plain(value[key]) for key in value}


def at(value: Value, path: Sequence[str | int]) -> tuple[Value, str]:
    """What stands at a path of keys and numbers, as far as the tree goes along, and where its key stands."""
    key_at = value.where
    for part in path:
        if isinstance(value, Fields) and part in value.entries:
            entry = value.entries[str(part)]
            value, key_at = entry.value, entry.key_at
        elif isinstance(value, Items) and isinstance(part, int) and part < len(value.items):
            value = value.items[part]
            key_at = value.where
    return value, key_at


def replaced(value: Value, path: Sequence[str | int], new: Scalar) -> Value:
    """The tree with another scalar at a path; the same tree where the path leads nowhere."""
    if not path:
        return new
    part, rest = path[0], path[1:]
    if isinstance(value, Fields) and part in value.entries:
        entry = value.entries[str(part)]
        changed = replace(entry, value=replaced(entry.value, rest, new))
        return replace(value, entries={**value.entries, str(part): changed})
    if isinstance(value, Items) and isinstance(part, int) and part < len(value.items):
        items = list(value.items)
        items[part] = replaced(items[part], rest, new)
        return replace(value, items=tuple(items))
    return replaced(value, rest, new) if rest else value


def tree_of(given: Any, *, file: str) -> Value:
    """A tree from plain Python values, such as a `dict`; mappings of ruamel.yaml's round-trip loader know their lines.

    Values without a line are named by their path: `p: steps.totals.window`.
    """
    marks = getattr(given, "lc", None)
    if marks is None or marks.line is None:
        return _tree_of(given, file, file, "")
    return _tree_of(given, f"{file}:{marks.line + 1}:{marks.col + 1}", file, "")


def _tree_of(given: Any, where: str, file: str, path: str) -> Value:
    if isinstance(given, Mapping):
        entries = {}
        for key, item in given.items():
            inner = f"{path}.{key}" if path else str(key)
            key_at = _marked(given, "key", key, file) or f"{file}: {inner}"
            value_at = _marked(given, "value", key, file) or f"{file}: {inner}"
            entries[str(key)] = Entry(key_at, _tree_of(item, value_at, file, inner))
        return Fields(where, entries)
    if isinstance(given, list | tuple):
        return Items(where, tuple(_item_of(given, i, file, path) for i in range(len(given))))
    value = given if given is None or isinstance(given, str | int | float | bool) else str(given)
    text = str(given).lower() if isinstance(given, bool) else "" if given is None else str(given)
    return Scalar(where, text, value)


def _item_of(given: Any, index: int, file: str, path: str) -> Value:
    inner = f"{path}[{index}]"
    return _tree_of(given[index], _marked(given, "item", index, file) or f"{file}: {inner}", file, inner)


def _marked(given: Any, kind: str, key: Any, file: str) -> str:
    """`file:line:column` of a part of a round-trip mapping or list, or "" where it isn't known."""
    marks = getattr(given, "lc", None)
    if marks is None or not marks.data or key not in marks.data:
        return ""
    line, column = getattr(marks, kind)(key)
    return f"{file}:{line + 1}:{column + 1}"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."
