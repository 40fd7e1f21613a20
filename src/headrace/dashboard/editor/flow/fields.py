"""The fields of a form, made from the JSON Schema of an option and its value in the document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from headrace.dashboard.editor.flow.pattern_rows import VERBS, rows_of
from headrace.dashboard.editor.schema_tree import (
    Schema,
    connectors_in,
    expand,
    is_choice,
    object_of,
    short_key,
    words_of,
)
from headrace.dashboard.editor.yaml_parts import Path
from headrace.yaml.printing import print_value

Widget = Literal[
    "text", "number", "flag", "words", "lines", "pairs", "pattern", "yaml", "query", "reference", "group"
]
_SCALAR = str | int | float | bool
_MAX_DEPTH = 6
"""The length of a path below which a mapping has a form of its own; deeper ones are YAML text."""


@dataclass(frozen=True)
class FormField:
    """One option: its input element, value and problems."""

    path: Path
    label: str
    about: str
    widget: Widget
    value: Any = ""
    required: bool = False
    placeholder: str = ""
    words: tuple[str, ...] = ()
    """The values of `words`, or the keys of a group that has exactly one."""
    fields: tuple[FormField, ...] = ()
    more: tuple[FormField, ...] = ()
    is_set: bool = False
    is_list: bool = False
    """True if one line is a list as well."""
    problems: tuple[Mapping[str, Any], ...] = ()

    @property
    def id(self) -> str:
        """The id of the input element."""
        return "field-" + "-".join(map(str, self.path[2:] or ("name",)))


def make_field(path: Path, schema: Schema, holder: Any, *, required: bool = False) -> FormField:
    """Return the field of the last key of a path; `holder` is the mapping that may have it."""
    key = str(path[-1])
    alternatives = list(expand(schema))
    value = holder.get(key) if isinstance(holder, Mapping) else None
    texts = [option["description"] for option in alternatives if option.get("description")]
    about = str(schema.get("description") or (texts[-1] if texts else ""))
    field = FormField(
        path, key, about.partition("\n")[0], "yaml", required=required, placeholder=_placeholder(alternatives)
    )
    field = replace(field, is_set=isinstance(holder, Mapping) and key in holder)
    long = object_of(alternatives)
    if long is not None and len(path) < _MAX_DEPTH and not _is_list(value):
        return _group(field, alternatives, long, value)
    return _leaf(field, alternatives, value)


def _placeholder(alternatives: Iterable[Schema]) -> str:
    for option in alternatives:
        if option.get("default") not in (None, [], {}, ""):
            return f"default: {print_value(option['default'])}"
        if option.get("examples"):
            return f"such as {option['examples'][0]}"
    return ""


def _leaf(field: FormField, alternatives: Sequence[Schema], value: Any) -> FormField:
    if (
        field.path[0] == "steps"
        and field.path[2:] == ("match", "steps")
        and (rows := rows_of(value)) is not None
    ):
        return replace(field, widget="pattern", value=rows, words=VERBS)
    kinds = _types_of(alternatives)
    words = words_of(alternatives)
    widget: Widget = "yaml"
    if field.path[2:] == ("from",) or (field.path[0] == "steps" and field.label == "with"):
        widget = "reference"
    elif field.label == "sql":
        widget = "query"
    elif "boolean" in kinds and not kinds & {"string", "array", "object"}:
        widget = "flag"
    elif words and not kinds - {"string"} and isinstance(value, str | None):
        return replace(field, widget="words", words=tuple(words), value=value or "")
    elif (
        kinds & {"integer", "number"}
        and not kinds & {"array", "object"}
        and isinstance(value, _SCALAR | None)
    ):
        widget = "number"
    elif _takes_pairs(alternatives) and (
        isinstance(value, dict) or (value is None and "string" not in kinds)
    ):
        widget = "pairs" if all(isinstance(item, _SCALAR) for item in (value or {}).values()) else "yaml"
    elif "array" in kinds and _are_scalars(value) and _takes_lines(alternatives):
        widget = "lines"
    elif "string" in kinds and isinstance(value, _SCALAR | None):
        widget = "text"
    is_list = widget == "lines" and "string" not in kinds
    return replace(field, widget=widget, value=_shown(widget, value), is_list=is_list)


def _types_of(alternatives: Iterable[Schema]) -> set[str]:
    return {kind for option in alternatives for kind in _types(option)}


def _types(option: Schema) -> list[str]:
    """Return the JSON types of an alternative; that of a variable and of numbers as text are left out."""
    kinds = option.get("type", ())
    if isinstance(kinds, list):
        return ["string"]
    if kinds == "string" and option.get("pattern") == r"\$\{":
        return []
    if any(isinstance(word, bool) for word in option.get("enum", ())):
        return ["boolean"]
    return [kinds] if isinstance(kinds, str) and kinds != "null" else []


def _takes_pairs(alternatives: Iterable[Schema]) -> bool:
    extra = [option.get("additionalProperties") for option in alternatives]
    return any(isinstance(item, dict) and item.get("type") for item in extra)


def _takes_lines(alternatives: Iterable[Schema]) -> bool:
    items = [option["items"] for option in alternatives if "items" in option]
    return any(any("string" in _types(each) or "enum" in each for each in expand(item)) for item in items)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _are_scalars(value: Any) -> bool:
    return all(
        isinstance(item, _SCALAR) for item in (value if isinstance(value, list) else [value] if value else [])
    )


def _shown(widget: Widget, value: Any) -> Any:
    if widget == "pairs":
        return [(str(name), _text(item)) for name, item in (value or {}).items()]
    if widget == "lines":
        return "\n".join(map(_text, value if isinstance(value, list) else [] if value is None else [value]))
    if widget == "yaml":
        return "" if value is None else value if isinstance(value, str) else print_value(value)
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _group(field: FormField, alternatives: Sequence[Schema], long: Schema, value: Any) -> FormField:
    """Return the fields of a mapping; a short form is shown as the key that it stands for."""
    short = short_key(field.path)
    if short and value is not None and not isinstance(value, dict):
        value = {short: value}
    kinds = list(long["properties"]) if is_choice(long) else connectors_in(long)
    words = words_of([option for option in alternatives if option is not long]) if is_choice(long) else []
    if kinds and isinstance(value, str) and value in [*kinds, *words]:
        value = {value: None}
    if isinstance(value, _SCALAR) or (value is None and not short and "string" in _types_of(alternatives)):
        return _leaf(field, alternatives, value)
    chosen = next((key for key in kinds if isinstance(value, dict) and key in value), "")
    own = [key for key in long["properties"] if key not in kinds]
    required = set(long.get("required", ()))
    inner = options_of((*field.path, chosen), long["properties"][chosen], value, skip=own) if chosen else ()
    rest = [
        make_field((*field.path, key), long["properties"][key], value, required=key in required)
        for key in own
    ]
    first, more = divide([*inner, *rest])
    names = tuple(dict.fromkeys([*kinds, *words]))
    return replace(field, widget="group", words=names, value=chosen, fields=first, more=more)


def options_of(path: Path, schema: Schema, holder: Any, *, skip: Iterable[str] = ()) -> tuple[FormField, ...]:
    """Return the fields of a kind: those of its options, or one field if its value is no mapping."""
    field = make_field(path, schema, holder, required=True)
    if field.widget != "group" or field.words:
        return (field,)
    return tuple(each for each in (*field.fields, *field.more) if each.label not in skip)


def divide(fields: Iterable[FormField]) -> tuple[tuple[FormField, ...], tuple[FormField, ...]]:
    """Return the fields that are required or set, the required ones first, and the others."""
    fields = list(fields)
    shown = [field for field in fields if field.required or field.is_set or field.problems]
    first = sorted(shown, key=lambda field: not field.required)
    return tuple(first), tuple(field for field in fields if field not in shown)
