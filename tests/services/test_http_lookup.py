"""Lookups of rows by key in an HTTP service."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headrace import Pipeline, connect
from headrace.connectors.lookups import LookupContext
from headrace.devtools.ports import free_ports
from headrace.errors import HeadraceError, OptionError, PlanError, SourceError
from headrace.lookups.worker import LookupTask, WorkerLookup
from headrace.schemas.fields import Schema
from tests.support.examples_at_hand import json_rows
from tests.support.http_server import serving

CARDS: dict[str, dict[str, Any]] = {
    "4571": {"country": "FI", "limit": 2.5, "tags": ["x"]},
    "a/b c?": {"country": "SE"},
}
SCHEMA = "country string, limit double, tags array<string>"


class Cards:
    """A service of cards that records its requests."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.headers: dict[str, str] = {}
        self.failures = 0
        self.at_once = self.most_at_once = 0
        self.app = Starlette(
            routes=[Route("/cards/{card:path}", self.card), Route("/{status:int}/{card}", self.status)]
        )
        self.url = ""

    async def card(self, request: Request) -> Response:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.01)
        self.at_once -= 1
        card = request.scope["raw_path"].decode().removeprefix("/cards/")
        self.requests[card] += 1
        self.headers = dict(request.headers)
        if self.requests[card] <= self.failures:
            return Response(status_code=503)
        row = {"a%2Fb%20c%3F": CARDS["a/b c?"], "4571": CARDS["4571"]}.get(card)
        return Response(status_code=404) if row is None else JSONResponse(row)

    async def status(self, request: Request) -> Response:
        bodies = {
            "several": '{"data": [{"country": "FI"}, {"country": "NO"}]}',
            "text": "<html>",
            "empty": "",
        }
        return Response(bodies[request.path_params["card"]], request.path_params["status"])

    def find(self, *keys: str, concurrency: int = 8, **options: Any) -> list[Any]:
        """Look up keys as a worker does."""
        table = connect.http(**{"url": f"{self.url}/cards/{{card}}", **options})
        context = LookupContext("home", ("card",), Schema.of(SCHEMA), concurrency)
        worker = WorkerLookup(LookupTask("task", "home", 1, table.key_table(context), 0, 0.0))
        try:
            return worker.find([(key,) for key in keys])
        finally:
            worker.close()


@pytest.fixture
def cards() -> Iterator[Cards]:
    cards = Cards()
    with serving(cards.app) as cards.url:
        yield cards


def test_rows_of_a_service_are_added_and_a_missing_one_is_a_dead_letter(
    spark: SparkSession, cards: Cards, tmp_path: Path
) -> None:
    rows = [{"card": "4571"}, {"card": "a/b c?"}, {"card": "9"}, {"card": "4571"}, {"card": None}]
    document = f"""
name: homes
sources:
  tx: {{memory: {{rows: {json.dumps(rows)}}}, schema: card string}}
steps:
  home:
    from: tx
    lookup: {{http: {{url: "{cards.url}/cards/{{card}}"}}, schema: "{SCHEMA}", on: card, load: key, on_miss: dead_letter}}
sinks:
  out: {{from: home, files: {{path: {tmp_path}/out, format: json}}}}
  unknown: {{from: home.dead_letters, files: {{path: {tmp_path}/unknown, format: json}}}}
"""
    Pipeline.from_yaml_text(document).run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    out, unknown = (
        sorted(json_rows(*(tmp_path / name).glob("*.json")), key=lambda row: str(row["card"]))
        for name in ("out", "unknown")
    )
    assert out == [
        {"card": "4571", **CARDS["4571"]},
        {"card": "4571", **CARDS["4571"]},
        {"card": "a/b c?", "country": "SE", "limit": None, "tags": None},
    ]
    assert [row["card"] for row in unknown] == ["9", None]
    assert cards.requests["4571"] == 1


def test_requests_run_concurrently_up_to_the_limit(cards: Cards) -> None:
    cards.find(*map(str, range(40)), concurrency=4)
    assert cards.most_at_once == 4
    assert cards.requests.total() == 40


def test_failed_request_is_repeated_alone(cards: Cards) -> None:
    cards.failures = 1
    assert cards.find("4571", "9") == [[("FI", "2.5", '["x"]')], []]
    assert set(cards.requests.values()) == {2}


def test_headers_and_token_are_sent(cards: Cards) -> None:
    cards.find("4571", token="t0p", headers={"X-Team": "risk"})
    assert (cards.headers["authorization"], cards.headers["x-team"]) == ("Bearer t0p", "risk")


def test_several_rows_of_a_field_and_empty_answers(cards: Cards) -> None:
    url = f"{cards.url}/200/{{card}}"
    assert cards.find("several", url=url, items="data") == [[("FI", None, None), ("NO", None, None)]]
    assert cards.find("empty", url=url) == [[]]
    assert cards.find("empty", url=f"{cards.url}/204/{{card}}") == [[]]


@pytest.mark.parametrize(
    ("key", "options", "what"),
    [
        ("text", {"url": "{}/403/{{card}}"}, "/403/text answers 403 Forbidden"),
        ("text", {"url": "{}/200/{{card}}"}, "/200/text: the body: expected a JSON object"),
        ("several", {"url": "{}/200/{{card}}", "items": "rows"}, "the answer has no field `rows`"),
        ("text", {"url": "{}/503/{{card}}", "retry_timeout": "0 seconds"}, "/503/text answers 503 Service"),
        ("1", {"url": "http://127.0.0.1:{port}/{{card}}", "retry_timeout": "0 seconds"}, "does not answer: "),
    ],
)
def test_errors_name_the_address_and_the_step(
    cards: Cards, key: str, options: dict[str, Any], what: str
) -> None:
    url = options["url"].format(cards.url, port=free_ports(1)[0])
    with pytest.raises(RuntimeError) as failed:
        cards.find(key, **{**options, "url": url})
    assert what in str(failed.value)
    assert '["home", ' in str(failed.value)


def test_address_without_the_key_or_with_another_column_is_an_error() -> None:
    context = LookupContext("home", ("card",), Schema.of(SCHEMA))
    with pytest.raises(
        SourceError, match=r"no key column\n  hint: write the key into it, such as http://h/c/\{card\}"
    ):
        connect.http(url="http://h/c/").key_table(context)
    with pytest.raises(SourceError, match=r"unknown key column `crad` .*\n  hint: did you mean `card`"):
        connect.http(url="http://h/{crad}").key_table(context)


def test_options_of_sources_and_of_lookups_are_kept_apart() -> None:
    with pytest.raises(OptionError, match=r"expected `listen`, to receive requests, `poll`, .* or `url`"):
        connect.http(url="http://h/{card}", poll="http://h/")
    with pytest.raises(OptionError, match="`every` applies only with `poll`"):
        connect.http(url="http://h/{card}", every="1 second")
    with pytest.raises(OptionError, match="`items` applies only with `poll` or `url`"):
        connect.http(listen="127.0.0.1:8080", items="a")
    rows = Pipeline("p").read("tx", connect.memory(), schema="card string")
    with pytest.raises(OptionError, match="`poll` is an option of sources, not of lookup tables"):
        rows.lookup("home", connect.http(poll="http://h/"), on="card", load="key", schema=SCHEMA)
    lookups = Pipeline("q")
    with pytest.raises(HeadraceError, match="`url` is an option of lookup tables, not of sources"):
        lookups.read("tx", connect.http(url="http://h/{card}"), schema="card string")


def test_whole_table_cannot_be_loaded() -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("tx", connect.memory(), schema="card string")
    rows.lookup("home", connect.http(url="http://h/{card}"), on="card", schema=SCHEMA)
    with pytest.raises(PlanError, match='a table of http cannot be held whole\n  hint: set load="key"'):
        pipeline.check()
