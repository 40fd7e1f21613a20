"""The example of page views as a live site: views are posted, and each of the four consumers has its rows."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from examples.page_views.visitors import post
from pyspark.sql import SparkSession
from websockets.sync.client import connect as open_page

from headrace import Pipeline
from headrace.devtools.ports import free_ports
from tests.support.examples_at_hand import copy_of, json_rows
from tests.support.http_server import serving
from tests.support.mailbox import mailbox
from tests.support.waiting import wait_until

LAST = {"visitor": "Zoe", "page": "/", "status": 200, "ts": "2026-03-02T09:30:00Z"}


def test_four_consumers_have_their_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_of("page_views", tmp_path).directory)
    views, page = (f"127.0.0.1:{port}" for port in free_ports(2))
    alerts: list[Any] = []

    async def receive_alerts(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            alerts.extend(json.loads((await receive())["body"]))
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

    with serving(receive_alerts) as hook, mailbox() as box:
        settings = {"VIEWS": views, "PAGE": page, "ALERTS": hook, "SMTP_PORT": str(box.port)}
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        with Pipeline.from_yaml("live.yaml").start(checkpoint=tmp_path / "checkpoint") as run:
            with Path("events.jsonl").open("a") as events:
                events.write(json.dumps(LAST) + "\n")  # moves the watermark past all failed views
            assert post(f"http://{views}/views", Path("events.jsonl")) == 139
            options = json_rows(Path("events.jsonl"))
            failed = [view for view in options if view["status"] >= 500]
            lost = [row for row in json_rows(Path("expected.jsonl")) if "helped" not in row]
            wait_until(lambda: len(alerts) == len(failed), run)
            wait_until(lambda: sum(len(text.split("\n\n")) for text in box.texts()) == len(lost), run)
            counts: dict[str, int] = {}

            def is_counted() -> bool:
                with suppress(TimeoutError, OSError), open_page(f"ws://{page}/live") as client:
                    while sum(counts.values()) < 139:
                        row = json.loads(client.recv(1))
                        counts[row["page"]] = row["n"]
                return sum(counts.values()) == 139

            wait_until(is_counted, run)
            wait_until(lambda: _read_stored() == 139, run)
            run.stop()
    assert sorted(row["visitor"] for row in alerts) == sorted(view["visitor"] for view in failed)
    assert {mail["subject"] for mail in box.mails} == {
        f"{row['page']} failed, and the visitor gave up" for row in lost
    }


def _read_stored() -> int:
    with closing(sqlite3.connect("views.db")) as database:
        return int(database.execute("select count(*) from views").fetchone()[0])
