"""Amazon Kinesis Data Streams: streams as sources and sinks, also of servers with the same interface.

*Source*: exactly once. An offset holds the last sequence number of each shard. The driver reads the records
of an epoch; a replayed epoch reads the same sequence numbers again, as long as the stream retains them. After
a reshard the children of a shard are read when the shard is exhausted, so records of a partition key keep
their order. Records that the Kinesis Producer Library has aggregated are not split.

*Sink*: at least once. An epoch is committed when the service has stored every record of it; after a crash in
between it is sent again. Records that the service rejects because of its rate limits are sent again, after
those that it has accepted.
"""

from __future__ import annotations

import os
from typing import Annotated, ClassVar, Self

from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError, field_validator, model_validator

from headrace.access.addresses import check_hosts
from headrace.access.options import Address
from headrace.connectors.base import Guarantee, Reader, Role, Writer
from headrace.connectors.driver_source import DriverSource
from headrace.connectors.extras import require_package
from headrace.connectors.kinesis.service import KinesisService
from headrace.connectors.message_sink import MessageWriter
from headrace.connectors.metadata import MetadataOption, MetadataSource, metadata_field
from headrace.connectors.options import DurationOption, MessageFormatOption, NamesOption
from headrace.connectors.roles import SinkOption, SourceOption
from headrace.connectors.templates import TemplateOption, template_columns


class Kinesis(DriverSource, MetadataSource):
    """A source reads all shards of a stream; a sink sends each row as a record.

    Region and credentials come from the environment, as for every AWS client (`AWS_REGION`, `AWS_PROFILE`,
    `AWS_ACCESS_KEY_ID`, a role of the machine). The partition key of a sink is computed from columns:
    `{card}`. Needs the extra `kinesis`.

    >>> Kinesis(stream="orders", region="eu-north-1", start="latest").start
    'latest'
    >>> Kinesis(stream="alerts", partition_key="{card}").template_columns
    ('card',)
    """

    kind: ClassVar[str] = "kinesis"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink"})
    delivers: ClassVar[Guarantee] = "at_least_once"
    append_only: ClassVar[str] = "a stream"
    has_partitions: ClassVar[bool] = True
    metadata_types: ClassVar[dict[str, str]] = {
        "partition_key": "string",
        "sequence_number": "string",
        "shard": "string",
        "arrived_at": "timestamp",
    }
    replayable: ClassVar[bool] = True
    replay_assumption: ClassVar[str] = "the stream retains the records of an epoch until it is committed"

    stream: str = Field(min_length=1, description="The name of the stream")
    region: str | None = Field(default=None, min_length=1, description="The region; default: `AWS_REGION`")
    endpoint: Annotated[str, Address()] | None = Field(
        default=None, description="The URL of another server with the interface of Kinesis"
    )
    start: SourceOption[str] = Field(
        default="earliest",
        description="Where a new checkpoint begins: `earliest`, `latest` or a time such as "
        "`2026-11-01T00:00:00Z`",
    )
    every: SourceOption[DurationOption] = Field(
        default="1 second", description="How often shards are read; the service allows 5 reads per second"
    )
    max_per_batch: SourceOption[int] = Field(
        default=100_000, ge=1, description="The maximum number of records per epoch"
    )
    metadata: SourceOption[MetadataOption] = metadata_field(metadata_types, "{partition_key: card}")
    partition_key: SinkOption[TemplateOption] = Field(
        default="",
        description="The partition key of each row, which chooses its shard; `{column}` is the value of a "
        "column. Default: rows are spread over all shards",
    )
    format: MessageFormatOption = None
    value: SinkOption[NamesOption] = Field(default=(), description="The columns of a record; default: all")
    retry_timeout: DurationOption = Field(
        default="1 minute", description="How long an unavailable or throttling service is retried"
    )

    @field_validator("start")
    @classmethod
    def _check_start(cls, start: str) -> str:
        if start not in ("earliest", "latest"):
            try:
                TypeAdapter(AwareDatetime).validate_python(start)
            except ValidationError:
                raise ValueError(
                    "expected earliest, latest or a time with a zone, such as 2026-11-01T00:00:00Z"
                ) from None
        return start

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, endpoint: str | None) -> str | None:
        if endpoint is not None and not endpoint.startswith(("http://", "https://")):
            raise ValueError("expected http://host:port")
        return endpoint

    @model_validator(mode="after")
    def _check_host(self) -> Self:
        if self.endpoint is None:
            check_hosts([f"kinesis.{self.region or os.environ.get('AWS_REGION')}.amazonaws.com"])
        return self

    @property
    def service(self) -> KinesisService:
        """The stream and its address."""
        return KinesisService(self.stream, self.region, self.endpoint)

    @property
    def template_columns(self) -> tuple[str, ...]:
        """The columns from which a sink computes the partition key."""
        return template_columns(self.partition_key)

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, f"stream `{self.stream}`")

    def reader(self) -> Reader:
        require_package("boto3", extra="kinesis")
        from headrace.connectors.kinesis.source import KinesisReader

        return KinesisReader(self)

    def writer(self) -> Writer:
        require_package("boto3", extra="kinesis")
        from headrace.connectors.kinesis.sink import KinesisPublisher

        return MessageWriter(lambda context: KinesisPublisher(self, context))
