"""The form of an entry of a document: its options, required ones first, with the problems at their fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.connectors import registry
from headrace.connectors.roles import option_roles
from headrace.dashboard.editor.flow.fields import FormField, divide, make_field, options_of
from headrace.dashboard.editor.flow.graph import verb_of
from headrace.dashboard.editor.flow.references import entries_of
from headrace.dashboard.editor.schema_tree import root
from headrace.errors import OptionError
from headrace.yaml.entries import STEPS

Problem = Mapping[str, Any]
_SHOWN = {"steps": ("key_by",), "sources": ("schema", "event_time"), "sinks": ()}
"""Options that are shown although they are not required."""


@dataclass(frozen=True)
class EntryForm:
    """The form of one entry."""

    name: str
    section: str
    verb: str
    about: str
    fields: tuple[FormField, ...]
    more: tuple[FormField, ...]
    problems: tuple[Problem, ...]
    """Problems that belong to no field."""


def form_of(text: str, name: str, problems: Sequence[Problem]) -> EntryForm:
    r"""Return the form of an entry.

    >>> text = "name: p\nsources:\n  tx: {kafka: {topic: payments}}"
    >>> [field.label for field in form_of(text, "tx", ()).fields][:3]
    ['servers', 'topic', 'schema']

    Raises:
        OptionError: the document has no such entry.
    """
    entries = entries_of(text)
    if name not in entries:
        raise OptionError(f"unknown entry `{name}`")
    section, entry = entries[name]
    own = [problem for problem in problems if problem["path"][1:2] == [name]]
    fields = _step_fields(name, entry) if section == "steps" else _endpoint_fields(section, name, entry)
    placed, rest = place_problems(fields, own)
    first, more = divide(field if not _is_shown(field) else replace(field, is_set=True) for field in placed)
    order = sorted(
        first, key=lambda field: (field.path[2:] != ("from",), field.label != "key_by", not field.required)
    )
    verb = verb_of(section, entry)
    about = root()["$defs"][section[:-1]]["properties"].get(verb, {}).get("description", "")
    return EntryForm(name, section, verb, about, tuple(order), more, rest)


def _is_shown(field: FormField) -> bool:
    return len(field.path) == 3 and field.label in _SHOWN[str(field.path[0])]


def _endpoint_fields(section: str, name: str, entry: Mapping[str, Any]) -> tuple[FormField, ...]:
    """Return the options of the connector that apply to its role, then the keys beside it."""
    schema, kinds = root()["$defs"][section[:-1]], registry.kinds()
    kind = next((key for key in entry if key in kinds and key in schema["properties"]), None)
    rest = [
        make_field((section, name, key), item, entry, required=key in schema.get("required", ()))
        for key, item in schema["properties"].items()
        if key not in kinds
    ]
    if kind is None:
        return tuple(rest)
    roles = option_roles(registry.connector(kind))
    skip = [option for option, known in roles.items() if section[:-1] not in known]
    beside = [field.label for field in rest if field.label in ("format", "schema")]
    options = options_of((section, name, kind), schema["properties"][kind], entry, skip=skip)
    options = tuple(_with_alternative(option, kind) for option in options)
    return (*(each for each in options if each.label not in beside or each.is_set), *rest)


def _with_alternative(field: FormField, kind: str) -> FormField:
    """Return the field as required if it is the first of the options one of which is required."""
    model = root()["$defs"][registry.connector(kind).__name__]
    first = next((option["required"] for option in model.get("anyOf", ()) if "required" in option), ())
    return replace(field, is_set=True) if field.label in first else field


def _step_fields(name: str, entry: Mapping[str, Any]) -> tuple[FormField, ...]:
    """Return the keys of the kinds of steps in the entry, then those that can be added."""
    schema = root()["$defs"]["step"]["properties"]
    applying = [model for model in STEPS if model.applies(entry)]
    kinds = [key for model in applying for key in model.field_names()]
    required = {
        key
        for model in applying
        for key, field in model.field_names().items()
        if model.__pydantic_fields__[field].is_required()
    }
    addable = [
        model.key for model in STEPS if model.slot.name != "OPERATION" and not _has_slot(model, applying)
    ]
    inputs = ["union"] if "union" in entry else ["from"]
    keys = dict.fromkeys([*inputs, *kinds, *entry, *(key for key in addable if key != "union")])
    return tuple(
        make_field(("steps", name, key), schema[key], entry, required=key in required or key in inputs)
        for key in keys
        if key in schema
    )


def _has_slot(model: Any, applying: Iterable[Any]) -> bool:
    return any(other.slot == model.slot for other in applying)


def place_problems(
    fields: Sequence[FormField], problems: Sequence[Problem]
) -> tuple[tuple[FormField, ...], tuple[Problem, ...]]:
    """Return the fields with the problems at the innermost field of each path, and the other problems."""
    paths = [path for field in fields for path in _paths(field)]
    owners: dict[tuple[Any, ...], list[Problem]] = {}
    for problem in problems:
        place = tuple(problem["path"])
        prefixes = [path for path in paths if place[: len(path)] == path]
        owners.setdefault(max(prefixes, key=len, default=()), []).append(problem)
    placed = tuple(_with_problems(field, owners) for field in fields)
    return placed, tuple(owners.get((), ()))


def _paths(field: FormField) -> Iterable[tuple[Any, ...]]:
    yield field.path
    for inner in (*field.fields, *field.more):
        yield from _paths(inner)


def _with_problems(field: FormField, owners: Mapping[tuple[Any, ...], list[Problem]]) -> FormField:
    inner = [_with_problems(each, owners) for each in (*field.fields, *field.more)]
    first, more = divide(inner)
    has_inner = any(each.problems for each in inner)
    problems = tuple(owners.get(field.path, ()))
    return replace(field, fields=first, more=more, problems=problems, is_set=field.is_set or has_inner)
