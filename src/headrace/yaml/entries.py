"""Read the entries of a document (sources, steps and sinks); references are not resolved yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import Field

from headrace.steps.endpoints.sink import SinkModel
from headrace.steps.endpoints.source import SourceModel
from headrace.steps.grammar.model import DocumentModel, Grammar
from headrace.steps.grammar.step import Slot, StepKeys
from headrace.steps.grammar.values import Reference
from headrace.steps.kinds import step_models
from headrace.steps.rows.sql import SqlModel
from headrace.yaml.errors import ErrorCollector, raise_problem, validate
from headrace.yaml.positions import Fields, Items, Scalar, Value, plain
from headrace.yaml.reading import read_mapping, reject_unknown

Models = tuple[type[StepKeys], ...]
STEPS: Models = step_models()
SOURCE_STEPS: Models = tuple(model for model in STEPS if model.slot in (Slot.TIME, Slot.CHANGELOG))
"""The kinds of steps whose keys an entry of a source can have."""
_EXAMPLE = "such as {from: tx, where: amount > 50}"
_CONFLICTS = {
    Slot.TIME: ("expected one kind of time", "remove one"),
    Slot.OPERATION: ("a step has one operation", "split it into two steps"),
}
_HINTS = {"aggregate": "such as aggregate: {n: count(*)}", "window": "such as window: {tumbling: 10 minutes}"}


class InputModel(DocumentModel):
    """The key of a step that names its input."""

    label = "the step"
    example = _EXAMPLE
    input: Reference = Field(
        alias="from", description="The source, step or output that is read: tx, totals, totals.late"
    )


@dataclass(frozen=True)
class Entry:
    """An entry of a document: its inputs, and its kinds of steps in order."""

    where: str
    places: Mapping[str, str] = field(default_factory=dict)
    """The position of each key's value."""
    inputs: tuple[Scalar, ...] = ()
    steps: tuple[StepKeys, ...] = ()
    endpoint: SourceModel | SinkModel | None = None
    other: Scalar | None = None
    """The second input of the operation, such as `with` of a join."""

    @property
    def sql(self) -> SqlModel | None:
        """The query of the step."""
        return next((step for step in self.steps if isinstance(step, SqlModel)), None)

    @property
    def main_step(self) -> StepKeys:
        """The part of the step that has its name: the operation, otherwise the last part."""
        return next((step for step in self.steps if step.slot == Slot.OPERATION), self.steps[-1])


def read_source(name: str, where: str, value: Value) -> Entry:
    """Read an entry of `sources`."""
    fields = read_mapping(value, expected="a connector and its options", hint=SourceModel.example)
    errors, keys = ErrorCollector(), {key for model in SOURCE_STEPS for key in model.field_names()}
    source = errors.attempt(validate, SourceModel, fields.only(set(fields) - keys))
    steps = _read_steps(fields.only(keys), SOURCE_STEPS, errors)
    errors.raise_any()
    return Entry(where, _places(fields), (), tuple(steps), source)


def read_step(name: str, where: str, value: Value) -> Entry:
    """Read an entry of `steps`."""
    fields = read_mapping(value, expected="the keys of a step", hint=_EXAMPLE)
    errors = ErrorCollector()
    known = {key for model in STEPS for key in model.field_names()}
    reject_unknown(fields, ("from", *known), f"the step `{name}`", errors)
    inputs = errors.attempt(_read_inputs, fields)
    steps = _read_steps(fields, STEPS, errors)
    _check_dependencies(fields, errors)
    if not errors.problems:
        _check_together(fields, steps, errors)
    errors.raise_any()
    options = [step.key for step in steps if isinstance(getattr(step, "options", None), Grammar)]
    return Entry(where, _places(fields, *options), inputs or (), tuple(steps), other=_read_other(fields))


def read_sink(name: str, where: str, value: Value) -> Entry:
    """Read an entry of `sinks`."""
    fields = read_mapping(value, expected="`from` and a connector", hint=SinkModel.example)
    sink = validate(SinkModel, fields)
    return Entry(where, _places(fields, sink.connector.kind), _scalars(fields["from"]), (), sink)


def _read_steps(fields: Fields, models: Models, errors: ErrorCollector) -> list[StepKeys]:
    first: dict[Slot, type[StepKeys]] = {}
    steps = []
    for model in [model for model in models if model.applies(plain(fields))]:
        other = first.setdefault(model.slot, model)
        if other is not model:
            what, hint = _CONFLICTS[model.slot]
            errors.add(fields.key_at(model.key), f"{what}, got `{other.key}` and `{model.key}`", hint)
        elif (step := errors.attempt(validate, model, fields.only(model.field_names()))) is not None:
            steps.append(step)
    return steps


def _read_inputs(fields: Fields) -> tuple[Scalar, ...]:
    if "from" in fields and "union" in fields:
        what, hint = "expected either `from` or `union`, got both", "list all streams in `union`"
        raise_problem(fields.key_at("union"), what, hint)
    if "from" in fields:
        validate(InputModel, fields.only({"from"}))
        return _scalars(fields["from"])
    if "union" not in fields and "sql" not in fields:
        raise_problem(fields.where, "`from` of the step is missing", _EXAMPLE)
    return _scalars(fields["union"]) if "union" in fields else ()


def _read_other(fields: Fields) -> Scalar | None:
    """Return the reference to the second input of an operation."""
    for model in STEPS:
        value = fields.get(model.key)
        other = value.get(model.other_key) if model.other_key and isinstance(value, Fields) else None
        if isinstance(other, Scalar):
            return other
    return None


def _scalars(value: Value) -> tuple[Scalar, ...]:
    items = value.items if isinstance(value, Items) else (value,)
    return tuple(item for item in items if isinstance(item, Scalar))


def _check_dependencies(fields: Fields, errors: ErrorCollector) -> None:
    """Report keys such as `emit` without the key that they belong to."""
    for key in fields:
        models = [model for model in STEPS if key in model.field_names()]
        users = [model for model in models if model.key != key]
        if users and not any(model.applies(plain(fields)) for model in models):
            missing = dict.fromkeys(k for model in users for k in _missing_keys(model, fields))
            what = f"`{key}` needs {' or '.join(f'`{k}`' for k in missing)} in the same step"
            errors.add(fields.key_at(key), what, _HINTS.get(next(iter(missing)), ""))


def _missing_keys(model: type[StepKeys], fields: Fields) -> list[str]:
    if model.key not in fields:
        return [model.key]
    names = model.field_names().items()
    return [key for key, name in names if key not in fields and model.__pydantic_fields__[name].is_required()]


def _check_together(fields: Fields, steps: list[StepKeys], errors: ErrorCollector) -> None:
    """Check the parts of a step together."""
    if not steps:
        errors.add(fields.where, "the step has no operation", "add where, select, aggregate, ...")
    sql = next((step for step in steps if isinstance(step, SqlModel)), None)
    if sql is not None and "from" not in fields and steps[0] is not sql:
        what = "a step without `from` must start with `sql`"
        errors.add(fields.where, what, "move the condition into the query")
    if sql is not None and "from" in fields and "this" not in sql.tables:
        what = "the query does not read `this`, the stream of `from`"
        errors.add(fields["sql"].where, what, "remove `from`")
    for step in steps:
        if "route" in fields and step.slot > Slot.OPERATION:
            errors.add(
                fields[step.key].where, f"`{step.key}` cannot follow `route`", "split it into two steps"
            )


def _places(fields: Fields, *inside: str) -> dict[str, str]:
    """Return the position of the value of each key, of the items in it, and of the keys inside `inside`."""
    places = {key: fields[key].where for key in fields}
    for key in fields:
        places |= {f"{key}/{item}": where for item, where in _items(fields[key])}
    for key in inside:
        value = fields.get(key)
        if isinstance(value, Fields):
            places |= _places(value.only(set(value) - set(fields)))
    return places


def _items(value: Value) -> Iterator[tuple[str, str]]:
    """Yield the names of the items of a value with the positions of their values; a text is its own name."""
    if isinstance(value, Fields):
        yield from ((key, value[key].where) for key in value)
    elif isinstance(value, Items):
        for item in value.items:
            yield from _items(item)
    elif isinstance(value.value, str):
        yield value.text, value.where
