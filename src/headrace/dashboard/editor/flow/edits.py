"""Edits of the flow editor: pure functions from the text of a document to the changed text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.dashboard.editor import splices
from headrace.dashboard.editor.flow.palette import PaletteItem, find_item
from headrace.dashboard.editor.flow.references import (
    SECTIONS,
    SQL,
    Reference,
    entries_of,
    other_path,
    references_of,
    rename_table,
    tables_of,
)
from headrace.dashboard.editor.schema_tree import object_of, short_key, walk, words_of
from headrace.dashboard.editor.yaml_parts import Path, compose_text, find, parts_of
from headrace.errors import OptionError, did_you_mean
from headrace.steps.base import NAME
from headrace.yaml.entries import SOURCE_STEPS

_ORDER = (
    "from",
    "union",
    "where",
    "with_columns",
    *(model.key for model in SOURCE_STEPS),
    "key_by",
    "window",
    "ttl",
    "emit",
)
"""The first keys of a step, in the order in which documents are usually written."""


def add(text: str, item_id: str, source: str = "", name: str = "") -> tuple[str, str]:
    """Add an entry; return the text and the name of the entry."""
    item = find_item(item_id)
    if item is None:
        raise OptionError(f"unknown kind `{item_id}`")
    names = entries_of(text)
    name = name or _free_name(item, names)
    _check_name(name, names)
    section, entry = item.section, dict(item.entry)
    if section != "sources" and "union" not in entry:
        entry = {"from": source or None, **entry}
    elif source and "union" in entry:
        entry["union"] = [source]
    if compose_text(text) is None:
        text = splices.set_value(text, ("name",), "new-pipeline")
    before = ("name", *SECTIONS[: SECTIONS.index(section)])
    after = None if _has_section(text, section) else before
    return splices.set_value(text, (section, name), entry, after=after), name


def _has_section(text: str, section: str) -> bool:
    return any(part.key == section for part in parts_of(text, compose_text(text)))


def _free_name(item: PaletteItem, names: Any) -> str:
    candidates = (item.base if i == 1 else f"{item.base}_{i}" for i in range(1, len(names) + 2))
    return next(name for name in candidates if name not in names)


def _check_name(name: str, names: Any) -> None:
    if not NAME.fullmatch(name):
        raise OptionError(f"expected a name of letters, digits, _ and -, got `{name}`")
    if name in names:
        raise OptionError(f"the name `{name}` is taken", hint="names are unique in a document")


def _path_of(text: str, name: str) -> Path:
    entries = entries_of(text)
    if name not in entries:
        raise OptionError(f"unknown entry `{name}`", hint=did_you_mean(name, entries))
    return (entries[name][0], name)


def remove(text: str, name: str) -> str:
    """Remove an entry, its section if it was the last one, and the references to the entry."""
    path = _path_of(text, name)
    for reference in reversed(references_of(entries_of(text))):
        if reference.name == name and reference.input != SQL and reference.reader != name:
            text = _clear(text, reference)
    text = splices.remove_value(text, path)
    if not any(section == path[0] for section, _ in entries_of(text).values()):
        text = splices.remove_value(text, path[:1])
    return text


def _clear(text: str, reference: Reference) -> str:
    if reference.input == "from":
        return splices.set_value(text, reference.path, None)
    return splices.remove_value(text, reference.path)


def rename(text: str, name: str, to: str) -> str:
    """Rename an entry, and its name in all references and queries."""
    path = _path_of(text, name)
    if name == to:
        return text
    _check_name(to, entries_of(text))
    for reference in references_of(entries_of(text)):
        if reference.name == name and reference.input == SQL:
            text = splices.rewrite_scalar(text, reference.path, lambda query: rename_table(query, name, to))
        elif reference.name == name:
            new = f"{to}.{reference.output}" if reference.output else to
            text = splices.set_value(text, reference.path, new)
    text = splices.rename_key(text, path, to)
    for reader, (_, entry) in entries_of(text).items():
        if name in tables_of(entry.get(SQL)):
            raise OptionError(f"the query of `{reader}` reads `{name}`", hint="rename it in the document")
    return text


def connect(text: str, source: str, target: str, input_key: str = "from") -> str:
    """Let an entry read an output; an earlier input is replaced, a union gets one more."""
    path = _path_of(text, target)
    _path_of(text, source.partition(".")[0])
    section, entry = entries_of(text)[target]
    if section == "sources":
        raise OptionError(f"`{target}` is a source and has no input")
    if "union" in entry:
        streams = entry["union"] if isinstance(entry["union"], list) else []
        if source in streams:
            return text
        if not streams:
            return splices.set_value(text, (*path, "union"), [source])
        return splices.set_value(text, (*path, "union", len(streams)), source)
    other = other_path(entry)
    if input_key != "from" and other is not None:
        return splices.set_value(text, (*path, *other), source)
    return splices.set_value(text, (*path, "from"), source, after=())


def disconnect(text: str, source: str, target: str, input_key: str = "from") -> str:
    """Remove the reference of an entry to an output."""
    for reference in references_of(entries_of(text)):
        if (reference.reader, reference.input, reference.ref) == (target, input_key, source):
            if reference.input == SQL:
                raise OptionError(f"the query of `{reference.reader}` reads it", hint="change the query")
            return _clear(text, reference)
    raise OptionError(f"`{target}` does not read `{source}`")


def set_option(text: str, path: Path, value: Any) -> str:
    """Set or remove a value; a short form becomes a mapping if another key is set."""
    if path != ("name",):
        _check_option(path)
    held = value_at(text, path[:-1])
    short = short_key(path[:-1]) if len(path) > 3 else ""
    if short and not isinstance(held, dict):
        if path[-1] == short:
            return splices.set_value(text, path[:-1], value)
        if held is not None and value is not None:
            return splices.set_value(text, path[:-1], {short: held, path[-1]: value})
    if value is not None:
        return splices.set_value(text, path, value, after=_keys_before(text, path))
    return splices.remove_value(text, path) if _exists(text, path) else text


def _keys_before(text: str, path: Path) -> tuple[str, ...] | None:
    """Return the keys after which a new key of a step is written; None: at the end."""
    if path[0] != "steps" or len(path) < 3 or path[2] not in _ORDER or value_at(text, path[:3]) is not None:
        return None
    return _ORDER[: _ORDER.index(str(path[2]))]


def choose(text: str, path: Path, key: str, among: Sequence[str]) -> str:
    """Set the one key of a mapping, without a value; a kind that needs no options becomes a word."""
    _check_option(path)
    held = value_at(text, path)
    current = next((word for word in held if word in among), None) if isinstance(held, dict) else None
    if not key:
        return splices.remove_value(text, path) if _exists(text, path) else text
    if current is not None and len(held) > 1:
        text = splices.rename_key(text, (*path, current), key)
        return splices.set_value(text, (*path, key), {})
    if isinstance(held, dict) and current is None and held:
        return splices.set_value(text, (*path, key), {})
    options = list(walk(path))
    is_word = key in words_of([option for option in options if option is not object_of(options)])
    return splices.set_value(text, path, key if is_word else {key: {}})


def _check_option(path: Path) -> None:
    """Reject a path that is that of a section or of the whole document."""
    if len(path) < 2:
        raise OptionError(f"expected the path of an option, got {'.'.join(map(str, path))!r}")


def value_at(text: str, path: Path) -> Any:
    """Return the plain value at a path below an entry; None if there is none."""
    value: Any = dict(entries_of(text)).get(str(path[1]), ("", {}))[1] if len(path) > 1 else None
    for key in path[2:]:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _exists(text: str, path: Path) -> bool:
    try:
        find(text, path)
    except OptionError:
        return False
    return True
