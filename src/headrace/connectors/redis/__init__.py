"""Redis: streams as sources; streams, hashes, sorted sets and channels as sinks; hashes and JSON for lookups.

*Source*: exactly once. A consumer group assigns entries of a stream to this source; they stay pending until
the epoch that holds them is delivered, and are acknowledged then. A replayed epoch reads the same pending
entries.

*Sink*: exactly once for streams, hashes and sorted sets. A script on the server writes the rows of an
epoch and the ledger entry atomically, fenced against older runs. At most once for channels: subscribers that
are not connected miss messages. All rows of an epoch pass through the driver's memory. The guarantees assume
that the server does not lose what it has confirmed: set `appendonly yes`, and `appendfsync always` for power
failures.

*Table*: for lookups with `load="key"`, all keys of an Arrow batch in one round trip.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from headrace.access.options import Address
from headrace.connectors.base import (
    Carries,
    Connector,
    Guarantee,
    Load,
    Reader,
    Role,
    Writer,
)
from headrace.connectors.driver_source import DriverSource
from headrace.connectors.lookups import KeyTable, LookupContext
from headrace.connectors.metadata import MetadataOption, MetadataSource
from headrace.connectors.network.addresses import are_servers
from headrace.connectors.options import FormatOption, NamesOption, RetryTimeoutOption
from headrace.connectors.redis.server import RedisServer
from headrace.connectors.roles import AppliesTo, SinkOption, SourceOption
from headrace.connectors.templates import NameTemplateOption, template_columns
from headrace.formats import Format

_SINKS = ("stream", "hash", "sorted_set", "channel")
_HashOption = Annotated[NameTemplateOption | None, AppliesTo(frozenset({"sink", "table"}))]
_TableOption = Annotated[NameTemplateOption | None, AppliesTo(frozenset({"table"}))]
_StreamOption = Annotated[NameTemplateOption | None, AppliesTo(frozenset({"source", "sink"}))]

_PARAMETER_NAMES = """
    client_name db health_check_interval protocol socket_connect_timeout socket_timeout username
"""
_PARAMETERS = frozenset(_PARAMETER_NAMES.split())
"""Parameters of the client's URLs that name no file."""


class Redis(DriverSource, MetadataSource):
    """A source reads a stream; a sink writes to a stream, hashes, sorted sets or channels.

    An entry of a stream has fields. Without a `format` they are the columns of the rows, as text that is cast
    to the schema. With a `format` one field holds the record: `field`, or the only one. In the names of a
    sink `{column}` is the value of a column: `hash: "card:{card}"` stores the last row of each card, and a
    retraction or deletion removes it. Needs the extra `redis`.

    >>> Redis(url="redis://localhost:6379/0", stream="orders", group="billing").group
    'billing'
    >>> Redis(url="redis://localhost", channel="alerts").sink_guarantee
    'at_most_once'
    """

    kind: ClassVar[str] = "redis"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink", "table"})
    delivers: ClassVar[Guarantee] = "exactly_once"
    append_only: ClassVar[str] = "a Redis key"
    loads: ClassVar[frozenset[Load]] = frozenset({"key"})
    metadata_types: ClassVar[dict[str, str]] = {"id": "string"}
    replayable: ClassVar[bool] = True
    replay_assumption: ClassVar[str] = (
        "pending entries of the group are not trimmed from the stream or claimed by another consumer"
    )
    concurrent_readers: ClassVar[bool] = False

    url: Annotated[str, Address(_PARAMETERS, default_host="localhost")] = Field(
        description="The server: `redis://user:password@host:6379/0`, with TLS `rediss://`"
    )
    stream: _StreamOption = Field(
        default=None, description="The stream; a sink may compute it: `orders:{country}`"
    )
    hash: _HashOption = Field(
        default=None,
        description="The key of the hash with the columns of a row: `card:{card}`",
    )
    json_: _TableOption = Field(
        default=None,
        alias="json",
        description="The key of a JSON object as text: `card:{card}`",
    )
    sorted_set: SinkOption[NameTemplateOption | None] = Field(
        default=None,
        description="The sorted set in which a row is a member: `totals:{country}`",
    )
    member: SinkOption[NameTemplateOption | None] = Field(
        default=None, description="The member of a sorted set: `{card}`"
    )
    score: SinkOption[str | None] = Field(
        default=None, min_length=1, description="The column with the score of the member"
    )
    channel: SinkOption[NameTemplateOption | None] = Field(
        default=None, description="The channel to which rows are published: `alerts:{country}`"
    )
    value: SinkOption[NamesOption] = Field(
        default=(), description="The columns that are written; default: all"
    )
    format: FormatOption = Field(
        default=None,
        description="The format of the record in an entry or message; default of streams and hashes: one "
        "field for each column; of channels: json",
    )
    field: Annotated[str | None, AppliesTo(frozenset({"source", "sink"}))] = Field(
        default=None, min_length=1, description="The field of an entry that holds the record in `format`"
    )
    max_length: SinkOption[int | None] = Field(
        default=None, ge=1, description="About how many entries of a stream are retained; default: all"
    )
    group: SourceOption[str | None] = Field(
        default=None, min_length=1, description="The consumer group; default: `headrace-<pipeline>-<source>`"
    )
    start: SourceOption[str] = Field(
        default="earliest", description="Where a new group begins: `earliest`, `latest` or an entry id"
    )
    metadata: SourceOption[MetadataOption] = Field(
        default={}, description="Metadata that become columns: `id`, the id of the entry"
    )
    max_per_batch: SourceOption[int] = Field(
        default=100_000, ge=1, description="The maximum number of entries per epoch"
    )
    password: SecretStr | None = Field(default=None, description="The password, such as `${REDIS_PASSWORD}`")
    retry_timeout: RetryTimeoutOption = "1 minute"

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        is_redis = url.startswith(("redis://", "rediss://", "unix://"))
        if not is_redis or not are_servers(urlsplit(url).netloc.rpartition("@")[2]):
            raise ValueError("expected redis://user:password@host:6379/0")
        return url

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if sum(getattr(self, name) is not None for name in (*_SINKS, "json_")) != 1:
            raise ValueError("expected one of `stream`, `hash`, `json`, `sorted_set` and `channel`")
        if self.sorted_set is not None and (self.member is None or self.score is None):
            raise ValueError("a sorted set needs `member` and `score`")
        return self

    @property
    def server(self) -> RedisServer:
        """The server's address and login."""
        return RedisServer(self.url, self.password.get_secret_value() if self.password else None)

    @property
    def encoding(self) -> Format | None:
        """The format that is set, if any."""
        return self.format if isinstance(self.format, Format) else None

    @property
    def target_name(self) -> str:
        """The stream, hash, set or channel that is set, with its kind."""
        kind = next(name for name in (*_SINKS, "json_") if getattr(self, name) is not None)
        return f"{kind.strip('_').replace('_', ' ')} `{getattr(self, kind)}`"

    @property
    def template_columns(self) -> tuple[str, ...]:
        """The columns that a sink's options name."""
        names = (self.stream, self.hash, self.sorted_set, self.member, self.channel)
        columns = [column for name in names if name for column in template_columns(name)]
        return tuple(dict.fromkeys([*columns, *([self.score] if self.score else [])]))

    @property
    def row_key(self) -> tuple[str, ...]:
        names = (self.hash, self.json_, *((self.sorted_set, self.member) if self.sorted_set else ()))
        return tuple(dict.fromkeys(column for name in names if name for column in template_columns(name)))

    @property
    def carries(self) -> Carries:
        return "rows" if self.encoding is None else "bytes"

    def with_format(self, chosen: Format | None) -> Connector:
        return (
            self if chosen is None or chosen == self.encoding else self.model_copy(update={"format": chosen})
        )

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, f"stream `{self.stream}`")

    @property
    def sink_guarantee(self) -> Guarantee:
        return "at_most_once" if self.channel is not None else "exactly_once"

    def target(self) -> str | None:
        return None if self.channel else f"{self.target_name} at {self.server.address}"

    def stream_problem(self) -> tuple[str, str] | None:
        if self.stream is None:
            return "only a stream can be read", 'add stream="orders"'
        if template_columns(self.stream):
            return f"the name of a source's stream is fixed, not `{self.stream}`", "read one stream"
        return None

    def reader(self) -> Reader:
        from headrace.connectors.redis.source import RedisReader

        return RedisReader(self)

    def key_table(self, context: LookupContext) -> KeyTable:
        from headrace.connectors.redis.lookup import redis_table

        return redis_table(self, context)

    def writer(self) -> Writer:
        from headrace.connectors.redis.sink import RedisWriter

        return RedisWriter(self)
