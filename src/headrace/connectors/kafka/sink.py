"""Writes epochs to topics, exactly once, with one transaction per epoch.

    open      initialises a producer with the sink's transactional id, which aborts the transaction of an
              older run and fences it; then reads the ledger
    stage     sends the rows in a new transaction                   invisible to readers of committed records
    commit    1. sends the ledger entry in the same transaction
              2. commits the transaction                            <- rows and entry become visible

After a crash before 2 has reached the server, the next open, or the server's timeout, aborts the transaction.
After 2 the server completes the commit; the next open waits for it and reads the entry.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import StagedRows, WriteContext, require_open
from headrace.connectors.failpoints import reach
from headrace.connectors.kafka import properties
from headrace.connectors.kafka.admin import kafka_java
from headrace.connectors.kafka.ledger import LedgerTopic
from headrace.connectors.kafka.topic_writer import TopicWriter
from headrace.connectors.ledger import Ledger, LedgerWriter
from headrace.spark.gateway import java_duration, java_frame, java_map, kernel, session_of_thread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.kafka import Kafka


class KafkaWriter(TopicWriter, LedgerWriter):
    """Writes the epochs of one sink with the driver's transactional producer."""

    def __init__(self, options: Kafka) -> None:
        super().__init__(options)
        self._producer: Any = None
        self._sender: Any = None
        self._ledger: Ledger | None = None
        self._in_transaction = False

    def open(self, context: WriteContext) -> int:
        self._context = context
        self._check_mode(context)
        spark = session_of_thread()
        with self._translate_errors("cannot be written to"):
            self._prepare_topics(ledger=True)
            self._producer = self._open_producer(spark)
            reach("kafka.fenced")
            self._sender = kernel(spark).kafka.RecordSender(self._producer)
            topic = LedgerTopic(spark, self._options, self._identity, self._producer)
            self._ledger = Ledger(topic, context, f"Kafka at {self._options.servers}")
            return self._ledger.take_over()

    def stage(self, epoch: int, frame: DataFrame) -> StagedRows:
        shaped = self._records_of(frame)
        with self._translate_errors(f"cannot take epoch {epoch}"):
            self._abort()
            self._producer.beginTransaction()
            self._in_transaction = True
            self._sender.begin()
            rows = int(kernel(frame.sparkSession).kafka.FrameSender.send(java_frame(shaped), self._sender))
            self._producer.flush()
            self._sender.check()
        reach("kafka.staged")
        return StagedRows(rows)

    def commit(self, epoch: int, staged: StagedRows) -> None:
        ledger = require_open(self._ledger, "kafka")
        with self._translate_errors(f"cannot commit epoch {epoch}"):
            if epoch <= ledger.last_epoch or not staged.rows:
                self._abort()  # the epoch is committed, or empty
                return
            ledger.commit(epoch)
            self._in_transaction = False
        reach("kafka.committed")

    def close(self) -> None:
        if self._producer is not None:
            with suppress(Exception):  # the server aborts an open transaction after its timeout
                self._abort()
            self._producer.close(java_duration(session_of_thread(), 5_000))
        self._producer = self._context = None

    def _open_producer(self, spark: SparkSession) -> Any:
        """Return a producer with the sink's transactional id, which fences older producers of the same id."""
        configuration = properties.producer(self._options, ".".join(("headrace", *self._identity)))
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

    @property
    def _identity(self) -> tuple[str, str, str]:
        """Pipeline, sink and topic, which identify the ledger and the transactional id."""
        return (
            self._active_context.pipeline,
            self._active_context.sink,
            self._options.topic or f"by {self._options.topic_column}",
        )
