"""Makes rows up inside Spark: the kernel counts them at their pace, SQL expressions make their columns."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import ReadContext
from headrace.connectors.files import Files
from headrace.connectors.generator.kitchen import guessed
from headrace.connectors.generator.recipes import NUMBER, Recipe, literal
from headrace.errors import SourceError, did_you_mean
from headrace.formats import Schema
from headrace.schemas.datatypes import Field, quoted
from headrace.spark.gateway import java_frame, kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.generator import Generator

_COUNTER = "org.apache.spark.sql.headrace.sources.CounterProvider"


class GeneratorReader:
    """Reads made-up rows, or a recording."""

    def __init__(self, options: Generator) -> None:
        self._options = options
        self._kept: list[tuple[DataFrame, Any, str]] = []

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        if self._options.replay is None:
            numbers = self._counted(spark, {"rows": self._options.rows})
            return self._made_up(numbers, context)
        recorded = self._recorded(spark, context).persist()
        timetable = uuid.uuid4().hex
        counter = kernel(spark).sources.Counter
        rows = counter.schedule(timetable, java_frame(self._due(recorded, context)))
        self._kept.append((recorded, counter, timetable))
        paced = {} if self._options.rate is not None else {"timetable": timetable, "speed": self._speed()}
        limit = rows if self._options.rows is None else min(rows, self._options.rows)
        numbers = self._counted(spark, {"rows": limit, **paced})
        return numbers.join(recorded.hint("broadcast"), NUMBER).drop(NUMBER)

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        limit = self._options.rows
        if self._options.replay is not None:
            recorded = self._recorded(spark, context)
            return (recorded if limit is None else recorded.where(f"{NUMBER} < {limit}")).drop(NUMBER)
        if limit is None:
            hint = "say how many: rows=1000"
            raise SourceError("there is no end of these rows to wait for", where=context.source, hint=hint)
        return self._made_up(spark.range(limit).withColumnRenamed("id", NUMBER), context)

    def close(self) -> None:
        for recorded, counter, timetable in self._kept:
            recorded.unpersist()
            counter.forget(timetable)
        self._kept.clear()

    def _counted(self, spark: SparkSession, options: dict[str, Any]) -> DataFrame:
        chosen = {"rate": self._options.rate, "perBatch": self._options.max_rows_per_batch, **options}
        said = {name: str(value) for name, value in chosen.items() if value is not None}
        return spark.readStream.format(_COUNTER).options(**said).load().withColumnRenamed("number", NUMBER)

    def _made_up(self, numbers: DataFrame, context: ReadContext) -> DataFrame:
        schema = self._checked(context)
        frame = numbers
        # One column after the other, so that a recipe can speak of those before it.
        for field in schema.fields:
            made = self._options.columns.get(field.name) or _guess(field, context)
            kept, drawn = made.sql(field.name, self._options.seed)
            if kept:
                frame = frame.selectExpr("*", *(f"{value} as {hidden}" for hidden, value in kept))
            frame = frame.selectExpr("*", f"{self._value(field, drawn)} as {quoted(field.name)}")
        position = (
            f"struct({literal(context.source)} as source, '' as partition, {NUMBER} as offset) as __position"
        )
        return frame.selectExpr(*map(quoted, schema.names), position)

    def _value(self, field: Field, drawn: str) -> str:
        value = f"cast({drawn} as {field.type})"
        rows = self._options.planted.items()
        planted = [(number, literal(row[field.name])) for number, row in rows if field.name in row]
        cases = " ".join(f"when {number}L then cast({said} as {field.type})" for number, said in planted)
        return f"case {NUMBER} {cases} else {value} end" if planted else value

    def _checked(self, context: ReadContext) -> Schema:
        schema = context.schema or self._options.schema_known
        if schema is None:
            hint = 'write schema="card string, amount double", or columns={"card": "card_number"}'
            raise SourceError("made-up rows need a schema or recipes", where=context.source, hint=hint)
        planted = {name for row in self._options.planted.values() for name in row}
        for name in (*self._options.columns, *sorted(planted)):
            if name not in schema.names:
                what = f"the column `{name}` is not in the schema"
                raise SourceError(what, where=context.source, hint=did_you_mean(name, schema.names))
        return schema

    def _recorded(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        """The lines of the recording, numbered in the order they stand in."""
        lines = Files(path=str(self._options.replay), format="text").reader().batch(spark, context)
        number = f"row_number() over (order by partition, offset) - 1L as {NUMBER}"
        return lines.selectExpr("*", number)

    def _due(self, recorded: DataFrame, context: ReadContext) -> DataFrame:
        """When each line is due, in milliseconds: at the latest time so far, so that disorder stays as it was."""
        if self._options.time is None:
            return recorded.selectExpr("0L as due").orderBy(NUMBER)
        times = recorded.selectExpr(NUMBER, f"unix_millis({self._moment(context)}) as at")
        latest = f"max(at) over (order by {NUMBER} rows unbounded preceding)"
        return times.selectExpr(NUMBER, f"coalesce({latest}, 0L) as due").orderBy(NUMBER).select("due")

    def _moment(self, context: ReadContext) -> str:
        column, chosen = str(self._options.time), context.format
        schema = context.schema or self._options.schema_known
        if schema is not None and column not in schema:
            hint = did_you_mean(column, schema.names)
            raise SourceError(
                f"there is no column `{column}` to tell the pace", where=context.source, hint=hint
            )
        if chosen is not None and chosen.name == "csv" and schema is not None:
            read = f"from_csv(cast(value as string), {literal(_texts(schema))}, map('sep', {literal(chosen.delimiter)}))"  # type: ignore[attr-defined]
            return f"try_to_timestamp({read}.{quoted(column)})"
        return f"from_json(cast(value as string), {literal(f'{quoted(column)} timestamp')}).{quoted(column)}"

    def _speed(self) -> float | None:
        return 1e12 if self._options.speed == "max" else float(self._options.speed)


def _guess(field: Field, context: ReadContext) -> Recipe:
    made = guessed(field)
    if made is None:
        hint = f'give one: columns={{"{field.name}": {{"sql": "..."}}}}'
        raise SourceError(
            f"the column `{field.name}` ({field.type}) needs a recipe", where=context.source, hint=hint
        )
    return made


def _texts(schema: Schema) -> str:
    return ", ".join(f"{quoted(name)} string" for name in schema.names)
