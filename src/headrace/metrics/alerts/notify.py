"""Channels that notify: console, webhook and e-mail."""

from __future__ import annotations

import logging
import smtplib
import ssl
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any, Protocol

from headrace.errors import without_passwords
from headrace.metrics.alerts.rules import Channels, Email, Webhook
from headrace.metrics.alerts.store import Alert

_log = logging.getLogger("headrace.alerts")


@dataclass(frozen=True)
class Notification:
    """The alerts of one job that fire or are resolved."""

    job: str
    name: str
    alerts: tuple[Alert, ...]

    @property
    def title(self) -> str:
        """One line: the job and its alerts."""
        states = [f"{alert.rule} {alert.state}" for alert in self.alerts]
        return f"[headrace] {self.name}: {', '.join(states)}"

    @property
    def text(self) -> str:
        """One line per alert."""
        return "\n".join(f"{alert.state}: {alert.rule}: {alert.message}" for alert in self.alerts)

    def as_json(self) -> dict[str, Any]:
        """Return the body of a webhook."""
        firing = any(alert.state == "firing" for alert in self.alerts)
        return {
            "job": self.job,
            "name": self.name,
            "state": "firing" if firing else "resolved",
            "alerts": [alert.as_json() for alert in self.alerts],
        }


class Notifier(Protocol):
    """Sends notifications."""

    def send(self, notification: Notification) -> None:
        """Send a notification; a failure is logged, not raised."""
        ...


class ConsoleNotifier:
    """Prints notifications on standard error."""

    def send(self, notification: Notification) -> None:
        sys.stderr.write(f"{notification.title}\n{notification.text}\n")
        sys.stderr.flush()


class BackgroundNotifier:
    """Sends in a thread, so that a slow server does not delay the evaluation; retries twice."""

    ATTEMPTS = 3

    def __init__(self, place: str, deliver: Callable[[Notification], None]) -> None:
        self._place = place
        self._deliver = deliver
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="alerts")

    def send(self, notification: Notification) -> None:
        self._executor.submit(self._send, notification)

    def _send(self, notification: Notification) -> None:
        for attempt in range(1, self.ATTEMPTS + 1):
            try:
                self._deliver(notification)
            except Exception as error:
                if attempt == self.ATTEMPTS:
                    reason = without_passwords(str(error))
                    _log.error("an alert cannot be sent to %s: %s", self._place, reason)
            else:
                return


def notifiers_of(channels: Channels) -> list[Notifier]:
    """Return the notifiers of the configured channels."""
    notifiers: list[Notifier] = [ConsoleNotifier()] if channels.console else []
    if (webhook := channels.webhook) is not None:
        notifiers.append(BackgroundNotifier("the webhook", lambda sent: post(webhook, sent)))
    if (email := channels.email) is not None:
        notifiers.append(BackgroundNotifier(email.host, lambda sent: send_mail(email, sent)))
    return notifiers


def post(webhook: Webhook, notification: Notification) -> None:
    """Post a notification to a webhook."""
    import httpx

    httpx.post(webhook.url, json=notification.as_json(), timeout=webhook.timeout).raise_for_status()


def send_mail(email: Email, notification: Notification) -> None:
    """Send a notification by e-mail."""
    message = EmailMessage()
    message["Subject"] = " ".join(notification.title.split())
    message["From"], message["To"] = email.sender, ", ".join(email.to)
    message.set_content(notification.text)
    with smtplib.SMTP(email.host, email.port, timeout=30) as server:
        if email.tls:
            server.starttls(context=ssl.create_default_context())  # the default verifies nothing
        if email.user is not None:
            server.login(email.user, email.password or "")
        server.send_message(message)
