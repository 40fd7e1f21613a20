"""Topics of Kafka, read and written through Spark and Kafka's own client.

*Source*: replayable. Spark's checkpoint holds the position; after each epoch it is also committed under a consumer group,
so that ordinary tools see the lag, but nobody reads it from there. Only records of committed transactions are read.

*Sink*: exactly once. All records of an epoch, and the entry in the ledger topic `_headrace_ledger`, are one Kafka
transaction; the transactional id is made of the pipeline's and the sink's name, so that a newer run fences an older one.
It holds for readers with `isolation.level=read_committed` (librdkafka's default, not the Java client's): others see the
records of an epoch that is still open or was given up. On a cluster the records go through the driver, which owns the
transaction; in local mode the tasks send them side by side. The servers must have room for transactions: on fewer than
three brokers `transaction.state.log.replication.factor` has to be said.

Jars (10 MB) come from Maven Central when a pipeline that uses Kafka starts for the first time, or by
`headrace jars fetch kafka`. `headrace kafka up` starts a server to try things on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from headrace.connectors.base import Connector, Guarantee, Reader, Role, WriteMode, Writer
from headrace.connectors.kafka import subscription
from headrace.connectors.kafka.errors import translate_error
from headrace.connectors.kafka.options import (
    METADATA,
    AssignOption,
    MetadataOption,
    Sasl,
    SettingsOption,
    StartOption,
    Tls,
)
from headrace.connectors.options import DurationOption, FormatOption, NamesOption
from headrace.connectors.roles import SinkOption, SourceOption
from headrace.errors import Problem
from headrace.formats import Format

_READS = ("topic", "topics", "pattern", "assign")


class Kafka(Connector):
    """One topic or several, to read; one topic, or the one that a column names, to write.

    A source names its records by exactly one of `topic`, `topics`, `pattern` and `assign`; a sink takes `topic` or
    `topic_column`. A record's key, headers and place are columns only if `metadata` asks for them. A sink sends rows
    with a key to the partition of that key, and without one to all in turn.

    >>> Kafka(servers="localhost:9092", topic="payments").start
    'earliest'
    >>> Kafka(servers="a:9092,b:9092", pattern="payments-.*", metadata={"timestamp": "sent_at"}).metadata_columns
    ('sent_at',)
    """

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": [name]} for name in (*_READS, "topic_column")]}
    )

    kind: ClassVar[str] = "kafka"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink"})
    delivers: ClassVar[Guarantee] = "exactly_once"
    jars: ClassVar[tuple[str, ...]] = ("kafka",)

    servers: str = Field(description="The brokers to ask first: host:port, several with commas")
    topic: str | None = Field(default=None, description="The topic")
    topics: SourceOption[NamesOption] = Field(default=(), description="Several topics to read as one source")
    pattern: SourceOption[str | None] = Field(
        default=None,
        min_length=1,
        description="Read every topic whose whole name this Java expression matches",
    )
    assign: SourceOption[AssignOption] = Field(
        default={}, description="Read only these partitions: topic to a list of numbers"
    )
    start: SourceOption[StartOption] = Field(
        default="earliest",
        description="Where a new checkpoint begins: `earliest`, `latest`, `{time: 2026-03-01T00:00:00Z}` (the first "
        "record of that time or later) or `{offsets: {0: 17}}`, with several topics `{offsets: {payments: {0: 17}}}`; "
        "partitions not named begin at the earliest",
    )
    metadata: SourceOption[MetadataOption] = Field(
        default={},
        description=f"What becomes columns besides the record: of {', '.join(METADATA)}; as a mapping with the "
        "column's name, such as `{timestamp: sent_at}`",
    )
    max_per_batch: SourceOption[int | None] = Field(
        default=None, ge=1, description="The most records that one epoch reads; without it all that are there"
    )
    min_tasks: SourceOption[int | None] = Field(
        default=None, ge=1, description="Read with at least so many tasks, more than there are partitions"
    )
    group: SourceOption[str | None] = Field(
        default=None,
        min_length=1,
        description="The consumer group under which progress is shown; `<pipeline>.<source>` if not said",
    )
    tombstones: SourceOption[Literal["error", "skip"]] = Field(
        default="error", description="What to do with records that have no value"
    )
    on_data_loss: SourceOption[Literal["fail", "continue"]] = Field(
        default="fail",
        description="What to do when records are gone before they were read, by retention or a deleted topic",
    )
    fetch: SourceOption[Literal["throughput", "latency"]] = Field(
        default="throughput",
        description="Sizes of fetches: large ones for throughput, Kafka's own for latency",
    )
    isolation: SourceOption[Literal["committed", "uncommitted"]] = Field(
        default="committed", description="Whether only records of committed transactions are read"
    )
    topic_column: SinkOption[str | None] = Field(
        default=None, min_length=1, description="The column that names the topic of each row; sinks only"
    )
    format: FormatOption = Field(
        default=None,
        description="How a sink writes values: json (if not said), csv, or text and raw for one column",
    )
    key: SinkOption[NamesOption] = Field(
        default=(), description="The columns of a record's key: one as its text, several as a JSON object"
    )
    headers: SinkOption[NamesOption] = Field(
        default=(), description="Columns that become headers of the record, as text"
    )
    value: SinkOption[NamesOption] = Field(
        default=(),
        description="The columns of a record's value; all but those of topic, partition and headers if not said",
    )
    partition_column: SinkOption[str | None] = Field(
        default=None, min_length=1, description="The column that holds the number of each row's partition"
    )
    retractions: SinkOption[Literal["rows", "tombstones"]] = Field(
        default="rows",
        description="How a retracted pane is written: as a row that says so, or as a record without value",
    )
    partitions: SinkOption[int | None] = Field(
        default=None, ge=1, description="Create the topic with so many partitions if it isn't there"
    )
    replication: SinkOption[int | None] = Field(
        default=None,
        ge=1,
        description="On how many brokers a created topic is; the server's default if not said",
    )
    topic_settings: SinkOption[SettingsOption] = Field(
        default={}, description="Settings of a created topic, such as `{retention.ms: 3600000}`"
    )
    compression: SinkOption[Literal["none", "lz4", "zstd", "snappy", "gzip"]] = Field(
        default="lz4", description="How a sink's batches are compressed"
    )
    transaction_timeout: SinkOption[DurationOption] = Field(
        default="10 minutes",
        description="How long an epoch may take to write; the server allows 15 minutes if it isn't told otherwise",
    )
    tls: Tls | None = Field(default=None, description="Talk TLS: `{}`, or with certificates")
    sasl: Sasl | None = Field(default=None, description="Log in")
    timeout: DurationOption = Field(
        default="30 seconds",
        description="How long to wait for an answer of the servers; a sink sends a record again for four times as long",
    )
    settings: SettingsOption = Field(
        default={}, description="Any other setting of Kafka's clients, such as `{client.id: fraud}`"
    )

    @field_validator("servers")
    @classmethod
    def _addresses(cls, servers: str) -> str:
        for address in servers.split(","):
            host, colon, port = address.strip().rpartition(":")
            if not (host and colon and port.isdigit()):
                raise ValueError("expected host:port, several with commas")
        return servers

    @field_validator("format")
    @classmethod
    def _of_records(cls, chosen: Format | None) -> Format | None:
        if chosen is not None and chosen.of_rows:
            raise ValueError(f"{chosen.name} is a format of files: take json, csv, text or raw")
        return chosen

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        reads = [name for name in _READS if getattr(self, name)]
        if len(reads) > 1:
            raise ValueError(f"expected one of {', '.join(_READS)}, got {' and '.join(reads)}")
        if not reads and self.topic_column is None:
            raise ValueError(f"expected one of {', '.join((*_READS, 'topic_column'))}")
        if self.topic and self.topic_column:
            raise ValueError("expected topic or topic_column, got both")
        if self.retractions == "tombstones" and not self.key:
            raise ValueError("a record without value says nothing without a key: say key")
        return self

    @property
    def replayable(self) -> bool:
        return True

    @property
    def metadata_columns(self) -> tuple[str, ...]:
        return tuple(dict(self.metadata).values()) if isinstance(self.metadata, Mapping) else ()

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, *subscription.offset_identity(self))

    def missing_identity(self, recorded: Sequence[str]) -> list[str]:
        kept = self.on_data_loss == "continue"
        return [
            part for part in recorded if part != self.kind and not (kept or subscription.includes(self, part))
        ]

    @property
    def encoding(self) -> str:
        """The format that a sink writes."""
        return self.format.name if isinstance(self.format, Format) else "json"

    def mode_problem(self, mode: WriteMode) -> str:
        if mode == "complete":
            return "a topic can't be replaced as a whole: take mode update, where the newest record of a key is valid"
        return ""

    def explain_failure(self, failure: str) -> Problem | None:
        return translate_error(failure, self.servers)

    def reader(self) -> Reader:
        from headrace.connectors.kafka.source import KafkaReader

        return KafkaReader(self)

    def writer(self) -> Writer:
        from headrace.connectors.kafka.sink import KafkaWriter

        return KafkaWriter(self)
