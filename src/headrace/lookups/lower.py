"""Lower lookups: a broadcast join with the whole table, or a Python function of the key.

With `on_miss="dead_letter"` the rows have the hidden columns `__match`, the table row, and `__matched`, which
selects their output.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from functools import partial, reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.connectors.base import Connector
from headrace.connectors.flatten import quote_name
from headrace.connectors.lookups import LookupContext
from headrace.errors import PlanError, Problem
from headrace.functions.failures import REASON, rename_reserved
from headrace.lookups.declare import Lookup
from headrace.lookups.snapshots import Snapshots
from headrace.lookups.worker import NO_COLUMNS, LookupTask, lookup_function
from headrace.lowering.counts import Counts
from headrace.lowering.dispatch import EpochStep, lower, select_output
from headrace.lowering.expressions import HIDDEN, hidden_columns, visible_columns
from headrace.lowering.sources import read_table
from headrace.lowering.tables.changes import new_rows
from headrace.spark.gateway import java_column, kernel

if TYPE_CHECKING:
    from headrace.connectors.lookups import KeyTable
    from headrace.lowering.lowering import Lowering
    from headrace.lowering.sources import StreamInputs
    from headrace.steps.base import Ref

MATCH = f"{HIDDEN}match"
"""The matching table row, a struct; null if there is none."""
MATCHED = f"{HIDDEN}matched"
_FOUND = f"{HIDDEN}found"
LEFT, RIGHT = "left", "right"
"""The structs that a condition refers to: the row, and the row of the table."""
_KEY_TYPES = ("string", "varchar", "char", "tinyint", "smallint", "int", "bigint", "date", "boolean")
"""Types whose text format is the same in Spark and in every database."""


class QueryLookup(EpochStep):
    """A lookup in one query: its counters, and the task of the Python workers that read the table, if any."""

    def __init__(self, node: Lookup, inputs: StreamInputs) -> None:
        self.counts = None if node.miss == "null" else Counts(inputs.spark)
        self.task: LookupTask | None = None
        self._snapshots: Snapshots | None = None
        if not isinstance(node.table, Connector):
            return
        if node.load == "key":
            context = LookupContext(node.name, node.on, node.schema, node.concurrency)
            self.task = _task(node, node.table.key_table(context), node.cache, node.ttl / 1e6)
        elif node.refresh is not None and inputs.checkpoint is not None:
            read = partial(read_table, inputs.spark, inputs.pipeline, node)
            directory, changed = inputs.checkpoint / "lookups" / node.name, node.table.content_version
            seconds = node.refresh / 1e6
            self._snapshots = Snapshots(node.name, directory, read, node.on, seconds, version_of=changed)
            self.task = _task(node, self._snapshots.table(node.table_name), 0, 0.0)

    def enter(self, epoch: int) -> None:
        if self._snapshots is not None:
            self._snapshots.enter(epoch)


def _task(node: Lookup, table: KeyTable, cache: int, ttl: float) -> LookupTask:
    return LookupTask(uuid.uuid4().hex, node.name, len(node.on), table, cache, ttl)


@lower.register(Lookup)
def _lookup(node: Lookup, lowering: Lowering) -> DataFrame:
    frame, where = new_rows(node, node.input, lowering), lowering.graph.where(node)
    inputs = lowering.inputs
    lookup = inputs.once(node.name, lambda: QueryLookup(node, inputs))
    if lookup.task is None:
        rows = join_table(frame, node, inputs.table(node), where)
    else:
        rows = read_by_key(frame, node, lookup.task, where)
    return apply_on_miss(node, rows, lookup.counts)


def join_table(frame: DataFrame, node: Lookup, table: DataFrame, where: str) -> DataFrame:
    """Add the matching table row by a broadcast join."""
    added = {name: F.col(quote_name(name)) for name in table.columns if name not in node.on}
    _check_names(frame, added, where)
    if node.where is not None:
        return _join_where(frame, node, table, added)
    packed = table.select(*map(quote_name, node.on), _pack(added).alias(MATCH))
    joined = frame.join(F.broadcast(packed), on=list(node.on), how="left")
    return joined.select(*visible_columns(frame), *hidden_columns(frame), MATCH)


def _join_where(frame: DataFrame, node: Lookup, table: DataFrame, added: Mapping[str, Column]) -> DataFrame:
    """Add the matching table row that satisfies the condition."""
    assert node.where is not None
    keys = {name: f"{HIDDEN}lookup{number}" for number, name in enumerate(node.on)}
    packed = table.select(
        *(F.col(quote_name(name)).alias(key) for name, key in keys.items()),
        F.struct(*map(quote_name, table.columns)).alias(RIGHT),
    )
    equal = [F.col(f"{LEFT}.{quote_name(name)}") == F.col(key) for name, key in keys.items()]
    condition = reduce(and_, equal, F.expr(node.where).cast("boolean"))
    joined = _as_left(frame).join(F.broadcast(packed), on=condition, how="left")
    values = {name: F.col(f"{RIGHT}.{quote_name(name)}") for name in added}
    match = F.when(F.col(RIGHT).isNotNull(), _pack(values))
    return _from_left(joined, frame, match)


def _as_left(frame: DataFrame) -> DataFrame:
    """Return the user's columns in the struct `left`, which conditions refer to, and the hidden columns."""
    return frame.select(F.struct(*visible_columns(frame)).alias(LEFT), *hidden_columns(frame))


def _from_left(rows: DataFrame, frame: DataFrame, match: Column) -> DataFrame:
    return rows.withColumn(MATCH, match).select(f"{LEFT}.*", *hidden_columns(frame), MATCH)


def read_by_key(frame: DataFrame, node: Lookup, task: LookupTask, where: str) -> DataFrame:
    """Add the matching table row, read by Python workers."""
    columns = task.table.columns
    _check_names(frame, columns, where)
    fields = ", ".join(f"{quote_name(name)} string" for name in (columns or (NO_COLUMNS,)))
    find = _function(task, f"array<struct<{fields}>>")
    looked_up = frame.withColumn(_FOUND, find(encode_key(frame, node, where)))
    if node.where is not None:
        return _explode_where(looked_up, frame, node, columns)
    rows = looked_up.withColumn(MATCH, F.explode_outer(_FOUND)).drop(_FOUND)
    values = {name: F.expr(cast.format(f"{MATCH}.{quote_name(name)}")) for name, cast in columns.items()}
    return rows.withColumn(MATCH, F.when(F.col(MATCH).isNotNull(), _pack(values)))


def _explode_where(
    looked_up: DataFrame, frame: DataFrame, node: Lookup, columns: Mapping[str, str]
) -> DataFrame:
    """Add each table row that satisfies the condition."""
    fields = [
        f"{cast.format(f'm.{quote_name(name)}')} as {quote_name(name)}" for name, cast in columns.items()
    ]
    fields += [f"{LEFT}.{quote_name(name)} as {quote_name(name)}" for name in node.on if name not in columns]
    rows = f"transform({_FOUND}, m -> struct({', '.join(fields)}))"
    kept = F.expr(f"filter({rows}, `{RIGHT}` -> cast(({node.where}) as boolean))")
    packed = _as_left(looked_up).withColumn(RIGHT, F.explode_outer(kept))
    values = {name: F.col(f"{RIGHT}.{quote_name(name)}") for name in columns}
    return _from_left(packed, frame, F.when(F.col(RIGHT).isNotNull(), _pack(values)))


def apply_on_miss(node: Lookup, rows: DataFrame, counts: Counts | None) -> DataFrame:
    """Apply `on_miss`: drop or mark the rows without a match, and count them."""
    matched = F.col(MATCH).isNotNull()
    if counts is not None:
        counted = kernel(rows.sparkSession).lookups.CountMatches
        matched = Column(counted.column(java_column(matched), counts._kernel))
    if node.miss == "dead_letter":
        return rows.withColumn(MATCHED, matched)
    return _unpack(rows.where(matched) if node.miss == "drop" else rows)


@select_output.register(Lookup)
def _output(node: Lookup, ref: Ref, rows: DataFrame) -> DataFrame:
    if MATCHED not in rows.columns:
        return rows
    if not ref.output:
        return _unpack(rows.where(F.col(MATCHED)).drop(MATCHED))
    values = (F.coalesce(F.col(quote_name(name)).cast("string"), F.lit("null")) for name in node.on)
    key = (F.concat(F.lit(f"{name} = "), value) for name, value in zip(node.on, values, strict=True))
    reason = F.concat(F.lit(f"no row of {node.table_name} has "), F.concat_ws(" and ", *key))
    missed = rows.where(~F.col(MATCHED)).drop(MATCHED, MATCH)
    return missed.toDF(*rename_reserved(missed.columns, (REASON,))).withColumn(REASON, reason)


def _pack(columns: Mapping[str, Column]) -> Column:
    return F.struct(*(value.alias(name) for name, value in (columns or {NO_COLUMNS: F.lit(True)}).items()))


def _unpack(rows: DataFrame) -> DataFrame:
    """Put the columns of the table after those of the stream."""
    kind: Any = rows.schema[MATCH].dataType
    names = [name for name in kind.names if name != NO_COLUMNS]
    added = [F.col(f"{MATCH}.{quote_name(name)}").alias(name) for name in names]
    return rows.select(
        *visible_columns(rows), *added, *(name for name in hidden_columns(rows) if name != MATCH)
    )


def encode_key(frame: DataFrame, node: Lookup, where: str) -> Column:
    """Return the key as text: the only column, or a JSON list of several; null if one of them is null."""
    for name in node.on:
        kind = frame.schema[name].dataType.simpleString()
        if not kind.startswith(_KEY_TYPES) or kind.startswith("interval"):
            what = f"a lookup by key cannot use `{name}`, which is {kind}"
            raise PlanError(
                [Problem(where, what, f"cast it before: with_columns({name}='cast({name} as string)')")]
            )
    texts = [F.col(quote_name(name)).cast("string") for name in node.on]
    if len(texts) == 1:
        return texts[0]
    some_null = F.expr(" or ".join(f"{quote_name(name)} is null" for name in node.on))
    return F.when(~some_null, F.to_json(F.array(*texts)))


def _function(task: LookupTask, kind: str) -> Any:
    from pyspark.sql.pandas.functions import arrow_udf

    udf: Any = arrow_udf  # its stubs do not have this signature
    # Non-deterministic, so that Spark calls it once per row and does not move it.
    return udf(lookup_function(task), returnType=kind).asNondeterministic()


def _check_names(frame: DataFrame, added: Iterable[str], where: str) -> None:
    for name in added:
        if name in frame.columns:
            what = f"both the stream and the table have a column `{name}`"
            raise PlanError([Problem(where, what, "rename one with select(...) before the lookup")])
