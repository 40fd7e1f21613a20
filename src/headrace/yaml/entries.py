"""The entries of a document: sources, steps and sinks, each read on its own, with references still as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import Field

from headrace.steps.endpoints.sink import SinkModel
from headrace.steps.endpoints.source import SourceModel
from headrace.steps.grammar.model import DocumentModel
from headrace.steps.grammar.step import Slot, StepModel
from headrace.steps.grammar.values import Reference
from headrace.steps.patterns.match import MatchModel
from headrace.steps.patterns.match_rules import MatchRulesModel
from headrace.steps.rows.columns import DropModel, SelectModel, WhereModel, WithColumnsModel
from headrace.steps.rows.event_time import EventTimeModel, IngestionTimeModel, ProcessingTimeModel
from headrace.steps.rows.lookup import LookupModel
from headrace.steps.rows.route import RouteModel
from headrace.steps.rows.sql import SqlModel
from headrace.steps.rows.union import UnionModel
from headrace.steps.stateful.aggregate import AggregateModel
from headrace.steps.stateful.distinct import DistinctModel
from headrace.steps.stateful.window import WindowAggregateModel
from headrace.yaml.errors import ErrorCollector, raise_problem, validate
from headrace.yaml.positions import Fields, Items, Scalar, Value, plain
from headrace.yaml.reading import read_mapping, reject_unknown

TIMES: tuple[type[StepModel], ...] = (EventTimeModel, IngestionTimeModel, ProcessingTimeModel)
STEPS: tuple[type[StepModel], ...] = (
    UnionModel,
    WhereModel,
    WithColumnsModel,
    *TIMES,
    WindowAggregateModel,
    AggregateModel,
    MatchModel,
    MatchRulesModel,
    LookupModel,
    DistinctModel,
    RouteModel,
    SqlModel,
    SelectModel,
    DropModel,
)
"""All kinds of steps, in the order in which their keys apply."""
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
class SourceEntry:
    """A source and the declaration of its time."""

    where: str
    source: SourceModel
    time: StepModel | None
    time_at: str = ""


@dataclass(frozen=True)
class StepEntry:
    """A step: its inputs, and its kinds of steps in order. The operation has the name of the entry, or else the last one."""

    where: str
    inputs: tuple[Scalar, ...]
    steps: tuple[StepModel, ...]
    places: Mapping[str, str] = field(default_factory=dict)
    """The position of each key's value."""

    @property
    def sql(self) -> SqlModel | None:
        """The query of the step."""
        return next((step for step in self.steps if isinstance(step, SqlModel)), None)

    @property
    def named(self) -> StepModel:
        """The part of the step that has its name."""
        return next((step for step in self.steps if step.slot == Slot.OPERATION), self.steps[-1])


@dataclass(frozen=True)
class SinkEntry:
    """A sink and its input."""

    where: str
    input: Scalar
    sink: SinkModel
    places: Mapping[str, str] = field(default_factory=dict)


def read_source(name: str, where: str, value: Value) -> SourceEntry:
    """Read an entry of `sources`."""
    entry = read_mapping(value, expected="a connector and its options", hint=SourceModel.example)
    errors = ErrorCollector()
    keys = {key for model in TIMES for key in model.field_names()}
    source = errors.attempt(validate, SourceModel, entry.only(set(entry) - keys))
    times = _read_steps(entry.only(keys), TIMES, errors)
    errors.raise_any()
    assert source is not None
    time = times[0] if times else None
    return SourceEntry(where, source, time, entry[time.key].where if time is not None else "")


def read_step(name: str, where: str, value: Value) -> StepEntry:
    """Read an entry of `steps`."""
    entry = read_mapping(value, expected="the keys of a step", hint=_EXAMPLE)
    errors = ErrorCollector()
    known = {key for model in STEPS for key in model.field_names()}
    reject_unknown(entry, ("from", *known), f"the step `{name}`", errors)
    inputs = errors.attempt(_read_inputs, entry)
    steps = _read_steps(entry, STEPS, errors)
    _check_dependencies(entry, errors)
    if not errors.problems:
        _check_together(entry, steps, errors)
    errors.raise_any()
    options = [step.key for step in steps if isinstance(getattr(step, "options", None), DocumentModel)]
    return StepEntry(where, inputs or (), tuple(steps), _places(entry, *options))


def read_sink(name: str, where: str, value: Value) -> SinkEntry:
    """Read an entry of `sinks`."""
    entry = read_mapping(value, expected="`from` and a connector", hint=SinkModel.example)
    sink, reference = validate(SinkModel, entry), entry["from"]
    assert isinstance(reference, Scalar)
    return SinkEntry(where, reference, sink, _places(entry, sink.connector.kind))


def _read_steps(
    entry: Fields, models: tuple[type[StepModel], ...], errors: ErrorCollector
) -> list[StepModel]:
    applied: dict[Slot, type[StepModel]] = {}
    steps = []
    for model in [model for model in models if model.applies(plain(entry))]:
        first = applied.setdefault(model.slot, model)
        if first is not model:
            what, hint = _CONFLICTS[model.slot]
            errors.add(entry.key_at(model.key), f"{what}, got `{first.key}` and `{model.key}`", hint)
        elif (step := errors.attempt(validate, model, entry.only(model.field_names()))) is not None:
            steps.append(step)
    return steps


def _read_inputs(entry: Fields) -> tuple[Scalar, ...]:
    if "from" in entry and "union" in entry:
        raise_problem(
            entry.key_at("union"),
            "expected either `from` or `union`, got both",
            "list all streams in `union`",
        )
    if "from" in entry:
        validate(InputModel, entry.only({"from"}))
        return tuple(_scalars(entry["from"]))
    if "union" not in entry and "sql" not in entry:
        raise_problem(entry.where, "`from` of the step is missing", _EXAMPLE)
    return tuple(_scalars(entry.get("union")))


def _scalars(value: Value | None) -> Iterator[Scalar]:
    yield from (
        item for item in (value.items if isinstance(value, Items) else [value]) if isinstance(item, Scalar)
    )


def _check_dependencies(entry: Fields, errors: ErrorCollector) -> None:
    """Report keys such as `emit` whose step is not there."""
    for key in entry:
        users = [model for model in STEPS if key in model.field_names() and model.key != key]
        if users and not any(model.applies(plain(entry)) for model in users):
            missing = dict.fromkeys(k for model in users for k in _missing_keys(model, entry))
            what = f"`{key}` needs {' or '.join(f'`{k}`' for k in missing)} in the same step"
            errors.add(entry.key_at(key), what, _HINTS.get(next(iter(missing)), ""))


def _missing_keys(model: type[StepModel], entry: Fields) -> list[str]:
    if model.key not in entry:
        return [model.key]
    fields = model.field_names().items()
    return [key for key, name in fields if key not in entry and model.model_fields[name].is_required()]


def _check_together(entry: Fields, steps: list[StepModel], errors: ErrorCollector) -> None:
    """Check the parts of a step together."""
    if not steps:
        errors.add(entry.where, "the step has no operation", "add where, select, aggregate, ...")
        return
    sql = next((step for step in steps if isinstance(step, SqlModel)), None)
    if sql is not None and "from" not in entry and steps[0] is not sql:
        errors.add(entry.where, "without `from`, `sql` begins the step", "put the condition into the query")
    if sql is not None and "from" in entry and "this" not in sql.tables:
        what = "the query does not read `this`, the stream of `from`"
        errors.add(entry["sql"].where, what, "remove `from`")
    if "route" in entry and steps[-1].slot > Slot.OPERATION:
        after = next(step.key for step in steps if step.slot > Slot.OPERATION)
        errors.add(entry[after].where, f"`{after}` cannot follow `route`", "split it into two steps")


def _places(entry: Fields, *inside: str) -> dict[str, str]:
    """Return the position of each key's value; for those in `inside`, also of the keys of that value."""
    places = {key: entry[key].where for key in entry}
    for key in inside:
        value = entry.get(key)
        if isinstance(value, Fields):
            places |= {inner: value[inner].where for inner in value if inner not in places}
    return places
