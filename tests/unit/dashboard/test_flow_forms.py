"""The graph, the forms and the requests of the flow editor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from tests.dashboard.simulated import SimulatedFeed

from headrace.dashboard.editor.documents import check_document
from headrace.dashboard.editor.flow.fields import FormField
from headrace.dashboard.editor.flow.forms import EntryForm, form_of
from headrace.dashboard.editor.flow.operations import Add, apply
from headrace.dashboard.editor.flow.palette import palette
from headrace.dashboard.editor.starters import STARTERS
from headrace.dashboard.pages import add_pages

INVALID = """\
name: p
sources:
  tx:
    kafka: {topic: payments}
    format: json
    schema: card string, amount double, ts timestamp
    event_time: {column: ts, out_of_order: soon}
steps:
  big:
    from: tx
    where:
  totals:
    from: big
    key_by: crad
    window: {tumbling: 10 minutes}
    aggregate: {n: count(*)}
  split: {from: tx, route: {low: amount < 1, rest: true}}
  joined: {from: tx, join: {with: big}}
sinks:
  late: {from: totals.late, console: {}}
"""


def form(text: str, name: str) -> EntryForm:
    return form_of(text, name, check_document(text).problems)


def all_fields(fields: tuple[FormField, ...]) -> Iterator[FormField]:
    for field in fields:
        yield field
        yield from all_fields((*field.fields, *field.more))


def faults(shown: EntryForm) -> dict[str, list[str]]:
    """Return the problems of each field by its path below the entry."""
    fields = all_fields((*shown.fields, *shown.more))
    return {
        ".".join(map(str, field.path[2:])): [problem["what"] for problem in field.problems]
        for field in fields
        if field.problems
    }


def test_invalid_document_has_all_its_nodes_and_edges() -> None:
    flow = check_document(INVALID).flow
    assert flow is not None
    nodes = {node["id"]: node for node in flow["nodes"]}
    assert nodes["tx"]["verb"] == "kafka"
    assert (nodes["totals"]["verb"], nodes["totals"]["outputs"]) == ("window", ["", "late"])
    assert nodes["split"]["outputs"] == ["low", "rest"]
    assert nodes["joined"]["inputs"] == ["from", "with"]
    assert [node["problems"] for node in flow["nodes"]] == [2, 1, 0, 0, 1, 0]
    assert [edge["id"] for edge in flow["edges"]] == [
        "tx>big.from",
        "big>totals.from",
        "tx>split.from",
        "tx>joined.from",
        "big>joined.with",
        "totals.late>late.from",
    ]


@pytest.mark.parametrize("starter", STARTERS, ids=lambda starter: starter.title)
def test_valid_document_has_the_facts_of_its_plan(starter: Any) -> None:
    checked = check_document(starter.text)
    assert (checked.problems, checked.flow is not None) == ((), True)
    assert checked.flow is not None
    assert all(node["tier"] and node["about"] for node in checked.flow["nodes"])
    assert len(checked.flow["edges"]) >= len(checked.flow["nodes"]) - 1


def test_text_that_is_not_yaml_has_no_flow() -> None:
    assert check_document("name: [").flow is None
    assert check_document("").flow == {"nodes": [], "edges": []}


def test_problems_are_at_their_fields() -> None:
    assert list(faults(form(INVALID, "tx"))) == ["kafka.servers", "event_time.out_of_order"]
    assert faults(form(INVALID, "big")) == {"where": ["expected a condition in Spark SQL, got nothing"]}
    assert list(faults(form(INVALID, "joined"))) == ["join.on"]
    unknown = INVALID.replace("kafka: {topic: payments}", "memory: {}").replace(
        "    where:\n", "    where: true\n"
    )
    unknown = unknown.replace("out_of_order: soon", "out_of_order: 1 hour").replace(
        "  joined: {from: tx, join: {with: big}}\n", ""
    )
    assert faults(form(unknown, "totals")) == {"key_by": ["unknown key column `crad`"]}


def test_required_options_are_first_and_others_are_folded() -> None:
    shown = form(INVALID, "tx")
    assert [field.label for field in shown.fields] == ["servers", "topic", "format", "schema", "event_time"]
    assert shown.fields[0].about == "The bootstrap servers: host:port, several with commas"
    more = {field.label: field for field in shown.more}
    assert "topic_column" not in more  # an option of sinks
    assert more["tombstones"].words == ("error", "skip")
    assert more["tombstones"].placeholder == "default: error"


def test_widgets_follow_the_schema_and_the_value() -> None:
    fields = {field.label: field for field in all_fields(form(INVALID, "totals").fields)}
    assert (fields["from"].widget, fields["from"].value) == ("reference", "big")
    assert (fields["key_by"].widget, fields["key_by"].value) == ("lines", "crad")
    assert (fields["window"].value, "session" in fields["window"].words) == ("tumbling", True)
    assert (fields["size"].widget, fields["size"].value) == ("text", "10 minutes")
    assert (fields["aggregate"].widget, fields["aggregate"].value) == ("pairs", [("n", "count(*)")])
    more = {field.label: field for field in all_fields(form(INVALID, "totals").more)}
    assert (more["emit"].widget, more["mode"].widget, more["allow_loss"].widget) == ("group", "words", "flag")


@pytest.mark.parametrize("item", [item.id for item in palette()])
def test_every_item_has_a_form_with_all_its_problems(item: str) -> None:
    text = "name: p\nsources: {tx: {memory: {}, schema: a int}}\n"
    edited = apply(text, [Add(op="add", item=item, source="tx")])
    checked = check_document(edited.document)
    shown = form_of(edited.document, edited.name, checked.problems)
    placed = [what for problems in faults(shown).values() for what in problems]
    rest = [problem["what"] for problem in shown.problems]
    assert sorted(placed + rest) == sorted(problem["what"] for problem in checked.problems)
    assert len({field.id for field in all_fields((*shown.fields, *shown.more))}) == len(
        list(all_fields((*shown.fields, *shown.more)))
    )


def post(directory: Path, path: str, body: dict[str, Any]) -> httpx.Response:
    app = FastAPI()
    add_pages(app, SimulatedFeed(directory, {}))

    async def request() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.post(path, json=body)

    return asyncio.run(request())


def test_edit_returns_the_document_with_its_check(tmp_path: Path) -> None:
    operations = [{"op": "add", "item": "sources/memory"}]
    answer = post(tmp_path, "/ui/flow/edit", {"document": "name: p\n", "operations": operations}).json()
    assert answer["document"] == "name: p\nsources:\n  memory:\n    memory: {}\n    schema:\n"
    assert answer["name"] == "memory"
    assert answer["checked"]["problems"][0]["path"] == ["sources", "memory", "schema"]
    assert answer["checked"]["flow"]["nodes"][0]["problems"] == 1


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"document": "", "operations": [{"op": "remove", "name": "tx"}]}, "unknown entry `tx`"),
        (
            {"document": "name: [", "operations": [{"op": "remove", "name": "tx"}]},
            "expected the node content",
        ),
        ({"document": "", "operations": [{"op": "burn"}]}, "burn"),
        ({"document": "a" * (1 << 21), "operations": []}, "too_long"),
    ],
)
def test_edit_that_does_not_fit_is_refused(tmp_path: Path, body: dict[str, Any], detail: str) -> None:
    response = post(tmp_path, "/ui/flow/edit", body)
    assert response.status_code == 422
    assert detail in response.text


def test_form_is_a_fragment_without_scripts(tmp_path: Path) -> None:
    text = INVALID.replace("crad", "<script>")
    response = post(tmp_path, "/ui/flow/form?name=totals", {"document": text})
    assert response.status_code == 200
    assert "&lt;script&gt;" in response.text
    assert "<script" not in response.text
    assert "<option selected>big</option>" in response.text
    assert "<option>tx.dead_letters</option>" in response.text
    assert post(tmp_path, "/ui/flow/form?name=nothing", {"document": text}).status_code == 404
