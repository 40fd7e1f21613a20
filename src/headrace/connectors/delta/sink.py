"""Writes epochs to a Delta table, exactly once.

    open      raises the fencing token, removes what older runs staged
    stage     tasks write the rows as Parquet files into the table's directory     invisible to readers
    commit    one version of the table adds the files and the ledger entry     <- visible together

A commit that conflicts with another writer's is repeated on the newest version: if the ledger has the epoch,
it does nothing. With a key, the staged rows are merged into the table, and then removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headrace.connectors import flatten
from headrace.connectors.base import DELETED, WriteContext, require_open
from headrace.connectors.delta.columns import check_table, find_problem, key_paths, new_columns, table_schema
from headrace.connectors.delta.ledger import TransactionLedger, commit_files
from headrace.connectors.delta.merge import commit_changes
from headrace.connectors.delta.staging import StagedFiles, StagingDirectory
from headrace.connectors.failpoints import reach
from headrace.connectors.ledger import Ledger, LedgerWriter
from headrace.connectors.retry import find_problem as find_portable_problem
from headrace.connectors.retry import retry
from headrace.connectors.sql.table import RETRACTION, apply_changes
from headrace.errors import DeliveryError, SchemaError
from headrace.schemas.fields import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.connectors.delta import DeltaLake


class DeltaWriter(LedgerWriter):
    """Delivers the epochs of one sink to a table."""

    def __init__(self, options: DeltaLake) -> None:
        self._options, self._location = options, options.location
        self._context: WriteContext | None = None
        self._storage: TransactionLedger | None = None
        self._staging: StagingDirectory | None = None
        self._schema: Any = None
        """The schema of the stream that the table was last compared with."""

    @property
    def upsert_key(self) -> tuple[str, ...]:
        return tuple(self._options.key)

    def open(self, context: WriteContext) -> int:
        self._context = context
        if problem := self._options.mode_problem(context.mode):
            hint = "add key=[...], or write with mode append or complete"
            raise DeliveryError(problem, where=context.sink, hint=hint)
        storage = self._storage = TransactionLedger(self._location, context)
        ledger = self._ledger = Ledger(storage, context, self._location.address)
        self._staging = StagingDirectory(self._location, context, merged=self._merges)
        with self._translate_errors("cannot be opened"):
            committed = retry(self._location, self._options.retry_seconds, ledger.take_over)
            reach("delta.fenced")
            if storage.table is not None:
                self._sweep()
        return committed

    def stage(self, epoch: int, frame: DataFrame) -> StagedFiles:
        staging = require_open(self._staging, "delta")
        with self._translate_errors(f"cannot take epoch {epoch}"):
            frame = self._convert(frame)
            partition_by = self._prepare(epoch, frame)
            if self._merges or epoch > self._active_ledger.last_epoch:
                staging.remove(epoch)
            staged = staging.write(epoch, frame, () if self._merges else partition_by)
        reach("delta.staged")
        return staged

    def commit(self, epoch: int, staged: StagedFiles) -> None:
        with self._translate_errors(f"cannot commit epoch {epoch}"):
            retry(self._location, self._options.retry_seconds, lambda: self._commit(epoch, staged))
            reach("delta.committed")
            if self._merges:
                require_open(self._staging, "delta").remove(epoch)
                reach("delta.cleaned")

    def close(self) -> None:
        self._context = self._ledger = self._storage = self._staging = self._schema = None

    def _commit(self, epoch: int, staged: StagedFiles) -> None:
        storage = self._active_storage
        if self._active_ledger.has(epoch):
            return
        if self._merges:
            paths = key_paths(self._options.key, self._schema, where=self._sink)
            storage.write = commit_changes(self._location, staged, paths)
        else:
            mode = "overwrite" if self._active_context.mode == "complete" else "append"
            storage.write = commit_files(staged.add_actions(), mode)
        self._active_ledger.commit(epoch)

    def _convert(self, frame: DataFrame) -> DataFrame:
        """Return the rows with the columns of the table and, for upserts, the mark of deleted ones."""
        if self._merges:
            frame = _mark_deleted(apply_changes(frame, self._options.key))
        return frame.selectExpr(*flatten.json_expressions(frame.schema.jsonValue()))

    def _prepare(self, epoch: int, frame: DataFrame) -> Sequence[str]:
        """Create the table, or compare it with the stream; return its partition columns."""
        storage = self._active_storage
        rows = frame.drop(DELETED)
        schema = table_schema(rows.schema.jsonValue())
        if storage.table is None:
            self._check_columns(rows)
            self._create(schema)
        self._active_ledger.has(epoch)  # raises an error if this run is fenced
        if schema != self._schema:
            self._check_columns(rows)
            self._compare(schema)
            self._schema = schema
        columns: list[str] = storage.table.metadata().partition_columns if storage.table else []
        if set(columns) >= set(rows.columns):  # files without columns hold no rows
            what = f"the stream has only partition columns of the table: {columns}"
            raise DeliveryError(what, where=self._sink, hint="add another column to the stream")
        return columns

    def _create(self, schema: Any) -> None:
        from deltalake import Schema as DeltaSchema

        partition_by = list(self._options.partition_by)
        table = DeltaSchema.from_json(json.dumps(schema))
        self._active_storage.create(table, partition_by, self._active_ledger.token)
        reach("delta.created")
        if self._active_storage.read().token == self._active_ledger.token:
            self._sweep()

    def _compare(self, schema: Any) -> None:
        """Check that the table can hold the stream; add the columns that it lacks."""
        from deltalake import Schema as DeltaSchema

        table = self._active_storage.table
        if table is None:
            return
        stored, metadata = json.loads(table.schema().to_json()), table.metadata()
        check_table(metadata.configuration, stored, where=self._sink)
        chosen = list(self._options.partition_by)
        if chosen and chosen != metadata.partition_columns:
            what = f"the table is partitioned by {metadata.partition_columns}, not by {chosen}"
            raise DeliveryError(what, where=self._sink, hint="remove partition_by, or write to another table")
        if added := new_columns(schema, stored, where=self._sink):
            fields = DeltaSchema.from_json(json.dumps({"type": "struct", "fields": added})).fields
            table.alter.add_columns(fields)
            reach("delta.altered")

    def _check_columns(self, rows: DataFrame) -> None:
        try:
            problem = find_problem(Schema.of(rows.schema), self._options.partition_by)
        except SchemaError as error:
            columns = ", ".join(f"{name} {kind}" for name, kind in rows.dtypes)
            problem = f"{error.what} in `{columns}`", "cast the column in a select, or leave it out"
        if problem is not None:
            raise DeliveryError(problem[0], where=self._sink, hint=problem[1])

    def _sweep(self) -> None:
        """Remove what older runs, which are fenced now, have staged."""
        require_open(self._staging, "delta").sweep(self._active_storage.last_epoch)
        reach("delta.swept")

    @contextmanager
    def _translate_errors(self, action: str) -> Iterator[None]:
        """Raise errors of the table or of a task as delivery errors."""
        from pyspark.errors import PySparkException

        try:
            yield
        except DeliveryError as error:
            if error.where:
                raise
            raise self._delivery_error(action, error.what, error.hint) from None
        except PySparkException as error:
            problem = find_portable_problem(str(error))
            what, hint = (problem.what, problem.hint) if problem else (str(error).strip().splitlines()[0], "")
            raise self._find_fencing_error() or self._delivery_error(action, what, hint) from error
        except Exception as error:
            translation = self._location.translate_error(error)
            if translation is None:
                raise
            raise self._find_fencing_error() or self._delivery_error(action, *translation) from error

    def _delivery_error(self, action: str, what: str, hint: str) -> DeliveryError:
        text = f"the Delta table {self._location.address} {action}: {what}"
        return DeliveryError(text, where=self._sink, hint=hint)

    @property
    def _merges(self) -> bool:
        return bool(self._options.key) and self._active_context.mode != "complete"

    @property
    def _sink(self) -> str:
        return self._active_context.sink

    @property
    def _active_context(self) -> WriteContext:
        return require_open(self._context, "delta")

    @property
    def _active_ledger(self) -> Ledger:
        return require_open(self._ledger, "delta")

    @property
    def _active_storage(self) -> TransactionLedger:
        return require_open(self._storage, "delta")


def _mark_deleted(frame: DataFrame) -> DataFrame:
    """Return the rows with the column `DELETED`; the mark of a retraction is removed from its pane."""
    from pyspark.sql import functions
    from pyspark.sql.types import StructType

    if RETRACTION in frame.columns:
        return frame.withColumnRenamed(RETRACTION, DELETED)
    pane = frame.schema["pane"].dataType if "pane" in frame.columns else None
    if isinstance(pane, StructType) and "retraction" in pane.fieldNames():
        marked = frame.withColumn(DELETED, functions.col("pane.retraction"))
        return marked.withColumn("pane", functions.col("pane").dropFields("retraction"))
    return frame.withColumn(DELETED, functions.lit(False))
