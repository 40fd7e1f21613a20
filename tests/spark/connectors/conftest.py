"""Fixtures of connector tests: the context of a sink, and a stream read to its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

from headrace.connectors.base import ReadContext, WriteContext
from headrace.formats import Format, Schema


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., WriteContext]:
    """Return a function that builds the context of a writer."""

    def make(mode: Any = "append", checkpoint_id: str = "checkpoint-one", sink: str = "out") -> WriteContext:
        return WriteContext("pipe", sink, checkpoint_id, mode, str(tmp_path / "checkpoint"))

    return make


@pytest.fixture
def context(tmp_path: Path) -> Callable[..., ReadContext]:
    """Return a function that builds the context of a reader."""

    def make(schema: str | None = None, format: Format | None = None) -> ReadContext:  # noqa: A002
        return ReadContext(
            "pipe", "tx", Schema.of(schema) if schema else None, format, str(tmp_path / "source")
        )

    return make


@pytest.fixture
def drained(tmp_path: Path) -> Callable[..., list[list[dict[str, Any]]]]:
    """Runs a streaming frame over all that is available, from its checkpoint on.

    Gives the rows of each epoch.
    """

    def drain(frame: DataFrame, checkpoint: str = "query") -> list[list[dict[str, Any]]]:
        epochs: list[list[dict[str, Any]]] = []

        def take(batch: DataFrame, _: int) -> None:
            epochs.append(batch.toArrow().to_pylist())

        query = (
            frame.writeStream.foreachBatch(take)
            .option("checkpointLocation", str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return [rows for rows in epochs if rows]

    return drain
