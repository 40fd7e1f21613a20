"""Rows over HTTP: an endpoint that clients push to, an address that is polled, or a service for lookups.

*Push* (`listen`): at least once. The endpoint answers 202 once the rows are durable in the write-ahead log
beside the checkpoint; a client repeats a request that was not answered. With the header `Idempotency-Key` a
repeated request is stored once. Requests are refused while no run listens.

*Pull* (`poll`): at least once. The address is requested at an interval, with the `ETag` of the last answer
and, if `cursor` is set, with the largest value of that field; rows that were stored before are skipped.

*Lookup* (`url`): the rows of a key are requested when a `lookup` with `load="key"` needs them.

To send rows to an address, use `webhook`. Apache Pulsar has no connector; a bridge that posts its records
to this endpoint is untested.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, SecretStr, model_validator

from headrace.access.options import Address
from headrace.connectors.base import Load, ReadContext, Role
from headrace.connectors.extras import require_package
from headrace.connectors.lookups import KeyTable, LookupContext
from headrace.connectors.metadata import MetadataOption, metadata_field
from headrace.connectors.network.addresses import ListenOption, url_check
from headrace.connectors.options import DurationOption, FormatOption, SizeOption
from headrace.connectors.roles import AppliesTo, SourceOption
from headrace.connectors.templates import NameTemplateOption
from headrace.connectors.write_ahead_log import Receiver
from headrace.connectors.write_ahead_log.options import LoggedSource

_PUSH = ("path", "max_body", "rate_limit", "body_timeout")
_PULL = ("every", "cursor", "cursor_parameter")
_REQUESTS = ("items", "headers", "timeout", "retry_timeout")

_PollOption = Annotated[
    str, Address(), url_check("http", "https", expected="an address such as http://host/items")
]
_LookupOption = Annotated[
    NameTemplateOption,
    Address(),
    url_check("http", "https", expected="an address such as https://host/cards/{card}"),
]


class Http(LoggedSource):
    """Receives rows by HTTP; set `listen` to receive requests, `poll` to send them, or `url` for lookups.

    **Push.** A request is `POST` with one record or several: with the format json an object, an array of
    objects, or one object per line (`Content-Type: application/x-ndjson`); with csv and text one record per
    line; with raw the whole body. Answers: 202 `{"rows": n}` once the rows are durable; 400 with the reason
    if the body is no JSON; 401 without the token; 408 if the body does not arrive in time; 413 above
    `max_body`; 429 with `Retry-After` above `rate_limit`, or while the log is full (`overflow`). JSON that
    does not fit the schema becomes a dead letter.

    **Pull.** The answer is an array of objects, an object that holds one (`items`), or one object per line.

    **Lookup.** One `GET` request for each key, up to `concurrency` of the lookup at a time; the values of
    key columns are percent-encoded. The answer is an object, or an array of objects, one for each row. The
    statuses 404, 410 and 204 and an empty body mean that the key has no row.

    >>> Http(listen="127.0.0.1:8080", path="/events").overflow
    'backpressure'
    >>> Http(poll="http://host/items", every="10 seconds", cursor="updated_at").cursor
    'updated_at'
    >>> Http(url="https://host/cards/{card}").timeout
    '30 seconds'
    """

    kind: ClassVar[str] = "http"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "table"})
    loads: ClassVar[frozenset[Load]] = frozenset({"key"})
    metadata_types: ClassVar[dict[str, str]] = {
        "client": "string",
        "headers": "map<string,string>",
        "received_at": "timestamp",
    }

    listen: SourceOption[ListenOption | None] = Field(
        default=None, description="Push: host and port to listen on, `127.0.0.1:8080`"
    )
    path: SourceOption[str] = Field(default="/", pattern="^/", description="Push: the path of the endpoint")
    token: SecretStr | None = Field(
        default=None,
        description="The token of the header `Authorization: Bearer ...`, such as `${TOKEN}`: required from "
        "clients (push), or sent (pull, lookup)",
    )
    max_body: SourceOption[SizeOption] = Field(
        default="16 MB", description="Push: the maximum size of a request"
    )
    rate_limit: SourceOption[int | None] = Field(
        default=None, ge=1, description="Push: the maximum number of requests per second; default: no limit"
    )
    body_timeout: SourceOption[DurationOption] = Field(
        default="30 seconds", description="Push: how long a client may take to send a request"
    )
    poll: SourceOption[_PollOption | None] = Field(default=None, description="Pull: the address to request")
    url: Annotated[_LookupOption | None, AppliesTo(frozenset({"table"}))] = Field(
        default=None, description="Lookup: the address of a key, `https://host/cards/{card}`"
    )
    every: SourceOption[DurationOption] = Field(
        default="10 seconds", description="Pull: the interval between requests"
    )
    cursor: SourceOption[str | None] = Field(
        default=None,
        min_length=1,
        description="Pull: the field that increases with every row; each request has its largest value",
    )
    cursor_parameter: SourceOption[str | None] = Field(
        default=None,
        min_length=1,
        description="Pull: the query parameter with the largest value; default: the name of the field",
    )
    items: str | None = Field(
        default=None,
        min_length=1,
        description="Pull, lookup: the field of the answer that holds the rows, such as `data.items`",
    )
    headers: Mapping[str, str] = Field(
        default={}, description="Pull, lookup: headers that are sent with each request"
    )
    timeout: DurationOption = Field(
        default="30 seconds", description="Pull, lookup: how long to wait for an answer"
    )
    retry_timeout: DurationOption = Field(
        default="5 minutes",
        description="Pull, lookup: how long an unavailable server is retried, with backoff, before the run "
        "fails",
    )
    metadata: SourceOption[MetadataOption] = metadata_field(metadata_types, "{client: sent_by}")
    format: SourceOption[FormatOption] = Field(
        default=None, description="The format of records: json, avro, csv, protobuf, text or raw"
    )

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if sum(option is not None for option in (self.listen, self.poll, self.url)) != 1:
            raise ValueError(
                "expected `listen`, to receive requests, `poll`, to send them, or `url`, to look up rows"
            )
        sides = {"`listen`": (self.listen, _PUSH), "`poll`": (self.poll, _PULL)}
        sides["`poll` or `url`"] = (self.poll or self.url, _REQUESTS)
        for side, (chosen, names) in sides.items():
            for name in names:
                if chosen is None and name in self.model_fields_set:
                    raise ValueError(f"`{name}` applies only with {side}")
        return self

    def stream_problem(self) -> tuple[str, str] | None:
        if self.url is not None:
            return "an address with `url` is a table for lookups", "set `poll` or `listen` to read a stream"
        return None

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, f"address {self.poll}") if self.poll else (self.kind,)

    @property
    def replay_assumption(self) -> str:
        return "clients repeat requests that were not answered with 202" if self.listen else ""

    def receiver(self, context: ReadContext) -> Receiver:
        if self.listen is not None:
            require_package("uvicorn", extra="http")
            from headrace.connectors.http.push import PushReceiver

            return PushReceiver(self, context)
        require_package("httpx", extra="http")
        from headrace.connectors.http.pull import PullReceiver

        return PullReceiver(self, context)

    def key_table(self, context: LookupContext) -> KeyTable:
        require_package("httpx", extra="http")
        from headrace.connectors.http.lookup import http_table

        return http_table(self, context)
