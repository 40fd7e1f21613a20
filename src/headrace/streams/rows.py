"""`Stage`: stateless verbs of all stages; `Rows`: a stage that other streams can read; `SinkHandle`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from headrace.connectors.base import Connector, Load, WriteMode
from headrace.durations import Duration
from headrace.errors import NoEventTimeError, OptionError, RenamedError
from headrace.formats import Format
from headrace.lookups.declare import Lookup, LookupHow, OnMiss
from headrace.schemas.fields import Schema
from headrace.steps.base import DEAD_LETTERS, Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import require_connector
from headrace.steps.expressions import column_names, expression_of, to_named_expressions
from headrace.steps.rows.columns import Drop, Select, Where, WithColumns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from headrace.streams.pipeline import Pipeline
    from headrace.streams.stream import Stream


class Stage:
    """A handle to one output of one step; every verb adds a step to the pipeline and returns a new handle."""

    def __init__(self, pipeline: Pipeline, ref: Ref) -> None:
        self._pipeline = pipeline
        self._ref = ref

    def where(self, condition: str | Column, /, *, name: str | None = None) -> Self:
        """Keep the rows that satisfy a condition; rows for which it is null are dropped.

        Args:
            condition: Spark SQL text or a pyspark `Column`.
            name: the step's name, for errors, metrics, SQL and documents.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> tx.where("amount > 50", name="big")
        <big of p>
        """
        return self._then(Where(name or self._new_name("where"), self._ref, expression_of(condition)))

    def select(self, *columns: str | Column, step_name: str | None = None, **named: str | Column) -> Self:
        """Keep and compute columns, given as Spark SQL text with `as` or as keywords.

        `step_name` is the name of the step; all other keywords are columns.
        """
        if not columns and not named:
            raise OptionError("expected at least one column", where=f"select after `{self._ref}`")
        items = (*(("", expression_of(item)) for item in columns), *to_named_expressions(named))
        return self._then(Select(step_name or self._new_name("select"), self._ref, items))

    def with_columns(self, *, step_name: str | None = None, **columns: str | Column) -> Self:
        """Add or replace columns. `step_name` is the name of the step."""
        name = step_name or self._new_name("with_columns")
        return self._then(WithColumns(name, self._ref, to_named_expressions(columns)))

    def drop(self, *columns: str, name: str | None = None) -> Self:
        """Remove columns."""
        names = column_names(columns, "drop")
        return self._then(Drop(name or self._new_name("drop"), self._ref, names))

    def lookup(
        self,
        name: str,
        table: Connector | DataFrame,
        /,
        *,
        on: str | list[str] | tuple[str, ...],
        format: str | Format | None = None,  # noqa: A002
        schema: str | type | Schema | None = None,
        how: LookupHow = "left",
        load: Load = "table",
        refresh: Duration | None = None,
        cache: int = 10_000,
        ttl: Duration = "1 minute",
        concurrency: int = 8,
        on_miss: OnMiss | None = None,
    ) -> Self:
        """Add the columns of the table row with the same `on` columns; a null key has no match.

        Args:
            name: the step's name.
            table: a connector, or a DataFrame.
            on: the columns that both sides have.
            format: the format of the table's records.
            schema: the columns of the table.
            how: `left` passes a row without a match with nulls, `inner` drops and counts it.
            load: `table` loads the whole table in every task; `key` reads the rows of the keys of each Arrow
                batch.
            refresh: with `table`, the interval between reloads; files are reloaded only if they have changed.
                Default: the table is read when the run starts.
            cache: with `key`, the number of keys that a worker caches, including keys without a row; 0 for no
                cache.
            ttl: with `key`, the time to live of a cache entry.
            concurrency: with `key`, the number of concurrent HTTP requests of a task.
            on_miss: `null`, `drop` or `dead_letter` for a row without a match; default: from `how`. Dead
                letters have the columns of the row and `reason`.
        """
        node = Lookup.create(
            name,
            self._ref,
            table,
            on=on,
            format=format,
            schema=schema,
            how=how,
            load=load,
            refresh=refresh,
            cache=cache,
            ttl=ttl,
            concurrency=concurrency,
            on_miss=on_miss,
        )
        return self._then(node)

    @property
    def dead_letters(self) -> Stream:
        """The dead letters of this step, such as the rows of a lookup that have no match."""
        if DEAD_LETTERS not in self._pipeline.graph[self._ref.step].outputs:
            raise AttributeError(f"`{self._ref.step}` has no dead letters")
        return self._side_output(DEAD_LETTERS)

    def write(self, name: str, connector: Connector, /, *, mode: WriteMode | None = None) -> SinkHandle:
        """Write the rows to a sink.

        Args:
            name: the sink's name, in errors, metrics and the delivery ledger.
            connector: from `connect`.
            mode: for running aggregates `"update"` (each changed key once per micro-batch, the default) or
                `"complete"` (all keys every time); `"append"` for all other streams.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> tx.write("copy", connect.memory())
        <sink copy of p>
        """
        require_connector(connector, f"`{name}`", "write")
        self._pipeline.add(Sink(name, self._ref, connector, mode))
        return SinkHandle(self._pipeline, name)

    def to_dataframe(self, **options: Any) -> DataFrame:
        """Return the stream as a Spark DataFrame."""
        from headrace.lowering.frames import frame_of

        return frame_of(self._pipeline.graph, self._ref, **options)

    def _then(self, node: Node) -> Self:
        """Add a step to the pipeline and return the stage after it."""
        raise NotImplementedError

    def _side_output(self, name: str) -> Stream:
        """Return a side output of this step, without time."""
        from headrace.streams.stream import Stream

        return Stream(self._pipeline, Ref(self._ref.step, name))

    def _new_name(self, verb: str) -> str:
        return self._pipeline.generate_name(self._ref, verb)

    def __repr__(self) -> str:
        return f"<{self._ref} of {self._pipeline.name}>"


class Rows(Stage):
    """Rows that joins and unions can read: a stream or a table that is not grouped by key or window."""

    stage_after: ClassVar[type[Rows] | None] = None
    """The stage that a stateless verb returns; default: the same stage."""

    def _then(self, node: Node) -> Self:
        stage = self.stage_after or type(self)
        return cast("Self", stage(self._pipeline, self._pipeline.add(node)))


class SinkHandle:
    """A handle to a sink.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.write("copy", connect.memory()).name
    'copy'
    """

    def __init__(self, pipeline: Pipeline, name: str) -> None:
        self.pipeline = pipeline
        self.name = name

    def __repr__(self) -> str:
        return f"<sink {self.name} of {self.pipeline.name}>"


def require_same_pipeline(pipeline: Pipeline, other: Rows, where: str) -> None:
    """Reject an input that belongs to another pipeline.

    Raises:
        OptionError: it does; `where` is the location of the step.
    """
    if other._pipeline is not pipeline:
        raise OptionError("expected a stream of the same pipeline", where=where)


_RENAMED = {
    "rejects": ".dead_letters",
    "named": 'the argument `name` of the verb, such as where("amount > 50", name="large")',
}


def missing_attribute(handle: Any, name: str, timed: type) -> Any:
    """Raise the error for a missing attribute of a handle.

    Raises:
        NoEventTimeError: it is a verb of streams with time.
        RenamedError: it is a name of an earlier version.
        AttributeError: it is unknown, or a property that this step does not have.
    """
    declared = getattr(type(handle), name, None)
    if isinstance(declared, property):  # Python discards the `AttributeError` of a property; raise it again
        return declared.__get__(handle)
    if hasattr(timed, name) and not name.startswith("_"):
        raise no_time(handle._ref, name)
    if name in _RENAMED:
        raise RenamedError(f"`{name}` was renamed", where=f"`{handle._ref}`", hint=f"use {_RENAMED[name]}")
    raise AttributeError(f"{type(handle).__name__!r} object has no attribute {name!r}", name=name, obj=handle)


def no_time(ref: Ref, verb: str) -> NoEventTimeError:
    """Return the error for a verb of streams with time after an output without time."""
    return NoEventTimeError(
        f"`{verb}` needs rows with a time",
        where=f"`{ref}`",
        hint='declare it first: .event_time("ts"), .ingestion_time() or .processing_time()',
    )
