"""The examples that end in files: both twins give the expected rows, and so does Spark as a batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from examples_at_hand import Example, in_any_order, json_rows, rows_of

from headrace.engine.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("base_stations", "ip_traffic", "stocks")


@pytest.mark.parametrize("language", ["py", "yaml"])
@pytest.mark.parametrize("name", NAMES)
def test_twin_gives_the_expected_rows(
    name: str, language: str, example: Callable[[str], Example], spark: SparkSession
) -> None:
    example(name).run(language)
    assert in_any_order(json_rows(*Path("out").glob("*.json"))) == in_any_order(
        json_rows(Path("expected.jsonl"))
    )


@pytest.mark.parametrize("name", NAMES)
def test_batch_gives_the_same_rows_as_the_stream(
    name: str, example: Callable[[str], Example], spark: SparkSession
) -> None:
    graph = example(name).pipeline("yaml").check()
    [sink] = [sink for sink in graph.sinks if sink.name == "results"]
    frame = frame_of(graph, sink.input, how="batch")
    assert in_any_order(rows_of(frame)) == in_any_order(json_rows(Path("expected.jsonl")))
