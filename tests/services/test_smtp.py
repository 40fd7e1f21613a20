"""Mails to a real SMTP server: templates, batches, rate limit, TLS, login, retries; nothing is lost."""

from __future__ import annotations

import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import AuthResult
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.base import WriteContext
from headrace.connectors.smtp import Smtp
from headrace.connectors.smtp.sink import RateLimit, SmtpPublisher
from headrace.errors import DeliveryError
from headrace.testing import delivery
from tests.support.certificates import create_certificate
from tests.support.mailbox import Mailbox, mailbox

CONTEXT = WriteContext("p", "mails", "c1", "append", "")
ROW = (["ada@example.org"], "full", "disk 1")


def options(box: Mailbox, **more: Any) -> Smtp:
    chosen = {"sender": "jobs@example.org", "to": ["ada@example.org"], "subject": "{rule} fired", **more}
    return connect.smtp(host="127.0.0.1", port=box.port, **chosen)


def publish(sink: Smtp, *rows: Any, epoch: int = 0, limit: RateLimit | None = None) -> None:
    publisher = SmtpPublisher(sink, CONTEXT, limit)
    publisher.open()
    publisher.publish(rows, epoch)
    publisher.close()


def test_rows_fill_the_templates_and_share_mails(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"rule": rule, "n": n, "owner": "ada@example.org"} for n, rule in enumerate(["ä", "ä", "b", "ä"])]
    with mailbox() as box:
        pipeline = Pipeline("alerts")
        source = pipeline.read("rows", connect.memory(rows=rows), schema="rule string, n int, owner string")
        source.write("mails", options(box, to=["{owner}"], body="value {n}", batch=2))
        source.write("single", options(box, subject="row"))
        pipeline.run(until="caught_up", checkpoint=tmp_path)
        subjects = set(zip((mail["subject"] for mail in box.mails), box.texts(), strict=True))
        assert {mail["from"] for mail in box.mails} == {"jobs@example.org"}
    together = {("ä fired", "value 0\n\nvalue 1"), ("b fired", "value 2"), ("ä fired", "value 3")}
    lines = {f"rule: {row['rule']}\nn: {row['n']}\nowner: ada@example.org" for row in rows}
    assert subjects == together | {("row", text) for text in lines}


def test_mail_that_is_sent_again_has_the_same_id() -> None:
    with mailbox() as box:
        for epoch in (0, 0, 1):
            publish(options(box), ROW, ROW, epoch=epoch)
        ids = [mail["message-id"] for mail in box.mails]
    assert ids[:2] == ids[2:4]
    assert len(set(ids)) == 4


def test_mail_refused_for_the_time_being_is_sent_later_to_the_recipients_that_miss_it() -> None:
    with mailbox() as box:
        box.refused_mails.append("451 busy")
        box.refused_recipients["bob@example.org"] = ["450 grey", "450 grey"]
        publish(options(box), (["ada@example.org", "bob@example.org"], "full", "x"))
        assert box.recipients == [["ada@example.org"], ["bob@example.org"]]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ((["no@example.org"], "s", "b"), r"refuses the recipient `no@example.org`: 550 unknown"),
        ((["a@b, c@d"], "s", "b"), r"`a@b, c@d` is no address"),
        ((["a@b\nBcc: c@d"], "s", "b"), r"is no address"),
    ],
)
def test_recipient_refused_for_good_fails_the_run(row: Any, reason: str) -> None:
    with mailbox() as box:
        box.refused_recipients["no@example.org"] = ["550 unknown"]
        with pytest.raises(DeliveryError, match=rf"^mails: (.|\n)*{reason}"):
            publish(options(box), row)
        assert box.mails == []


def test_line_break_in_a_subject_begins_no_header() -> None:
    with mailbox() as box:
        publish(options(box), (["ada@example.org"], "full\r\nBcc: eve@example.org", "x"))
        assert box.mails[0]["subject"] == "full Bcc: eve@example.org"
        assert box.recipients == [["ada@example.org"]]


def test_rate_limit_waits_and_drops_nothing() -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    with mailbox() as box:
        publish(options(box), *[ROW] * 5, limit=RateLimit(2, lambda: now[0], sleep))
        assert len(box.mails) == 5
    assert now[0] == 120


def certificate(place: Path) -> tuple[ssl.SSLContext, Path]:
    ca, key = create_certificate(place)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(ca, key)
    return context, ca


def login(_: Any, __: Any, ___: Any, ____: Any, data: Any) -> AuthResult:
    return AuthResult(success=(data.login, data.password) == (b"ada", b"right"), handled=False)


def test_login_over_starttls(tmp_path: Path) -> None:
    context, ca = certificate(tmp_path)
    server = {"tls_context": context, "require_starttls": True, "authenticator": login, "auth_required": True}
    with mailbox(**server) as box:
        publish(options(box, user="ada", password="right", tls={"ca": str(ca)}), ROW)
        with pytest.raises(DeliveryError, match=r"mail server at 127\S+ refuses the login: .*invalid"):
            publish(options(box, user="ada", password="wrong", tls={"ca": str(ca)}), ROW)
        with pytest.raises(DeliveryError, match=r"does not answer: .*CERTIFICATE_VERIFY_FAILED"):
            publish(options(box, user="ada", password="right"), ROW)
        assert len(box.mails) == 1


def test_tls_from_the_start(tmp_path: Path) -> None:
    context, ca = certificate(tmp_path)
    with mailbox(ssl_context=context) as box:
        publish(options(box, security="tls", tls={"ca": str(ca)}), ROW)
        assert box.texts() == ["disk 1"]


def test_login_is_not_sent_in_the_clear() -> None:
    with mailbox(authenticator=login, auth_require_tls=False) as box:
        with pytest.raises(DeliveryError, match="offers no TLS"):
            publish(options(box, user="ada", password="right"), ROW)
        publish(options(box, user="ada", password="right", security="none"), ROW)
        assert len(box.mails) == 1


def test_errors_name_the_server() -> None:
    box = Mailbox()
    with pytest.raises(
        DeliveryError, match=rf"^mails: the mail server at 127.0.0.1:{box.port} does not answer"
    ):
        publish(options(box), ROW)


@pytest.mark.proof
def test_killed_runs_and_servers_lose_no_mail(spark: SparkSession) -> None:
    boxes: list[Mailbox] = []

    def target(_: str) -> delivery.Target:
        box = Mailbox()
        box.start()
        boxes.append(box)
        sink = options(box, subject="row", body="{id}")
        return delivery.Target(sink, lambda: [int(text) for text in box.texts()])

    def restart(_: delivery.Target) -> None:
        boxes[-1].stop()
        threading.Timer(0.5, boxes[-1].start).start()

    try:
        report = delivery.check_sink(spark, target, disturbances={"the server is restarted": restart})
    finally:
        for box in boxes:
            box.stop()
    assert report.lost == 0, str(report)
