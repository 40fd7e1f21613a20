"""The examples that end in files: both twins give the expected rows, and so does Spark as a batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from examples_at_hand import Example, in_any_order, json_rows, rows_of

from headrace.connectors.files import Files
from headrace.engine.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("base_stations", "card_patterns", "driver_hours", "ip_traffic", "page_views", "stocks")


def results() -> list[dict[str, Any]]:
    """What is in `out`, or in its directories where there are several sinks."""
    return json_rows(*Path("out").glob("*.json"), *Path("out").glob("[!._]*/*.json"))


@pytest.mark.parametrize("language", ["py", "yaml"])
@pytest.mark.parametrize("name", NAMES)
def test_twin_gives_the_expected_rows(
    name: str, language: str, example: Callable[[str], Example], spark: SparkSession
) -> None:
    example(name).run(language)
    assert in_any_order(results()) == in_any_order(json_rows(Path("expected.jsonl")))


@pytest.mark.parametrize("name", NAMES)
def test_batch_gives_the_same_rows_as_the_stream(
    name: str, example: Callable[[str], Example], spark: SparkSession
) -> None:
    graph = example(name).pipeline("yaml").check()
    files = [sink for sink in graph.sinks if isinstance(sink.connector, Files)]
    rows = [row for sink in files for row in rows_of(frame_of(graph, sink.input, how="batch"))]
    assert in_any_order(rows) == in_any_order(json_rows(Path("expected.jsonl")))
