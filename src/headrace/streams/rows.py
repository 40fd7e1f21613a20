"""`Stage`: the stateless verbs of all stages; `Rows`: a stage that other streams can read."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from headrace.analytics.declare import Expect, OnFail
from headrace.connectors.base import Connector, Load, WriteMode
from headrace.durations import Duration
from headrace.errors import MissingOutputError, NoEventTimeError, OptionError, require_choice
from headrace.formats import Format
from headrace.html_tables import html_table
from headrace.lookups.declare import Lookup, LookupHow, OnMiss
from headrace.models import Model
from headrace.models.declare import predict_node
from headrace.schemas.fields import Schema
from headrace.steps.base import Ref
from headrace.steps.code.functions import OnFailure
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import require_connector
from headrace.steps.expressions import column_names, expression_of, to_named_expressions
from headrace.steps.rows.columns import Drop, Select, Where, WithColumns
from headrace.streams.signatures import verb

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from headrace.streams.pipeline import Pipeline

Next_co = TypeVar("Next_co", covariant=True)
Diverted_co = TypeVar("Diverted_co", covariant=True)


class Before(Protocol[Next_co]):
    """A stage whose stateless verbs return the stage `Next_co`, which lacks the side outputs of its step."""

    _pipeline: Pipeline
    _ref: Ref

    def _after(self, ref: Ref, /) -> Next_co: ...

    def _new_name(self, verb: str, /) -> str: ...


class Diverting(Protocol[Diverted_co]):
    """A stage whose verbs can divert rows, and then return the stage `Diverted_co`, with dead letters."""

    _pipeline: Pipeline
    _ref: Ref

    def _diverting(self, ref: Ref, /) -> Diverted_co: ...

    def _new_name(self, verb: str, /) -> str: ...


class Stage:
    """A handle to one output of one step; every verb adds a step to the pipeline and returns a new handle."""

    def __init__(self, pipeline: Pipeline, ref: Ref) -> None:
        self._pipeline = pipeline
        self._ref = ref

    if not TYPE_CHECKING:  # a type checker reports a missing verb by itself

        def __getattr__(self, name: str) -> Any:
            return missing_attribute(self, name)

    @verb(name="step_name=")
    def where(self: Before[Next_co], condition: str | Column, /, *, step_name: str | None = None) -> Next_co:
        """Keep the rows that satisfy a condition; rows for which it is null are dropped.

        Args:
            condition: Spark SQL text or a pyspark `Column`.
            step_name: the step's name, for errors, metrics, SQL and documents.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> tx.where("amount > 50", step_name="big")
        <big of p>
        """
        node = Where(step_name or self._new_name("where"), self._ref, expression_of(condition))
        return self._after(self._pipeline._add(node))

    def select(
        self: Before[Next_co], *columns: str | Column, step_name: str | None = None, **named: str | Column
    ) -> Next_co:
        """Keep and compute columns, given as Spark SQL text with `as` or as keywords.

        `step_name` is the name of the step; all other keywords are columns.
        """
        if not columns and not named:
            raise OptionError("expected at least one column", where=f"select after `{self._ref}`")
        items = (*(("", expression_of(item)) for item in columns), *to_named_expressions(named))
        node = Select(step_name or self._new_name("select"), self._ref, items)
        return self._after(self._pipeline._add(node))

    def with_columns(
        self: Before[Next_co], *, step_name: str | None = None, **columns: str | Column
    ) -> Next_co:
        """Add or replace columns. `step_name` is the name of the step."""
        name = step_name or self._new_name("with_columns")
        return self._after(self._pipeline._add(WithColumns(name, self._ref, to_named_expressions(columns))))

    @verb(name="step_name=")
    def drop(self: Before[Next_co], *columns: str, step_name: str | None = None) -> Next_co:
        """Remove columns."""
        names = column_names(columns, "drop")
        node = Drop(step_name or self._new_name("drop"), self._ref, names)
        return self._after(self._pipeline._add(node))

    @overload
    def lookup(
        self: Diverting[Diverted_co],
        name: str,
        table: Connector | DataFrame,
        /,
        *,
        on: str | list[str] | tuple[str, ...],
        on_miss: Literal["dead_letter"],
        where: str | None = None,
        format: str | Format | None = None,
        schema: str | type | Schema | None = None,
        load: Load = "table",
        refresh: Duration | None = None,
        cache: int = 10_000,
        ttl: Duration = "1 minute",
        concurrency: int = 8,
    ) -> Diverted_co: ...

    @overload
    def lookup(
        self: Before[Next_co],
        name: str,
        table: Connector | DataFrame,
        /,
        *,
        on: str | list[str] | tuple[str, ...],
        on_miss: OnMiss = "null",
        where: str | None = None,
        format: str | Format | None = None,
        schema: str | type | Schema | None = None,
        load: Load = "table",
        refresh: Duration | None = None,
        cache: int = 10_000,
        ttl: Duration = "1 minute",
        concurrency: int = 8,
    ) -> Next_co: ...

    @verb()
    def lookup(
        self: Any,
        name: str,
        table: Connector | DataFrame,
        /,
        *,
        on: str | list[str] | tuple[str, ...],
        on_miss: OnMiss | None = None,
        where: str | None = None,
        format: str | Format | None = None,  # noqa: A002
        schema: str | type | Schema | None = None,
        load: Load = "table",
        refresh: Duration | None = None,
        cache: int = 10_000,
        ttl: Duration = "1 minute",
        concurrency: int = 8,
        how: LookupHow = "left",
    ) -> Any:
        """Add the columns of the table row with the same `on` columns; a null key has no match.

        Args:
            name: the step's name.
            table: a connector, or a DataFrame.
            on: the columns that both sides have.
            on_miss: for a row without a match: `null` (default) passes it with nulls, `drop` drops and counts
                it, `dead_letter` sends it to `.dead_letters` with its columns and `reason`. To read the dead
                letters, look up before `key_by`.
            where: an extra condition over `left.column` and `right.column`, the row of the table, which is no
                match if it does not satisfy the condition.
            format: the format of the table's records.
            schema: the columns of the table.
            load: `table` loads the whole table in every task; `key` reads the rows of the keys of each Arrow
                batch.
            refresh: with `table`, the interval between reloads; files are reloaded only if they have changed.
                Default: the table is read when the run starts.
            cache: with `key`, the number of keys that a worker caches, including keys without a row; 0 for no
                cache.
            ttl: with `key`, the time to live of a cache entry.
            concurrency: with `key`, the number of concurrent HTTP requests of a task.
            how: the spelling of 0.2: `inner` is `on_miss="drop"`.
        """
        from headrace.streams.stream import Stream

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
            where=where,
        )
        ref = self._pipeline._add(node)
        diverts = node.miss == "dead_letter" and isinstance(self, Stream)
        return self._diverting(ref) if diverts else self._after(ref)

    @overload
    def expect(
        self: Diverting[Diverted_co], name: str, /, *, on_fail: Literal["dead_letter"] = ..., **rules: str
    ) -> Diverted_co: ...

    @overload
    def expect(self: Before[Next_co], name: str, /, *, on_fail: OnFail = ..., **rules: str) -> Next_co: ...

    def expect(self: Any, name: str, /, *, on_fail: OnFail = "dead_letter", **rules: str) -> Any:
        """Pass on the rows that satisfy all rules; a null condition is a violation.

        Args:
            name: the step's name.
            on_fail: for a row that violates a rule: `dead_letter` sends it to `.dead_letters` with its
                columns, `reason` and the names of the rules in `violated`; `drop` drops and counts it, `warn`
                passes it and counts it, `fail` stops the run. To read the dead letters, expect before
                `key_by`.
            rules: conditions in Spark SQL by the name of the rule.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> tx.expect("checked", positive="amount > 0", known="card is not null").dead_letters
        <checked.dead_letters of p>
        """
        from headrace.streams.stream import Stream

        node = Expect.create(name, self._ref, rules=tuple(rules.items()), on_fail=on_fail)
        ref = self._pipeline._add(node)
        diverts = on_fail == "dead_letter" and isinstance(self, Stream)
        return self._diverting(ref) if diverts else self._after(ref)

    @overload
    def predict(
        self: Diverting[Diverted_co],
        name: str,
        model: Model,
        /,
        *,
        output: str | type | Schema,
        features: str | Sequence[str] | None = ...,
        on_error: Literal["divert"] = ...,
        shadow: Model | None = ...,
    ) -> Diverted_co: ...

    @overload
    def predict(
        self: Before[Next_co],
        name: str,
        model: Model,
        /,
        *,
        output: str | type | Schema,
        features: str | Sequence[str] | None = ...,
        on_error: OnFailure = ...,
        shadow: Model | None = ...,
    ) -> Next_co: ...

    @verb()
    def predict(
        self: Any,
        name: str,
        model: Model,
        /,
        *,
        output: str | type | Schema,
        features: str | Sequence[str] | None = None,
        on_error: OnFailure = "divert",
        shadow: Model | None = None,
    ) -> Any:
        """Add the columns that a model computes, and its version in `model_version`.

        Args:
            name: the step's name.
            model: from `headrace.models`.
            output: the columns that the model computes, such as `"risk double"`.
            features: the columns that the model reads, in its order; default: all, which models in files
                do not accept.
            on_error: `"divert"` sends rows without a result to `.dead_letters`, with `reason` and
                `traceback`; `"fail"` stops the run. To read the dead letters, predict before `key_by`.
            shadow: a second model, such as the next version, that gets the same rows: its results are only
                compared, and metrics of the step count the rows that differ.

        >>> from headrace import Pipeline, connect, models
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> risk = models.sklearn("risk.joblib", method="predict_proba")
        >>> tx.predict("scored", risk, features="amount", output="safe double, fraud double").columns
        ('card', 'amount', 'safe', 'fraud', 'model_version')
        """
        from headrace.streams.stream import Stream

        node = predict_node(
            name, self._ref, model, output=output, features=features, on_error=on_error, shadow=shadow
        )
        ref = self._pipeline._add(node)
        diverts = on_error == "divert" and isinstance(self, Stream)
        return self._diverting(ref) if diverts else self._after(ref)

    @verb()
    def write(self, name: str, connector: Connector, /, *, mode: WriteMode | None = None) -> None:
        """Write the rows to a sink.

        Args:
            name: the sink's name, in errors, metrics and the delivery ledger.
            connector: from `connect`.
            mode: for running aggregates and tables, in a sink without a key: `"update"`, the new row of each
                changed key (the default of running aggregates), or `"changes"`, every change with the column
                `change` (the default of other tables); for running aggregates also `"complete"`, all keys
                every time. `"append"` for all other streams.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> tx.write("copy", connect.memory())
        """
        require_connector(connector, f"`{name}`", "write")
        self._pipeline._add(Sink(name, self._ref, connector, mode))

    @verb()
    def to_dataframe(self, *, how: Literal["stream", "batch"] = "stream") -> DataFrame:
        """Return the stream as a Spark DataFrame.

        Args:
            how: `"stream"`, or `"batch"` over the present rows of the sources.
        """
        require_choice(how, Literal["stream", "batch"], "how", f"to_dataframe of `{self._ref}`")
        from headrace.lowering.frames import frame_of

        return frame_of(self._pipeline._graph, self._ref, how=how)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns, without starting Spark; None if only Spark can determine them.

        >>> from headrace import Pipeline, connect
        >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
        >>> tx.with_columns(double="amount * 2").columns
        ('card', 'amount', 'double')
        """
        return self._pipeline._graph.facts(self._ref).columns

    @property
    def schema(self) -> StructType:
        """The columns with their types, as Spark derives them. Starts Spark, but reads no source."""
        from headrace.runtime.queries.analysis import schema_of

        return schema_of(self._pipeline._graph, self._ref)

    @verb()
    def show(self, n: int = 20) -> None:
        """Show the first rows over the present rows of the sources, without a run and without a checkpoint.

        A notebook shows a table; elsewhere it is printed.

        Args:
            n: the number of rows.
        """
        if not isinstance(n, int) or n < 1:
            raise OptionError(f"expected a number of rows, got {n!r}", where=f"show of `{self._ref}`")
        from headrace.runtime.progress.shown_rows import show_rows

        rows = self.to_dataframe(how="batch").limit(n).toArrow().to_pylist()
        show_rows(rows, self.columns or ())

    def _repr_html_(self) -> str:
        facts = self._pipeline._graph.facts(self._ref)
        if facts.columns is None:
            return f"{escape(repr(self))}: <code>.schema</code> has the columns"
        types = {field.name: str(field.type) for field in facts.schema.fields} if facts.schema else {}
        return escape(repr(self)) + html_table(
            ("column", "type"), [(name, types.get(name, "")) for name in facts.columns]
        )

    def _new_name(self, verb: str, /) -> str:
        return self._pipeline._generate_name(self._ref, verb)

    def __repr__(self) -> str:
        return f"<{self._ref} of {self._pipeline.name}>"


class Rows(Stage):
    """Rows that joins and unions can read: a stream or a table that is not grouped by key or window."""


def require_same_pipeline(pipeline: Pipeline, other: Rows, where: str) -> None:
    """Reject an input that belongs to another pipeline.

    Raises:
        OptionError: it does; `where` is the location of the step.
    """
    if other._pipeline is not pipeline:
        raise OptionError("expected a stream of the same pipeline", where=where)


_SIDE_OUTPUTS = {
    "late": "windows, patterns, joins and distinct(within=...)",
    "dead_letters": 'read, user functions and lookup(on_miss="dead_letter")',
    "timeouts": "match and match_rules",
    "faults": "match_rules",
}


def missing_attribute(handle: Any, name: str, timed: type | None = None) -> Any:
    """Raise the error for a missing attribute of a handle.

    Raises:
        NoEventTimeError: it is a verb of streams with time.
        MissingOutputError: it is a side output of other steps.
        AttributeError: it is unknown, or a property that this step does not have.
    """
    declared = getattr(type(handle), name, None)
    if isinstance(declared, property):  # Python discards the `AttributeError` of a property; raise it again
        return declared.__get__(handle)
    if timed is not None and hasattr(timed, name) and not name.startswith("_"):
        raise no_time(handle._ref, name)
    if name in _SIDE_OUTPUTS:
        hint = f"it is an output of {_SIDE_OUTPUTS[name]}: read it from that step, before any other verb"
        raise MissingOutputError(f"`{name}` is not an output", where=f"`{handle._ref}`", hint=hint)
    raise AttributeError(f"{type(handle).__name__!r} object has no attribute {name!r}", name=name, obj=handle)


def no_time(ref: Ref, verb: str, hint: str = "declare it first") -> NoEventTimeError:
    """Return the error for a verb of streams with time after an output without time."""
    return NoEventTimeError(
        f"`{verb}` needs rows with a time",
        where=f"`{ref}`",
        hint=f'{hint}: .event_time("ts"), .ingestion_time() or .processing_time()',
    )
