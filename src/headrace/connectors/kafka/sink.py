"""Writes epochs to topics, exactly once, by one transaction an epoch.

    open      a producer with the sink's transactional id: what an older run has open is given up, and it can't go on;
              then the ledger is read
    stage     the rows are sent in a new transaction                   nobody who reads committed records sees them
    commit    1. the ledger entry is sent in the same transaction
              2. the transaction is committed                          <- rows and entry are visible, or neither is

A crash before 2 has reached the server leaves an open transaction, which the next open, or the server's time-out, gives
up. After it the server completes the commit, whoever dies; the next open waits for that and finds the entry.
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
    """Delivers the epochs of one sink to one topic or several."""

    def __init__(self, options: Kafka) -> None:
        self._options = options
        self._run: WriteContext | None = None
        self._producer: Any = None
        self._sender: Any = None
        self._ledger: Ledger | None = None
        self._under_way = False

    def open(self, run: WriteContext) -> int:
        self._run = run
        if reason := self._options.mode_problem(run.mode):
            raise DeliveryError(reason, where=run.sink)
        spark = _session()
        with self._told("can't be written to"):
            self._prepare_topics(spark)
            self._producer = self._opened(spark)
            reach("kafka.fenced")
            self._sender = kernel(spark).kafka.RecordSender(self._producer)
            topic = LedgerTopic(spark, self._options, self._owner, self._producer)
            self._ledger = Ledger(topic, run, f"Kafka at {self._options.servers}")
            return self._ledger.take_over()

    def prepare(self, run: WriteContext) -> None:
        """See that the topic is there, and no more: in real time Spark's own sink writes, and would wait for it in silence."""
        self._run = run
        with self._told("can't be written to"):
            self._prepare_topics(_session(), ledger=False)

    def stage(self, epoch: int, frame: DataFrame) -> StagedRows:
        fields = records.fields_of(frame.schema.jsonValue())
        made = records.expressions(self._options, fields, where=self._running.sink)
        shaped = frame.selectExpr(*made)
        with self._told(f"can't take epoch {epoch}"):
            self._give_up()
            self._producer.beginTransaction()
            self._under_way = True
            self._sender.begin()
            rows = int(kernel(frame.sparkSession).kafka.FrameSender.send(java_frame(shaped), self._sender))
            self._producer.flush()
            self._sender.check()
        reach("kafka.staged")
        return StagedRows(rows)

    def commit(self, epoch: int, staged: Staged) -> None:
        if self._ledger is None:
            raise DeliveryError("the sink is not open", where="kafka")
        with self._told(f"can't commit epoch {epoch}"):
            if epoch <= self._ledger.last_epoch or not staged.rows:
                self._give_up()  # the epoch is committed, or empty
                return
            self._ledger.commit(epoch)
            self._under_way = False
        reach("kafka.committed")

    def close(self) -> None:
        if self._producer is not None:
            with suppress(Exception):  # the server gives up an open transaction by itself, a little later
                self._give_up()
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

    def _opened(self, spark: SparkSession) -> Any:
        """A producer that owns the sink: the server refuses what older ones of the same id still send."""
        told_to = properties.producer(self._options, ".".join(("headrace", *self._owner)))
        producer = kafka_java(spark).clients.producer.KafkaProducer(java_map(spark, told_to))
        try:
            producer.initTransactions()
        except BaseException:
            producer.close(java_duration(spark, 0))
            raise
        return producer

    def _give_up(self) -> None:
        if self._under_way:
            self._producer.abortTransaction()
            self._under_way = False

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Tell what the servers refuse, as a fence where it is one."""
        from pyspark.errors import PySparkException

        servers = self._options.servers
        try:
            yield
        except MissingTopicError as error:
            hint = f"{error.hint}; partitions=4 creates it"
            raise DeliveryError(str(error), where=self._running.sink, hint=hint) from None
        except (GatewayError, PySparkException) as error:
            if is_fenced(str(error)):
                raise self._fenced(what) from error
            problem = translate_error(str(error), servers)
            said, hint = (problem.what, problem.hint) if problem else (root_cause(str(error)), "")
            text = said if problem else f"Kafka at {servers} {what}: {said}"
            raise DeliveryError(text, where=self._running.sink, hint=hint) from error

    def _fenced(self, what: str) -> FencedError:
        return FencedError(
            f"Kafka at {self._options.servers} {what}: a newer run has taken over",
            where=self._running.sink,
            hint="two runs of one pipeline write here; stop one of them (or an epoch took longer than "
            f"transaction_timeout, {self._options.transaction_timeout})",
        )

    @property
    def _owner(self) -> tuple[str, str, str]:
        """Who writes where: what the ledger's entries and the transactional id are of."""
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
