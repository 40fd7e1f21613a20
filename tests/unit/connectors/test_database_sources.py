"""Databases as sources, without a server: options, plans, documents, and the arithmetic of offsets."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace import Pipeline, connect
from headrace.connectors.base import Connector
from headrace.connectors.postgres_cdc.pgoutput import UNCHANGED, Change, Decoder
from headrace.connectors.postgres_cdc.slot_record import SlotRecord
from headrace.connectors.sql.cursor import CursorSplit, CursorTable, SafeHighWatermark
from headrace.connectors.sql.cursor_enumerator import CursorEnumerator
from headrace.errors import DocumentError, OptionError, PlanError
from headrace.explain.explanation import explain

URL = "postgresql://ada:secret@db/shop"
CHANGES = connect.postgres_cdc(url=URL, table="orders")


def reading(source: Connector, **options: Any) -> Pipeline:
    pipeline = Pipeline("p")
    pipeline.read("rows", source, schema="id bigint", **options).write(
        "box", connect.sqlite(path="o.db", table="o")
    )
    return pipeline


@pytest.mark.parametrize(
    "table",
    [
        connect.postgres(url=URL, table="orders"),
        connect.mysql(url="mysql://ada:secret@db/shop", table="orders"),
        connect.sqlite(path="shop.db", table="orders"),
    ],
)
def test_table_without_a_cursor_column_is_no_stream(table: Connector) -> None:
    with pytest.raises(PlanError) as caught:
        reading(table).check()
    text = f"a {table.kind} table cannot be read as a stream without a cursor column"
    assert text in str(caught.value)
    assert 'hint: name a column that increases with every row: cursor="id"' in str(caught.value)


def test_guarantee_names_its_assumption() -> None:
    table = connect.postgres(url=URL, table="orders", cursor="id")
    [guarantee] = explain(reading(table)._plan()).sink_guarantees
    assert guarantee.guarantee == "exactly_once"
    assert guarantee.because.endswith(
        "provided that rows of `orders` are only added, each with a larger `id`, and never change"
    )
    [guarantee] = explain(reading(CHANGES)._plan()).sink_guarantees
    assert guarantee.guarantee == "exactly_once"
    assert "provided" not in guarantee.because


def test_a_slot_has_one_reader_and_other_queries_read_its_log() -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("rows", CHANGES, schema="id bigint, name string")
    rows.key_by("id").latest("by_id").write("a", connect.memory())
    rows.key_by("name").latest("by_name").write("b", connect.memory())
    queries = explain(pipeline._plan()).queries
    assert [query.name for query in queries if "rows" in query.sources] == ["rows"]
    assert [len(query.reads) for query in queries] == [0, 1, 1]
    table = connect.postgres(url=URL, table="orders", cursor="id")
    both = Pipeline("q")
    rows = both.read("rows", table, schema="id bigint, name string")
    rows.key_by("id").aggregate("by_id", n="count(*)").write("a", connect.memory())
    rows.key_by("name").aggregate("by_name", n="count(*)").write("b", connect.memory())
    assert [query.reads for query in explain(both._plan()).queries] == [(), ()]


def test_columns_that_changes_bring_are_known() -> None:
    source = connect.postgres_cdc(url=URL, table="orders", before="old")
    pipeline = Pipeline("p")
    rows = pipeline.read("rows", source, schema="id bigint")
    rows.where("change.op = 'delete' and old.id > 1").write("box", connect.memory())
    pipeline.check()
    clash = Pipeline("p")
    clash.read("rows", CHANGES, schema="id bigint, change string").write("box", connect.memory())
    with pytest.raises(PlanError, match="two columns are called `change`"):
        clash.check()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "mysql://a@b/c"}, r"postgresql://user:password@host:port/database"),
        ({"slot": "Big-Name"}, r"slot: .*pattern"),
        ({"snapshot": "maybe"}, r"snapshot: .*'first' or 'never'"),
        ({"tabel": "orders"}, r"did you mean `table`"),
    ],
)
def test_wrong_options_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        connect.postgres_cdc(**{"url": URL, "table": "orders", **options})


DOCUMENT = """
name: copies
sources:
  orders:
    postgres_cdc: {url: "postgresql://a:b@db/shop", table: orders}
    schema: id bigint, name string
  visits:
    mysql: {url: "mysql://a:b@db/shop", table: visits, cursor: id, every: 5 seconds, delay: 2 seconds}
    schema: id bigint
sinks:
  copy: {from: orders, postgres: {url: "postgresql://a:b@other/shop", table: orders, key: [id]}}
  log: {from: visits, sqlite: {path: visits.db, table: visits}}
"""


def test_documents_name_the_same_sources(tmp_path: Path) -> None:
    def load(text: str) -> Pipeline:
        (tmp_path / "copies.yaml").write_text(text)
        return Pipeline.from_yaml(tmp_path / "copies.yaml")

    graph = load(DOCUMENT)._plan()
    assert graph["visits"].connector == connect.mysql(  # type: ignore[attr-defined]
        url="mysql://a:b@db/shop", table="visits", cursor="id", every="5 seconds", delay="2 seconds"
    )
    with pytest.raises(DocumentError, match=r"5:\d+: .*\n  hint: did you mean `snapshot`"):
        load(DOCUMENT.replace("table: orders}\n    schema", "table: orders, snapshoot: never}\n    schema"))
    with pytest.raises(
        (DocumentError, PlanError),
        match=r"copies.yaml:7:3: `visits`: a mysql table cannot be read as a stream",
    ):
        load(DOCUMENT.replace("cursor: id, ", "")).check()


def test_high_watermark_without_delay_is_the_largest_value() -> None:
    watermark = SafeHighWatermark(delay=0)
    values = [watermark.advance(0, None), watermark.advance(1, "5"), watermark.advance(2, None)]
    assert values == [None, "5", "5"]


def test_age_of_a_value_counts_from_when_it_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server answers more slowly than the delay.

    Rows below the value still get the whole delay to become visible.
    """
    clock, takes = [0.0], [10.0, 0.0, 3.0]
    monkeypatch.setattr("headrace.connectors.sql.cursor_enumerator.time.monotonic", lambda: clock[0])

    class SlowTable(CursorTable):
        def highest(self, session: Any) -> str:
            clock[0] += takes.pop(0)
            return "8"

        def end(self, session: Any, start: Any, high_watermark: str, max_rows: int | None) -> str:
            return high_watermark

    table = SlowTable(SimpleNamespace(connect=object), "t", "id", "bigint", {"id": "bigint"})  # type: ignore[arg-type]
    options = connect.sqlite(path="x.db", table="t", cursor="id", every="0 seconds", delay="3 seconds")
    enumerator = CursorEnumerator("rows", table, options)
    assert [enumerator.latest({"after": None})["after"] for _ in range(3)] == [None, None, "8"]


def test_a_range_is_split_without_a_gap() -> None:
    table = CursorTable(None, "t", "id", "bigint", {"id": "bigint"})  # type: ignore[arg-type]
    splits = table.splits({"after": "10"}, "20", 3)
    assert splits == [
        CursorSplit({"after": "10"}, "13", 0),
        CursorSplit({"after": "13"}, "16", 1),
        CursorSplit({"after": "16"}, "20", 2),
    ]
    assert table.splits({"after": None}, "20", 3) == [CursorSplit({"after": None}, "20")]
    assert table.splits({"from": "2026-01-01"}, "2026-02-01", 3) == [
        CursorSplit({"from": "2026-01-01"}, "2026-02-01")
    ]
    assert len(table.splits({"after": "19"}, "20", 3)) == 1


def test_the_record_of_a_slot_survives(tmp_path: Any) -> None:
    assert not SlotRecord.read(tmp_path / "new").complete
    SlotRecord.read(tmp_path).update(slot="s").update(complete=True, begins=7, parts=2)
    assert SlotRecord.read(tmp_path) == SlotRecord(tmp_path, "s", True, 7, 2)


def test_messages_of_the_server_become_changes() -> None:
    def texts(*values: str | None) -> bytes:
        parts = [
            b"n" if v is None else b"u" if v == "?" else b"t" + struct.pack(">I", len(v)) + v.encode()
            for v in values
        ]
        return struct.pack(">H", len(values)) + b"".join(parts)

    def relation(number: int, name: bytes) -> bytes:
        columns = b"".join(
            bytes([key]) + column + b"\0" + struct.pack(">Ii", 20, -1)
            for key, column in ((1, b"id"), (0, b"n"))
        )
        return b"R" + struct.pack(">I", number) + b"public\0" + name + b"\0d" + struct.pack(">H", 2) + columns

    def about(kind: bytes, number: int, rest: bytes) -> bytes:
        return kind + struct.pack(">I", number) + rest

    messages = [
        b"B" + struct.pack(">QqI", 1, 2, 3),
        relation(5, b"orders"),
        relation(6, b"other"),
        about(b"I", 5, b"N" + texts("1", "a")),
        about(b"I", 6, b"N" + texts("9", "a")),
        about(b"U", 5, b"K" + texts("1", None) + b"N" + texts("2", "?")),
        about(b"D", 5, b"K" + texts("2", None)),
        about(b"D", 5, b"O" + texts("3", "b")),
        b"T" + struct.pack(">IBII", 2, 0, 5, 6),
        b"C" + struct.pack(">BQQq", 0, 10, 11, 12),
    ]
    [transaction] = Decoder(("public", "orders")).transactions(messages)
    assert (transaction.end, transaction.at) == (11, 946_684_800_000_012)
    assert transaction.changes == (
        Change("insert", {"id": "1", "n": "a"}),
        Change("update", {"id": "2", "n": UNCHANGED}, {"id": "1"}),
        Change("delete", {"id": "2", "n": None}, {"id": "2"}),
        Change("delete", {"id": "3", "n": "b"}, {"id": "3", "n": "b"}),
        Change("truncate", {}),
    )


def test_retry_timeout_reaches_the_cursor_source() -> None:
    server = connect.postgres(url=URL, table="t", cursor="id", retry_timeout="5 seconds")
    file = connect.sqlite(path="x.db", table="t", cursor="id")
    assert (server.retry_seconds, file.retry_seconds) == (5.0, 0.0)
