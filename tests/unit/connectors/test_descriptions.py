"""Descriptions of connectors in `explain`, on the graph and in errors."""

from __future__ import annotations

from headrace import connect
from headrace.steps.endpoints.describe import describe_connector


def test_mapping_is_described_by_its_names() -> None:
    source = connect.generator(rate=5, columns={"k": {"choice": ["a", "b"]}, "n": "sequence"})
    assert describe_connector(source) == "generator rate=5.0 columns={k, n}"


def test_rows_in_memory_are_counted() -> None:
    assert describe_connector(connect.memory(rows=[{"k": "a"}, {"k": "b"}])) == "memory rows=2"


def test_list_is_described_by_its_values() -> None:
    sink = connect.sqlite(path="out.db", table="totals", key=["card", "window"])
    assert describe_connector(sink) == "sqlite path=out.db table=totals key=card,window"
