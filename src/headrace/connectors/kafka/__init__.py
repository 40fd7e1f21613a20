"""Kafka topics, read and written through Spark and Kafka's Java client.

*Source*: replayable. The checkpoint holds the offsets. After each epoch they are also committed under a
consumer group, so that Kafka's tools show the lag; the pipeline does not read them from there. Only records
of committed transactions are read.

*Sink*: exactly once. All records of an epoch, and the entry in the ledger topic `_headrace_ledger`, are one
Kafka transaction; the transactional id consists of the names of pipeline and sink, so that a newer run fences
an older one. The guarantee holds for readers with `isolation.level=read_committed` (librdkafka's default, not
the Java client's); others see records of open and aborted transactions. On a cluster the records go through
the driver, which holds the transaction; in local mode the tasks send them in parallel. With fewer than three
brokers, set the server's `transaction.state.log.replication.factor`. With `guarantee="at_least_once"` tasks
send their records themselves, without a transaction.

The jars (10 MB) are downloaded from Maven Central when a pipeline with Kafka starts for the first time, or by
`headrace jars fetch kafka`. `headrace kafka up` starts a local server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from headrace.access.options import Servers
from headrace.connectors.base import Guarantee, Reader, Role, Writer
from headrace.connectors.kafka import subscription
from headrace.connectors.kafka.errors import translate_error
from headrace.connectors.kafka.options import (
    METADATA,
    AssignOption,
    ClientSettingsOption,
    Sasl,
    SettingsOption,
    StartOption,
    Tls,
)
from headrace.connectors.metadata import MetadataOption, MetadataSource, metadata_field
from headrace.connectors.options import DurationOption, FormatOption, NamesOption
from headrace.connectors.roles import SinkOption, SourceOption
from headrace.errors import Problem
from headrace.formats import Format

_READS = ("topic", "topics", "pattern", "assign")


class Kafka(MetadataSource):
    """A source reads one topic or several; a sink writes to one topic, or to the topic in a column.

    A source has exactly one of `topic`, `topics`, `pattern` and `assign`; a sink has `topic` or
    `topic_column`. Key, headers and position of a record become columns only with `metadata`. A sink sends
    rows with a key to the partition of the key, and rows without one to all partitions in turn.

    >>> Kafka(servers="localhost:9092", topic="payments").start
    'earliest'
    >>> Kafka(servers="a:9092", pattern="payments-.*", metadata={"timestamp": "sent_at"}).metadata_columns
    ('sent_at',)
    >>> Kafka(servers="localhost:9092", topic="alerts", guarantee="at_least_once").sink_guarantee
    'at_least_once'
    """

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": [name]} for name in (*_READS, "topic_column")]}
    )

    kind: ClassVar[str] = "kafka"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink"})
    delivers: ClassVar[Guarantee] = "exactly_once"
    append_only: ClassVar[str] = "a topic"
    has_partitions: ClassVar[bool] = True
    metadata_types: ClassVar[dict[str, str]] = METADATA
    jars: ClassVar[tuple[str, ...]] = ("kafka",)
    replayable: ClassVar[bool] = True

    servers: Annotated[str, Servers()] = Field(
        description="The bootstrap servers: host:port, several with commas"
    )
    topic: str | None = Field(default=None, description="The topic")
    topics: SourceOption[NamesOption] = Field(default=(), description="Several topics, read as one source")
    pattern: SourceOption[str | None] = Field(
        default=None,
        min_length=1,
        description="Read every topic whose whole name matches this Java regular expression",
    )
    assign: SourceOption[AssignOption] = Field(
        default={}, description="Read only these partitions: a mapping from topic to partition numbers"
    )
    start: SourceOption[StartOption] = Field(
        default="earliest",
        description="The start of a new checkpoint: `earliest`, `latest`, `{time: 2026-03-01T00:00:00Z}` "
        "(the first record of that time or later) or `{offsets: {0: 17}}`, with several topics `{offsets: "
        "{payments: {0: 17}}}`; other partitions start at the earliest offset",
    )
    metadata: SourceOption[MetadataOption] = metadata_field(METADATA, "{timestamp: sent_at}")
    max_per_batch: SourceOption[int | None] = Field(
        default=None, ge=1, description="The maximum number of records per epoch; default: no limit"
    )
    min_tasks: SourceOption[int | None] = Field(
        default=None, ge=1, description="The minimum number of tasks; default: one per partition"
    )
    group: SourceOption[str | None] = Field(
        default=None,
        min_length=1,
        description="The consumer group that shows the progress; default: `<pipeline>.<source>`",
    )
    tombstones: SourceOption[Literal["error", "skip"]] = Field(
        default="error", description="Records without a value are dead letters, or are skipped"
    )
    on_data_loss: SourceOption[Literal["fail", "continue"]] = Field(
        default="fail",
        description="Whether to stop when records were deleted before they were read, by retention or with "
        "their topic",
    )
    fetch: SourceOption[Literal["throughput", "latency"]] = Field(
        default="throughput",
        description="Large fetches for throughput, or Kafka's defaults for latency",
    )
    isolation: SourceOption[Literal["committed", "uncommitted"]] = Field(
        default="committed", description="Read only records of committed transactions, or all records"
    )
    topic_column: SinkOption[str | None] = Field(
        default=None, min_length=1, description="The column with the topic of each row"
    )
    format: FormatOption = Field(
        default=None,
        description="The format of values: json, avro, csv, protobuf, or text and raw for one column; "
        "default of a sink: json",
    )
    key: SinkOption[NamesOption] = Field(
        default=(), description="The columns of the key: one column as text, several as a JSON object"
    )
    headers: SinkOption[NamesOption] = Field(default=(), description="Columns that become headers, as text")
    value: SinkOption[NamesOption] = Field(
        default=(),
        description="The columns of the value; default: all except those of topic, partition and headers",
    )
    partition_column: SinkOption[str | None] = Field(
        default=None, min_length=1, description="The column with the partition number of each row"
    )
    retractions: SinkOption[Literal["rows", "tombstones"]] = Field(
        default="rows",
        description="Write a retraction as a row with `pane.retraction`, or as a tombstone",
    )
    partitions: SinkOption[int | None] = Field(
        default=None, ge=1, description="Create the topic with this number of partitions if it does not exist"
    )
    replication: SinkOption[int | None] = Field(
        default=None,
        ge=1,
        description="The replication factor of a created topic; default: the server's",
    )
    topic_settings: SinkOption[SettingsOption] = Field(
        default={}, description="Settings of a created topic, such as `{retention.ms: 3600000}`"
    )
    compression: SinkOption[Literal["none", "lz4", "zstd", "snappy", "gzip"]] = Field(
        default="lz4", description="The compression of batches"
    )
    transaction_timeout: SinkOption[DurationOption] = Field(
        default="10 minutes",
        description="The maximum time to write an epoch; the server's default maximum is 15 minutes",
    )
    guarantee: SinkOption[Literal["exactly_once", "at_least_once"]] = Field(
        default="exactly_once",
        description="With `at_least_once` tasks send the records, without a transaction, also on a cluster; "
        "an epoch that is replayed after a crash is sent again",
    )
    tls: Tls | None = Field(default=None, description="Use TLS: `{}`, or with certificates")
    sasl: Sasl | None = Field(default=None, description="Log in with SASL")
    timeout: DurationOption = Field(
        default="30 seconds",
        description="The timeout of a request; a sink retries a record for four times as long",
    )
    settings: ClientSettingsOption = Field(
        default={}, description="Other settings of Kafka's clients, such as `{client.id: fraud}`"
    )

    @field_validator("servers")
    @classmethod
    def _check_addresses(cls, servers: str) -> str:
        for address in servers.split(","):
            host, colon, port = address.strip().rpartition(":")
            if not (host and colon and port.isdigit()):
                raise ValueError("expected host:port, several with commas")
        return servers

    @field_validator("format")
    @classmethod
    def _check_format(cls, chosen: Format | None) -> Format | None:
        if chosen is not None and chosen.of_rows:
            raise ValueError(
                f"{chosen.name} is a format of files: use json, avro, csv, protobuf, text or raw"
            )
        return chosen

    @model_validator(mode="after")
    def _check_topics(self) -> Self:
        reads = [name for name in _READS if getattr(self, name)]
        if len(reads) > 1:
            raise ValueError(f"expected one of {', '.join(_READS)}, got {' and '.join(reads)}")
        if not reads and self.topic_column is None:
            raise ValueError(f"expected one of {', '.join((*_READS, 'topic_column'))}")
        if self.topic and self.topic_column:
            raise ValueError("expected topic or topic_column, got both")
        if self.retractions == "tombstones" and not self.key:
            raise ValueError("tombstones need a key: set `key`")
        return self

    @property
    def address_columns(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.topic_column, self.partition_column, *self.headers)))

    @property
    def source_guarantee(self) -> Guarantee:
        return "exactly_once" if self.on_data_loss == "fail" else "at_most_once"

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, *subscription.offset_identity(self))

    def missing_identity(self, recorded: Sequence[str]) -> list[str]:
        if self.on_data_loss == "continue":
            return []
        return [part for part in recorded if part != self.kind and not subscription.includes(self, part)]

    @property
    def sink_guarantee(self) -> Guarantee:
        return self.guarantee

    def explain_failure(self, failure: str) -> Problem | None:
        return translate_error(failure, self.servers)

    def reader(self) -> Reader:
        from headrace.connectors.kafka.source import KafkaReader

        return KafkaReader(self)

    def writer(self) -> Writer:
        from headrace.connectors.kafka.sink import KafkaWriter
        from headrace.connectors.kafka.task_sink import TaskKafkaWriter

        return KafkaWriter(self) if self.guarantee == "exactly_once" else TaskKafkaWriter(self)
