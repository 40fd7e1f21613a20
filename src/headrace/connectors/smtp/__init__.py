"""E-mail, sent through an SMTP server.

*Sink*: at least once. An epoch is committed when the server has accepted every mail of it; after a crash in
between it is sent again. A mail that is sent again has the same `Message-ID`, by which many mail programs
show it once.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, SecretStr, field_validator, model_validator

from headrace.access.options import Host
from headrace.connectors.base import Connector, Guarantee, Role, Writer
from headrace.connectors.message_sink import MessageWriter
from headrace.connectors.network.tls import TlsFiles
from headrace.connectors.options import DurationOption, NamesOption, RetryTimeoutOption
from headrace.connectors.templates import TemplateOption, template_columns


class Smtp(Connector):
    """Sends each row as a mail; with `batch`, rows with the same recipients and subject share a mail.

    `to`, `subject` and `body` may have column values: `{rule} fired`. The bodies of rows that share a mail
    are separated by an empty line. With `rate_limit`, the sink waits; no mail is dropped.

    A server that is unavailable, or refuses a mail temporarily (status 4xx), is retried with backoff. A mail
    that it refuses permanently fails the run.

    In Python, `from`, which is a keyword, is `sender`.

    >>> Smtp(host="localhost", sender="jobs@example.org", to="ada@example.org", subject="{rule} fired").port
    25
    >>> Smtp(host="mail", sender="a@b", to=["{owner}"], subject="Totals", body="{card}: {n}", batch=50).batch
    50
    """

    model_config = ConfigDict(populate_by_name=True)

    kind: ClassVar[str] = "smtp"
    roles: ClassVar[frozenset[Role]] = frozenset({"sink"})
    delivers: ClassVar[Guarantee] = "at_least_once"
    append_only: ClassVar[str] = "a mail"

    host: Annotated[str, Host()] = Field(min_length=1, description="The host of the server")
    port: int = Field(default=25, ge=1, le=65535, description="Its port: 25, 587, or with TLS 465")
    sender: str = Field(alias="from", min_length=1, description="The address of the sender")
    to: NamesOption = Field(description="The recipients; `{column}` is the value of a column")
    subject: TemplateOption = Field(description="The subject; `{column}` is the value of a column")
    body: TemplateOption | None = Field(
        default=None,
        description="The text of a row; `{column}` is the value of a column; default: one line per column",
    )
    batch: int | None = Field(
        default=None, ge=1, description="The maximum number of rows per mail; default: one row"
    )
    rate_limit: int | None = Field(
        default=None, ge=1, description="The maximum number of mails per minute; default: no limit"
    )
    user: str | None = Field(default=None, min_length=1, description="The user name, if there is a login")
    password: SecretStr | None = Field(default=None, description="The password, such as `${SMTP_PASSWORD}`")
    security: Literal["auto", "none", "starttls", "tls"] = Field(
        default="auto",
        description="`tls` from the start; `starttls`; `none`; `auto`: `tls` on port 465, otherwise STARTTLS "
        "if the server offers it, which a login requires",
    )
    tls: TlsFiles | None = Field(default=None, description="Certificates for TLS")
    timeout: DurationOption = Field(default="30 seconds", description="How long to wait for an answer")
    retry_timeout: RetryTimeoutOption = "5 minutes"

    @field_validator("to")
    @classmethod
    def _check_recipients(cls, to: tuple[str, ...]) -> tuple[str, ...]:
        if not to:
            raise ValueError("expected at least one recipient")
        for address in to:
            template_columns(address)
        return to

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.user is not None and self.password is None:
            raise ValueError("a login needs `user` and `password`")
        return self

    @property
    def template_columns(self) -> tuple[str, ...]:
        """The columns whose values are in a mail."""
        texts = (*self.to, self.subject, self.body or "")
        return tuple(dict.fromkeys(name for text in texts for name in template_columns(text)))

    def writer(self) -> Writer:
        from headrace.connectors.smtp.sink import SmtpPublisher

        return MessageWriter(lambda context: SmtpPublisher(self, context))
