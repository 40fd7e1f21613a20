"""The examples that end in files give the expected rows, as a stream and as a batch.

The twins of an example are the same plan (`test_every_example.py`), so one of them runs.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.examples_at_hand import LANGUAGES, Example, in_any_order, json_rows, rows_of

from headrace.connectors.files import Files
from headrace.lowering.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = (
    "ad_attribution",
    "auctions",
    "base_stations",
    "building_sensors",
    "card_patterns",
    "currency_conversion",
    "driver_hours",
    "fraud_learning",
    "ip_traffic",
    "meters",
    "model_scoring",
    "page_views",
    "stocks",
)


def results() -> list[dict[str, Any]]:
    """Return the rows in `out`, or in its subdirectories if there are several sinks."""
    return json_rows(*Path("out").glob("*.json"), *Path("out").glob("[!._]*/*.json"))


@pytest.mark.parametrize(("name", "language"), list(zip(NAMES, cycle(LANGUAGES), strict=False)))
def test_stream_gives_the_expected_rows(
    name: str, language: str, example: Callable[[str], Example], spark: SparkSession
) -> None:
    example(name).run(language)
    assert in_any_order(results()) == in_any_order(json_rows(Path("expected.jsonl")))


@pytest.mark.parametrize("name", NAMES)
def test_batch_gives_the_same_rows_as_the_stream(
    name: str, example: Callable[[str], Example], spark: SparkSession
) -> None:
    graph = example(name).pipeline("yaml")._plan()
    files = [sink for sink in graph.sinks if isinstance(sink.connector, Files)]
    rows = [row for sink in files for row in rows_of(frame_of(graph, sink.input, how="batch"))]
    assert in_any_order(rows) == in_any_order(json_rows(Path("expected.jsonl")))
