"""Sends the mails of an epoch, and waits until the server has accepted each of them."""

from __future__ import annotations

import smtplib
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import WriteContext
from headrace.connectors.network.tls import client_context
from headrace.connectors.options import seconds_of
from headrace.connectors.retry import retry, server_errors
from headrace.connectors.row_encoding import Fields
from headrace.connectors.smtp.mails import group_rows, mail_expressions
from headrace.errors import DeliveryError

if TYPE_CHECKING:
    from headrace.connectors.smtp import Smtp

_MINUTE = 60.0
_FINAL = (smtplib.SMTPNotSupportedError, ssl.SSLCertVerificationError)


class MailServer:
    """The server, and the meaning of its errors."""

    def __init__(self, options: Smtp) -> None:
        self._options = options

    @property
    def address(self) -> str:
        return f"{self._options.host}:{self._options.port}"

    def connect(self) -> smtplib.SMTP:
        """Open a connection, with TLS and login."""
        options, timeout = self._options, seconds_of(self._options.timeout)
        session: smtplib.SMTP
        if options.security == "tls" or (options.security == "auto" and options.port == 465):
            context = client_context(options.tls)
            session = smtplib.SMTP_SSL(options.host, options.port, timeout=timeout, context=context)
        else:
            session = smtplib.SMTP(options.host, options.port, timeout=timeout)
        try:
            self._secure(session)
        except BaseException:
            close(session)
            raise
        return session

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        if isinstance(error, smtplib.SMTPAuthenticationError):
            return f"refuses the login: {_text(error.smtp_error)}", "check `user` and `password`"
        if isinstance(error, smtplib.SMTPRecipientsRefused):
            (address, (code, reply)), *_ = error.recipients.items()
            return f"refuses the recipient `{address}`: {code} {_text(reply)}", "check `to`"
        if isinstance(error, smtplib.SMTPResponseException):
            return f"refuses the mail: {error.smtp_code} {_text(error.smtp_error)}", "check `from` and `to`"
        if isinstance(error, smtplib.SMTPNotSupportedError):
            return f"cannot be used: {error}", "check `security` and `user`"
        if isinstance(error, OSError):
            return f"does not answer: {error or type(error).__name__}", "is it running? The next run resumes"
        return None

    def is_unavailable(self, error: Exception) -> bool:
        if isinstance(error, smtplib.SMTPRecipientsRefused):
            return all(400 <= code < 500 for code, _ in error.recipients.values())
        if isinstance(error, smtplib.SMTPResponseException):
            return 400 <= error.smtp_code < 500
        return isinstance(error, OSError) and not isinstance(error, _FINAL)

    def _secure(self, session: smtplib.SMTP) -> None:
        options, encrypted = self._options, isinstance(session, smtplib.SMTP_SSL)
        session.ehlo_or_helo_if_needed()
        offered = options.security == "auto" and session.has_extn("starttls")
        if not encrypted and (options.security == "starttls" or offered):
            session.starttls(context=client_context(options.tls))
            encrypted = True
        if options.user is not None and options.password is not None:
            if not encrypted and options.security != "none":
                raise smtplib.SMTPNotSupportedError("it offers no TLS, without which a login is readable")
            session.login(options.user, options.password.get_secret_value())


def close(session: smtplib.SMTP) -> None:
    """End a session, which may be broken."""
    with suppress(OSError):  # smtplib's errors are of this class too
        session.quit()
    session.close()


class RateLimit:
    """At most `limit` actions per minute; `wait` blocks until the next one is allowed."""

    def __init__(
        self,
        limit: int | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock, self._sleep, self._limited = clock, sleep, limit is not None
        self._times: deque[float] = deque(maxlen=limit)

    def wait(self) -> None:
        """Wait until an action is allowed, and count it."""
        if not self._limited:
            return
        if len(self._times) == self._times.maxlen:
            self._sleep(max(self._times[0] + _MINUTE - self._clock(), 0))
        self._times.append(self._clock())


class SmtpPublisher:
    """Sends mails one after the other, over one connection per epoch."""

    def __init__(self, options: Smtp, context: WriteContext, rate_limit: RateLimit | None = None) -> None:
        self._options, self._context, self._server = options, context, MailServer(options)
        self._rate_limit = rate_limit or RateLimit(options.rate_limit)
        self._timeout = seconds_of(options.retry_timeout)
        self._session: smtplib.SMTP | None = None

    def expressions(self, fields: Fields) -> list[str]:
        return mail_expressions(self._options, fields, self._context.sink)

    def open(self) -> None:
        with self._errors():
            close(self._server.connect())

    def publish(self, messages: Iterable[tuple[Any, ...]], epoch: int) -> None:
        try:
            for number, mail in enumerate(group_rows(messages, self._options.batch or 1)):
                mail.check(self._context.sink)
                self._rate_limit.wait()
                self._deliver(mail.message(self._options.sender, self._context, epoch, number), mail.to)
        finally:
            self.close()  # servers end idle connections

    def close(self) -> None:
        if self._session is not None:
            close(self._session)
        self._session = None

    def _deliver(self, message: EmailMessage, to: tuple[str, ...]) -> None:
        """Send a mail to all its recipients; recipients that are refused temporarily are retried."""
        waiting = set(to)

        def send() -> None:
            if self._session is None:
                self._session = self._server.connect()
            refused = self._session.send_message(message, to_addrs=sorted(waiting))
            waiting.intersection_update(refused)
            if refused:
                raise smtplib.SMTPRecipientsRefused(refused)

        with self._errors():
            retry(self._server, self._timeout, send, self.close)

    def _errors(self) -> AbstractContextManager[None]:
        action = f"the mail server at {self._server.address} "
        return server_errors(self._server, DeliveryError, action, where=self._context.sink)


def _text(reply: bytes | str) -> str:
    return reply.decode(errors="replace") if isinstance(reply, bytes) else str(reply)
