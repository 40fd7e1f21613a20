"""Webhooks: rows that are posted to an address.

*Sink*: at least once. An epoch is committed when every request of it has been answered with a status 2xx;
after a crash in between it is sent again. Each request has an `Idempotency-Key` that is the same when it is
sent again, by which the receiver can remove duplicates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from headrace.access.options import Address
from headrace.connectors.base import Connector, Guarantee, Role, Writer
from headrace.connectors.extras import require_package
from headrace.connectors.message_sink import MessageWriter
from headrace.connectors.network.tls import TlsFiles
from headrace.connectors.options import DurationOption, FormatOption, NamesOption, RetryTimeoutOption
from headrace.connectors.templates import TemplateOption, template_columns
from headrace.formats import Format


class Webhook(Connector):
    """Posts rows to an address: one row per request, or with `batch` up to that number of rows.

    With the format json, which is the default, a request without `batch` has one object and a request with
    `batch` an array of objects; with csv and text, a request has one line per row. The address may have
    column values in path and query, `https://host/rooms/{room}`; rows with different addresses are sent
    separately.

    A server that does not answer, or answers 408, 425, 429 or 5xx (except 501), is retried with backoff, or
    after the time in its `Retry-After`. Any other status fails the run.

    >>> Webhook("https://example.org/alerts", batch=100).sink_guarantee
    'at_least_once'
    >>> Webhook(url="https://example.org/rooms/{room}").method
    'POST'
    """

    kind: ClassVar[str] = "webhook"
    roles: ClassVar[frozenset[Role]] = frozenset({"sink"})
    delivers: ClassVar[Guarantee] = "at_least_once"
    append_only: ClassVar[str] = "a receiver"

    url: Annotated[TemplateOption, Address()] = Field(
        description="The address, `https://host/path`; `{column}` in path and query is the value of a column"
    )
    batch: int | None = Field(
        default=None, ge=1, description="The maximum number of rows per request; default: one row, no array"
    )
    method: Literal["POST", "PUT", "PATCH"] = Field(default="POST", description="The method of requests")
    token: SecretStr | None = Field(
        default=None, description="Sent as `Authorization: Bearer ...`, such as `${TOKEN}`"
    )
    headers: Mapping[str, SecretStr] = Field(
        default={}, description="Headers of each request, such as `{X-Api-Key: ${API_KEY}}`"
    )
    format: FormatOption = Field(
        default=None, description="The format of bodies: json, csv, protobuf, text or raw; default: json"
    )
    value: NamesOption = Field(
        default=(), description="The columns of the body; default: all except those of the address"
    )
    timeout: DurationOption = Field(default="30 seconds", description="How long to wait for an answer")
    retry_timeout: RetryTimeoutOption = "5 minutes"
    tls: TlsFiles | None = Field(default=None, description="Certificates for `https://`")

    def __init__(self, url: str | None = None, **options: Any) -> None:
        super().__init__(**(options if url is None else {"url": url, **options}))

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("expected an address such as https://host/path")
        if template_columns(parts.netloc):
            raise ValueError("columns may be in the path and the query, not in the host")
        return url

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.batch is not None and isinstance(self.format, Format) and self.format.is_binary:
            raise ValueError(f"{self.format.name} rows cannot share a request: remove `batch`")
        return self

    @property
    def template_columns(self) -> tuple[str, ...]:
        """The columns whose values are in the address."""
        return template_columns(self.url)

    @property
    def address_columns(self) -> tuple[str, ...]:
        return self.template_columns

    @property
    def address(self) -> str:
        """The server's address, without path and query, which may hold a secret."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    def writer(self) -> Writer:
        require_package("httpx", extra="http")
        from headrace.connectors.webhook.sink import WebhookPublisher

        return MessageWriter(lambda context: WebhookPublisher(self, context))
