"""Writes epochs to topics, exactly once, with one transaction per epoch.

    open      initialises a producer with the sink's transactional id, which aborts the transaction of an
              older run and fences it; then reads the ledger
    stage     sends the rows in a new transaction                      invisible to readers of committed
    records commit    1. sends the ledger entry in the same transaction
              2. commits the transaction                               <- rows and entry become visible
                 together

After a crash before 2 has reached the server, the next open, or the server's timeout, aborts the transaction.
After 2 the server completes the commit; the next open waits for it and reads the entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import Staged, StagedRows, WriteContext
from headrace.connectors.failpoints import reach
from headrace.connectors.kafka import properties, records
from headrace.connectors.kafka.admin import KafkaAdmin, MissingTopicError, kafka_java
from headrace.connectors.kafka.errors import is_fenced, root_cause, translate_error
from headrace.connectors.kafka.ledger import LedgerTopic
from headrace.connectors.ledger import Ledger
from headrace.errors import DeliveryError, FencedError
from headrace.spark.gateway import GatewayError, java_duration, java_frame, java_map, kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.kafka import Kafka


class KafkaWriter:
    """Writes the epochs of one sink to one topic or several."""

    def __init__(self, options: Kafka) -> None:
        self._options = options
        self._run: WriteContext | None = None
        self._producer: Any = None
        self._sender: Any = None
        self._ledger: Ledger | None = None
        self._in_transaction = False

    @property
    def upsert_key(self) -> tuple[str, ...]:
        return tuple(self._options.key)

    def open(self, run: WriteContext) -> int:
        self._run = run
        if reason := self._options.mode_problem(run.mode):
            raise DeliveryError(reason, where=run.sink)
        spark = _session()
        with self._wrap_errors("can't be written to"):
            self._prepare_topics(spark)
            self._producer = self._open_producer(spark)
            reach("kafka.fenced")
            self._sender = kernel(spark).kafka.RecordSender(self._producer)
            topic = LedgerTopic(spark, self._options, self._owner, self._producer)
            self._ledger = Ledger(topic, run, f"Kafka at {self._options.servers}")
            return self._ledger.take_over()

    def prepare(self, run: WriteContext) -> None:
        """Check that the topic exists.

        In real time Spark's sink writes, and would wait for it without an error.
        """
        self._run = run
        with self._wrap_errors("can't be written to"):
            self._prepare_topics(_session(), ledger=False)

    def stage(self, epoch: int, frame: DataFrame) -> StagedRows:
        fields = records.fields_of(frame.schema.jsonValue())
        made = records.expressions(self._options, fields, where=self._running.sink)
        shaped = frame.selectExpr(*made)
        with self._wrap_errors(f"can't take epoch {epoch}"):
            self._abort()
            self._producer.beginTransaction()
            self._in_transaction = True
            self._sender.begin()
            rows = int(kernel(frame.sparkSession).kafka.FrameSender.send(java_frame(shaped), self._sender))
            self._producer.flush()
            self._sender.check()
        reach("kafka.staged")
        return StagedRows(rows)

    def commit(self, epoch: int, staged: Staged) -> None:
        if self._ledger is None:
            raise DeliveryError("the sink is not open", where="kafka")
        with self._wrap_errors(f"can't commit epoch {epoch}"):
            if epoch <= self._ledger.last_epoch or not staged.rows:
                self._abort()  # the epoch is committed, or empty
                return
            self._ledger.commit(epoch)
            self._in_transaction = False
        reach("kafka.committed")

    def close(self) -> None:
        if self._producer is not None:
            with suppress(Exception):  # the server aborts an open transaction after its timeout
                self._abort()
            self._producer.close(java_duration(_session(), 5_000))
        self._producer = self._run = None

    def _prepare_topics(self, spark: SparkSession, *, ledger: bool = True) -> None:
        servers = KafkaAdmin(spark, self._options)
        try:
            if ledger:
                servers.ensure_ledger(self._options.replication)
            servers.ensure_topic(self._options)
        finally:
            servers.close()

    def _open_producer(self, spark: SparkSession) -> Any:
        """Return a producer with the sink's transactional id, which fences older producers of the same id."""
        configuration = properties.producer(self._options, ".".join(("headrace", *self._owner)))
        producer = kafka_java(spark).clients.producer.KafkaProducer(java_map(spark, configuration))
        try:
            producer.initTransactions()
        except BaseException:
            producer.close(java_duration(spark, 0))
            raise
        return producer

    def _abort(self) -> None:
        if self._in_transaction:
            self._producer.abortTransaction()
            self._in_transaction = False

    @contextmanager
    def _wrap_errors(self, what: str) -> Iterator[None]:
        """Raise errors of the client as `DeliveryError`, or `FencedError` if a newer run has taken over."""
        from pyspark.errors import PySparkException

        servers = self._options.servers
        try:
            yield
        except MissingTopicError as error:
            hint = f"{error.hint}; partitions=4 creates it"
            raise DeliveryError(str(error), where=self._running.sink, hint=hint) from None
        except (GatewayError, PySparkException) as error:
            if is_fenced(str(error)):
                raise self._translate_fencing(what) from error
            problem = translate_error(str(error), servers)
            text = problem.what if problem else f"Kafka at {servers} {what}: {root_cause(str(error))}"
            hint = problem.hint if problem else ""
            raise DeliveryError(text, where=self._running.sink, hint=hint) from error

    def _translate_fencing(self, what: str) -> FencedError:
        return FencedError(
            f"Kafka at {self._options.servers} {what}: a newer run has taken over",
            where=self._running.sink,
            hint="two runs of one pipeline write here; stop one of them (or an epoch took longer than "
            f"transaction_timeout, {self._options.transaction_timeout})",
        )

    @property
    def _owner(self) -> tuple[str, str, str]:
        """Pipeline, sink and topic, which identify the ledger and the transactional id."""
        return (
            self._running.pipeline,
            self._running.sink,
            self._options.topic or f"by {self._options.topic_column}",
        )

    @property
    def _running(self) -> WriteContext:
        if self._run is None:
            raise DeliveryError("the sink is not open", where="kafka")
        return self._run


def _session() -> SparkSession:
    from pyspark.sql import SparkSession

    return SparkSession.active()
