"""Writes epochs to Redis, exactly once, with one script per epoch.

    open      raises the fencing token in the ledger key
    stage     encodes the rows and collects them on the driver           invisible to readers
    commit    a script runs the commands of all rows and stores the ledger entry    <- visible together

A commit whose reply is lost is retried: if the ledger has the epoch, it does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import StagedRows, WriteContext, require_open
from headrace.connectors.failpoints import reach
from headrace.connectors.ledger import Ledger, LedgerWriter
from headrace.connectors.redis.commands import commands_of, row_expressions
from headrace.connectors.redis.ledger import LedgerKey
from headrace.connectors.retry import LazySession, retry, server_errors
from headrace.connectors.row_encoding import fields_of
from headrace.errors import DeliveryError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.connectors.redis import Redis


class RedisWriter(LedgerWriter):
    """Delivers the epochs of one sink."""

    def __init__(self, options: Redis) -> None:
        self._options, self._server = options, options.server
        self._context: WriteContext | None = None
        self._client: LazySession[Any] = LazySession(options.server)
        self._key: LedgerKey | None = None
        self._ledger: Ledger | None = None

    def open(self, context: WriteContext) -> int:
        self._context = context
        if problem := self._options.mode_problem(context.mode):
            raise DeliveryError(problem, where=context.sink)
        self._key = LedgerKey(f"headrace:ledger:{context.pipeline}:{context.sink}", self._client.get)
        target = f"{self._options.target_name} of {self._server.address}"
        ledger = self._ledger = Ledger(self._key, context, target)
        with self._errors("cannot be opened"):
            committed = ledger.take_over()
        reach("redis.fenced")
        return committed

    def stage(self, epoch: int, frame: DataFrame) -> StagedRows:
        fields = fields_of(frame.schema.jsonValue())
        columns = row_expressions(self._options, fields, self._sink)
        table = frame.selectExpr(*columns).toArrow()
        rows: Iterable[tuple[Any, ...]] = zip(*(column.to_pylist() for column in table.columns), strict=True)
        staged = StagedRows(table.num_rows, tuple(commands_of(self._options, rows)))
        reach("redis.staged")
        return staged

    def commit(self, epoch: int, staged: StagedRows) -> None:
        require_open(self._key, self._sink).commands = staged.content
        with self._errors(f"cannot commit epoch {epoch}"):
            seconds = self._options.retry_seconds
            retry(self._server, seconds, lambda: self._commit(epoch), self._client.close)
        reach("redis.committed")

    def close(self) -> None:
        self._client.close()
        self._context = self._ledger = None

    def _commit(self, epoch: int) -> None:
        if self._ledger is not None and not self._ledger.has(epoch):
            self._ledger.commit(epoch)

    def _errors(self, action: str) -> AbstractContextManager[None]:
        text = f"{self._options.target_name} of {self._server.address} {action}: "
        return server_errors(self._server, DeliveryError, text, where=self._sink)

    @property
    def _sink(self) -> str:
        return self._context.sink if self._context is not None else "redis"
