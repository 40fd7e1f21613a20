"""Notifications to a real SMTP server and a real webhook."""

from __future__ import annotations

import json
import queue
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from headrace.devtools.ports import free_ports
from headrace.metrics.alerts.notify import ConsoleNotifier, Notification, notifiers_of, send_mail
from headrace.metrics.alerts.rules import Channels, Email, Webhook
from headrace.metrics.alerts.store import Alert
from tests.support.certificates import create_certificate
from tests.support.http_server import serving

ALERT = Alert("1", "j1", "lag", "firing", 150.0, "150 records are not read", 0.0)
NOTIFICATION = Notification("j1", "fraud", (ALERT,))
WAIT = 60


class Mailbox:
    """Keeps the mails that the server receives."""

    def __init__(self) -> None:
        self.mails: queue.Queue[Any] = queue.Queue()

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        self.mails.put(envelope)
        return "250 OK"


@pytest.fixture
def mailbox() -> Iterator[tuple[Mailbox, int]]:
    mailbox, port = Mailbox(), free_ports(1)[0]
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    yield mailbox, port
    controller.stop()


def test_an_alert_is_mailed(mailbox: tuple[Mailbox, int]) -> None:
    box, port = mailbox
    email = Email(host="127.0.0.1", port=port, sender="jobs@example.org", to=["ada@example.org"])
    [notifier] = notifiers_of(Channels(console=False, email=email))
    notifier.send(NOTIFICATION)
    mail = box.mails.get(timeout=WAIT)
    assert mail.rcpt_tos == ["ada@example.org"]
    text = mail.content.decode()
    assert "Subject: [headrace] fraud: lag firing" in text
    assert "150 records are not read" in text


def test_an_alert_is_posted() -> None:
    bodies: queue.Queue[Any] = queue.Queue()

    async def receive_alert(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            bodies.put(json.loads((await receive())["body"]))
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

    with serving(receive_alert) as url:
        [notifier] = notifiers_of(Channels(console=False, webhook=Webhook(url=f"{url}/alerts")))
        notifier.send(NOTIFICATION)
        body = bodies.get(timeout=WAIT)
    assert (body["name"], body["state"], body["alerts"][0]["rule"]) == ("fraud", "firing", "lag")


def test_a_server_that_is_away_is_logged_without_the_address(caplog: pytest.LogCaptureFixture) -> None:
    webhook = Webhook(url=f"http://127.0.0.1:{free_ports(1)[0]}/secret-path")
    [notifier] = notifiers_of(Channels(console=False, webhook=webhook))
    notifier.send(NOTIFICATION)
    notifier._executor.shutdown(wait=True)  # type: ignore[attr-defined]
    assert "cannot be sent to the webhook" in caplog.text
    assert "secret-path" not in caplog.text


def test_an_alert_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    ConsoleNotifier().send(NOTIFICATION)
    assert "fraud: lag firing\nfiring: lag: 150 records" in capsys.readouterr().err


def test_a_mail_server_with_an_unknown_certificate_gets_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = create_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    mailbox, port = Mailbox(), free_ports(1)[0]
    controller = Controller(
        mailbox, hostname="127.0.0.1", port=port, tls_context=context, require_starttls=True
    )
    email = Email.model_validate(
        {
            "host": "127.0.0.1",
            "port": port,
            "from": "jobs@example.org",
            "to": ["ada@example.org"],
            "tls": True,
        }
    )
    controller.start()
    try:
        with pytest.raises(ssl.SSLCertVerificationError):
            send_mail(email, NOTIFICATION)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        send_mail(email, NOTIFICATION)
        assert mailbox.mails.get(timeout=WAIT).rcpt_tos == ["ada@example.org"]
    finally:
        controller.stop()
