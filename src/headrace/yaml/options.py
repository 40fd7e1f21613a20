"""Option models in a document: a connector's word with its options, and formats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from headrace import formats
from headrace.connectors import registry
from headrace.connectors.base import Connector, Role, option_problems
from headrace.connectors.roles import misplaced_options
from headrace.errors import did_you_mean
from headrace.formats import Format
from headrace.schemas.fields import Schema
from headrace.yaml.faults import Faults, at
from headrace.yaml.reading import fields, one_entry, text
from headrace.yaml.tree import Fields, Scalar, Value, plain, replaced
from headrace.yaml.tree import at as find

Model = TypeVar("Model", bound=BaseModel)


def connector(given: Fields, known: Iterable[str], what: str, role: Role | None = None) -> Connector:
    """The connector among a mapping's keys; `known` are the keys that mean something else.

    Raises:
        DocumentError: there is none or more than one, a key is unknown, or its options are wrong.
    """
    words, faults = tuple(known), Faults()
    found = [key for key in given if key in registry.kinds()]
    for key in [key for key in given if key not in (*words, *found)]:
        everything = (*words, *registry.kinds())
        if found:
            faults.add(given.key_at(key), f"unknown key `{key}` in {what}", did_you_mean(key, everything))
        else:
            faults.add(given.key_at(key), f"there is no connector `{key}`", did_you_mean(key, everything))
    if not found:
        if not faults.problems:
            faults.add(
                given.where, f"{what} has no connector", f"one of {', '.join(registry.kinds())}: {{...}}"
            )
        faults.raise_any()
    for key in found[1:]:
        faults.add(given.key_at(key), f"expected one connector, got `{found[0]}` and `{key}`", "remove one")
    held = faults.attempt(_connector, found[0], given)
    if held is not None and role is not None:
        for option, problem in misplaced_options(held, role).items():
            inner = given[found[0]]
            assert isinstance(inner, Fields)
            faults.add(f"{inner.key_at(option)}: {problem.where}", problem.what, problem.hint)
    faults.raise_any()
    assert held is not None
    return held


def record_format(value: Value) -> Format:
    """A format by its name, or by name with options: `{csv: {delimiter: ";"}}`."""
    name, options = one_entry(value, wanted="a format", hint='such as json or {csv: {delimiter: ";"}}')
    with at(value):
        model = formats.get(name)
    given = fields(options, wanted=f"the options of `{name}`", empty=True)
    return model_of(model, given, where=name, key_at=value.where)


def schema(value: Value) -> Schema:
    """Columns as DDL text, or as a mapping from name to type."""
    if isinstance(value, Fields) and len(value):
        return Schema(tuple(field for name in value for field in _column(name, value[name]).fields))
    with at(value):
        return Schema.of(text(value, wanted="a schema such as `card string, amount double`"))


def _column(name: str, value: Value) -> Schema:
    with at(value):
        return Schema.of({name: text(value, wanted="a type")})


def model_of(model: type[Model], given: Fields, *, where: str, key_at: str) -> Model:
    """An option model built from a mapping; every wrong option is a fault at its own line and column.

    Raises:
        DocumentError: an option is unknown, missing or wrong.
    """
    error = None
    for _ in range(2):  # the second time with numbers as text, where the model wants text
        held = model.__new__(model)
        try:
            # Not the model's own __init__, which reports only the first of pydantic's findings.
            BaseModel.__init__(held, **plain(given))
        except ValidationError as raised:
            error, given = raised, _as_text(given, raised)
        else:
            return held
    assert error is not None
    faults = Faults()
    for (path, problem), found in zip(
        option_problems(model, error, where=where), error.errors(), strict=True
    ):
        faults.add(
            f"{_option_at(given, path, found['type'], key_at)}: {problem.where}", problem.what, problem.hint
        )
    raise faults.error()


def _connector(kind: str, given: Fields) -> Connector:
    with at(given):
        model = registry.connector(kind)
    options = fields(
        given[kind], wanted=f"the options of `{kind}`", hint=f"write {kind}: {{...}}", empty=True
    )
    return model_of(model, options, where=kind, key_at=given.key_at(kind))


def _as_text(given: Fields, error: ValidationError) -> Fields:
    for found in error.errors():
        value, _ = find(given, found["loc"])
        if found["type"] == "string_type" and isinstance(value, Scalar) and value.value is not None:
            changed = replaced(given, found["loc"], Scalar(value.where, value.text, value.text))
            assert isinstance(changed, Fields)
            given = changed
    return given


def _option_at(given: Fields, path: tuple[Any, ...], kind: str, key_at: str) -> str:
    if kind == "missing":
        inner, _ = find(given, path[:-1])
        return inner.where if path[:-1] else key_at
    value, key = find(given, path)
    return key if kind == "extra_forbidden" else value.where
