"""The base of both Kafka writers: checks of topics, records of rows, and translation of errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.connectors.base import WriteContext, require_open
from headrace.connectors.kafka import records
from headrace.connectors.kafka.admin import KafkaAdmin, MissingTopicError
from headrace.connectors.kafka.errors import is_fenced, root_cause, translate_error
from headrace.connectors.network.writer_schemas import forget_writer_schemas
from headrace.connectors.row_encoding import as_encoding_error, fields_of
from headrace.errors import DeliveryError, FencedError
from headrace.spark.gateway import GatewayError, session_of_thread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.connectors.kafka import Kafka


class TopicWriter:
    """A sink that writes rows as records of one topic or several."""

    def __init__(self, options: Kafka) -> None:
        self._options = options
        self._context: WriteContext | None = None

    @property
    def upsert_key(self) -> tuple[str, ...]:
        return tuple(self._options.key)

    def prepare(self, context: WriteContext) -> None:
        """Check that the topic exists.

        Spark's sink, which writes in real time, and a task's producer would wait for it without an error.
        """
        self._context = context
        with self._translate_errors("cannot be written to"):
            self._prepare_topics(ledger=False)

    def _check_mode(self, context: WriteContext) -> None:
        if reason := self._options.mode_problem(context.mode):
            raise DeliveryError(reason, where=context.sink)

    def _prepare_topics(self, *, ledger: bool) -> None:
        forget_writer_schemas()
        admin = KafkaAdmin(session_of_thread(), self._options)
        try:
            if ledger:
                admin.ensure_ledger(self._options.replication)
            admin.ensure_topic(self._options)
        finally:
            admin.close()

    def _records_of(self, frame: DataFrame) -> DataFrame:
        """Return the topic, partition, key, value and headers of each row's record."""
        fields = fields_of(frame.schema.jsonValue())
        return frame.selectExpr(*records.expressions(self._options, fields, where=self._active_context.sink))

    @contextmanager
    def _translate_errors(self, what: str) -> Iterator[None]:
        """Raise errors of the client as `DeliveryError`, or `FencedError` if a newer run has taken over."""
        from pyspark.errors import PySparkException

        servers = self._options.servers
        try:
            yield
        except MissingTopicError as error:
            hint = f"{error.hint}; partitions=4 creates it"
            raise DeliveryError(str(error), where=self._active_context.sink, hint=hint) from None
        except (GatewayError, PySparkException) as error:
            if encoding_error := as_encoding_error(error, self._active_context.sink):
                raise encoding_error from error
            if is_fenced(str(error)):
                raise self._fencing_error(what) from error
            problem = translate_error(str(error), servers)
            text = problem.what if problem else f"Kafka at {servers} {what}: {root_cause(str(error))}"
            hint = problem.hint if problem else ""
            raise DeliveryError(text, where=self._active_context.sink, hint=hint) from error

    def _fencing_error(self, what: str) -> FencedError:
        return FencedError(
            f"Kafka at {self._options.servers} {what}: a newer run has taken over",
            where=self._active_context.sink,
            hint="two runs of one pipeline write here; stop one of them (or an epoch took longer than "
            f"transaction_timeout, {self._options.transaction_timeout})",
        )

    @property
    def _active_context(self) -> WriteContext:
        return require_open(self._context, "kafka")
