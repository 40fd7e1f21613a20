"""Kafka records of a real-time query: each tagged row becomes a record for the topic of its sink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.connectors.kafka import Kafka, properties, records
from headrace.connectors.row_encoding import fields_of
from headrace.errors import PlanError, Problem
from headrace.lowering.expressions import HIDDEN, OUTPUT
from headrace.lowering.lowering import Lowering
from headrace.steps.endpoints.sink import Sink
from headrace.steps.expressions import hidden_key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def build_records(lowering: Lowering, step: Any, sinks: list[Sink]) -> DataFrame:
    """Return the records of all sinks of a query."""
    if not step.stateful:
        return _records(lowering.frame(sinks[0].input), sinks)
    raw = lowering.raw(step.name)
    return build_tagged_records(raw, step, sinks) if OUTPUT in raw.columns else _records(raw, sinks)


def build_tagged_records(raw: DataFrame, step: Any, sinks: list[Sink]) -> DataFrame:
    """Return the records of all outputs of a step; the tag of a row selects its sink."""
    by_tag = {sink.input.output or "main": _record_expressions(raw, step, sink) for sink in sinks}
    cases = [
        " ".join(f"when '{tag}' then {parts[column]}" for tag, parts in by_tag.items())
        for column in range(len(records.COLUMNS))
    ]
    tags = ", ".join(f"'{tag}'" for tag in by_tag)
    return raw.where(f"{OUTPUT} in ({tags})").selectExpr(
        *_with_names([f"case {OUTPUT} {case} end" for case in cases])
    )


def producer_options(sinks: list[Sink]) -> dict[str, str]:
    """Return the options of Spark's Kafka sink; with `linger.ms` 0, each record is sent immediately."""
    clients = {str(properties.client(kafka_of(sink))): properties.client(kafka_of(sink)) for sink in sinks}
    if len(clients) > 1:
        names = ", ".join(sink.name for sink in sinks)
        what = "in real-time mode all outputs of a step must be written to one Kafka cluster"
        raise PlanError([Problem(names, what, "use the same servers and credentials")])
    settings = next(iter(clients.values())) | {"linger.ms": "0", "acks": "all", "enable.idempotence": "true"}
    return {f"kafka.{name}": value for name, value in settings.items()} | {"includeHeaders": "true"}


def kafka_of(sink: Sink) -> Kafka:
    """Return the connector of a sink; `check_plan` has rejected all others."""
    assert isinstance(sink.connector, Kafka)
    return sink.connector


def _records(frame: DataFrame, sinks: list[Sink]) -> DataFrame:
    """Return the records of rows without tags, for the only sink."""
    [sink] = sinks
    fields = fields_of(frame.schema.jsonValue())
    visible = {name: field for name, field in fields.items() if not name.startswith(HIDDEN)}
    return frame.selectExpr(*_with_names(records.expressions(kafka_of(sink), visible, where=sink.name)))


def _record_expressions(raw: DataFrame, step: Any, sink: Sink) -> list[str]:
    """Return the expressions of a record from the struct of its output."""
    column = f"{HIDDEN}{sink.input.output or 'main'}"
    held = next(field["type"] for field in raw.schema.jsonValue()["fields"] if field["name"] == column)
    renamed = {hidden_key(name): name for name in step.key_names}
    by_name = {renamed.get(name, name): field for name, field in fields_of(held, within=column).items()}
    fields = {name: field for name, field in by_name.items() if not name.startswith(HIDDEN)}
    return records.expressions(kafka_of(sink), fields, where=sink.name)


def _with_names(expressions: list[str]) -> list[str]:
    return [f"{text} as {name}" for text, name in zip(expressions, records.COLUMNS, strict=True)]
