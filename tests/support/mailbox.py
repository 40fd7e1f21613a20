"""A real SMTP server on a free port, which keeps what it receives."""

from __future__ import annotations

import email
import email.policy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller

from headrace.devtools.ports import free_ports


class Mailbox:
    """The mails of a server; `answers` are given to the next mails or recipients instead of `250 OK`."""

    def __init__(self) -> None:
        self.port = free_ports(1)[0]
        self.mails: list[EmailMessage] = []
        self.recipients: list[list[str]] = []
        self.refused_mails: list[str] = []
        self.refused_recipients: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        self._controller: Controller | None = None
        self._options: dict[str, Any] = {}

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, to: str, options: Any) -> str:  # noqa: N802
        if self.refused_recipients.get(to):
            return self.refused_recipients[to].pop(0)
        envelope.rcpt_tos.append(to)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        with self._lock:
            if self.refused_mails:
                return self.refused_mails.pop(0)
            message = email.message_from_bytes(envelope.content, policy=email.policy.default)
            assert isinstance(message, EmailMessage)
            self.mails.append(message)
            self.recipients.append(envelope.rcpt_tos)
        return "250 OK"

    def start(self, **options: Any) -> None:
        """Listen, again on the same port after a stop."""
        self._options = options or self._options
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port, **self._options)
        self._controller.start()

    def stop(self) -> None:
        """End the server and its connections."""
        if self._controller is not None:
            self._controller.stop()
        self._controller = None

    def texts(self) -> list[str]:
        """Return the bodies of all mails."""
        return [message.get_content().replace("\r\n", "\n").strip() for message in self.mails]


@contextmanager
def mailbox(**options: Any) -> Iterator[Mailbox]:
    """Serve inside the block."""
    box = Mailbox()
    box.start(**options)
    try:
        yield box
    finally:
        box.stop()
