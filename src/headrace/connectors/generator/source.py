"""Generates rows inside Spark: the kernel emits row numbers at a rate, SQL computes the columns."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import ReadContext
from headrace.connectors.files import Files
from headrace.connectors.flatten import position_column, quote_name, text_schema
from headrace.connectors.generator.base import NUMBER, Recipe, literal
from headrace.connectors.generator.recipes import default_recipe
from headrace.errors import SourceError, did_you_mean
from headrace.formats import Schema
from headrace.schemas.datatypes import Field
from headrace.spark.gateway import java_frame, kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.generator import Generator

_COUNTER = "org.apache.spark.sql.headrace.sources.CounterProvider"
_UNLIMITED_SPEED = 1e12


class GeneratorReader:
    """Reads generated rows, or a recording.

    Args:
        options: the options of the source.
        tasks: the maximum number of tasks of an epoch, each with consecutive rows; default: one per core.
    """

    def __init__(self, options: Generator, *, tasks: int | None = None) -> None:
        self._options = options
        self._tasks = tasks
        self._schedules: list[tuple[DataFrame, Any, str]] = []

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        if self._options.replay is None:
            numbers = self._number_stream(spark, {"rows": self._options.rows})
            return self._generate(numbers, context)
        recording = self._recording(spark, context).persist()
        timetable = uuid.uuid4().hex
        counter = kernel(spark).sources.Counter
        rows = counter.schedule(timetable, java_frame(self._due_times(recording, context)))
        self._schedules.append((recording, counter, timetable))
        pace = {} if self._options.rate is not None else {"timetable": timetable, "speed": self._speed()}
        limit = rows if self._options.rows is None else min(rows, self._options.rows)
        numbers = self._number_stream(spark, {"rows": limit, **pace})
        return numbers.join(recording.hint("broadcast"), NUMBER).drop(NUMBER)

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        limit = self._options.rows
        if self._options.replay is not None:
            recording = self._recording(spark, context)
            return (recording if limit is None else recording.where(f"{NUMBER} < {limit}")).drop(NUMBER)
        if limit is None:
            hint = "set the number of rows: rows=1000"
            raise SourceError(
                "a batch needs an end, and these rows have none", where=context.source, hint=hint
            )
        return self._generate(spark.range(limit).withColumnRenamed("id", NUMBER), context)

    def close(self) -> None:
        for recording, counter, timetable in self._schedules:
            recording.unpersist()
            counter.forget(timetable)
        self._schedules.clear()

    def _number_stream(self, spark: SparkSession, options: dict[str, Any]) -> DataFrame:
        settings = {
            "rate": self._options.rate,
            "perBatch": self._options.max_rows_per_batch,
            "tasks": self._tasks,
            **options,
        }
        present = {name: str(value) for name, value in settings.items() if value is not None}
        return spark.readStream.format(_COUNTER).options(**present).load().withColumnRenamed("number", NUMBER)

    def _generate(self, numbers: DataFrame, context: ReadContext) -> DataFrame:
        schema = self._check_schema(context)
        frame = numbers
        # One column after the other, so that a recipe can refer to earlier columns.
        for field in schema.fields:
            recipe = self._options.columns.get(field.name) or _default_recipe(field, context)
            value = self._value(field, recipe.sql(field.name, self._options.seed))
            frame = frame.selectExpr("*", f"{value} as {quote_name(field.name)}")
        position = position_column(context.source, "''", NUMBER)
        return frame.selectExpr(*map(quote_name, schema.names), position)

    def _value(self, field: Field, expression: str) -> str:
        value = f"cast({expression} as {field.type})"
        rows = self._options.planted.items()
        planted = [(number, literal(row[field.name])) for number, row in rows if field.name in row]
        cases = " ".join(f"when {number}L then cast({other} as {field.type})" for number, other in planted)
        return f"case {NUMBER} {cases} else {value} end" if planted else value

    def _check_schema(self, context: ReadContext) -> Schema:
        schema = context.schema or self._options.schema_known
        if schema is None:
            hint = 'set schema="card string, amount double", or columns={"amount": "lognormal"}'
            raise SourceError("generated rows need a schema or recipes", where=context.source, hint=hint)
        planted = {name for row in self._options.planted.values() for name in row}
        for name in (*self._options.columns, *sorted(planted)):
            if name not in schema.names:
                what = f"unknown column `{name}`"
                raise SourceError(what, where=context.source, hint=did_you_mean(name, schema.names))
        return schema

    def _recording(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        """Return the lines of the recording, numbered in their order."""
        lines = Files(path=str(self._options.replay), format="text").reader().batch(spark, context)
        number = f"row_number() over (order by partition, offset) - 1L as {NUMBER}"
        return lines.selectExpr("*", number)

    def _due_times(self, recording: DataFrame, context: ReadContext) -> DataFrame:
        """Return when each line is due, in milliseconds: at the latest time so far, to preserve the order."""
        if self._options.time is None:
            return recording.selectExpr("0L as due").orderBy(NUMBER)
        times = recording.selectExpr(NUMBER, f"unix_millis({self._line_time(context)}) as at")
        latest = f"max(at) over (order by {NUMBER} rows unbounded preceding)"
        return times.selectExpr(NUMBER, f"coalesce({latest}, 0L) as due").orderBy(NUMBER).select("due")

    def _line_time(self, context: ReadContext) -> str:
        column, encoding = str(self._options.time), context.format
        schema = context.schema or self._options.schema_known
        if schema is not None and column not in schema:
            hint = did_you_mean(column, schema.names)
            raise SourceError(f"unknown column `{column}` in `time`", where=context.source, hint=hint)
        if encoding is not None and encoding.name == "csv" and schema is not None:
            separator = literal(encoding.delimiter)  # type: ignore[attr-defined]
            columns = literal(text_schema(schema.names))
            read = f"from_csv(cast(value as string), {columns}, map('sep', {separator}))"
            return f"try_to_timestamp({read}.{quote_name(column)})"
        name = quote_name(column)
        return f"from_json(cast(value as string), {literal(f'{name} timestamp')}).{name}"

    def _speed(self) -> float:
        return _UNLIMITED_SPEED if self._options.speed == "max" else float(self._options.speed)


def _default_recipe(field: Field, context: ReadContext) -> Recipe:
    recipe = default_recipe(str(field.type))
    if recipe is None:
        hint = f'set one: columns={{"{field.name}": {{"sql": "..."}}}}'
        raise SourceError(
            f"the column `{field.name}` ({field.type}) needs a recipe", where=context.source, hint=hint
        )
    return recipe
