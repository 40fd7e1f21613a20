"""Word count from a real TCP server ends up with the expected counts."""

from __future__ import annotations

import dataclasses
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.examples_at_hand import Example, in_any_order, json_rows, rows_of
from tests.support.waiting import wait_until

from headrace.connectors.files import Files
from headrace.connectors.memory import Memory
from headrace.connectors.socket import Socket
from headrace.lowering.frames import frame_of
from headrace.plan.graph import Graph
from headrace.runtime.options import RunOptions
from headrace.runtime.run import start
from headrace.steps.base import Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class LineServer:
    """Send a text to each client and keep the connection open."""

    def __init__(self, text: str) -> None:
        self._listener = socket.create_server(("localhost", 0))
        self.port: int = self._listener.getsockname()[1]
        self._text = text
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for held in (*self._open, self._listener):
            held.close()
        self._thread.join()

    def _serve(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        self._open.append(connection)
        connection.sendall(self._text.encode())


@pytest.fixture
def server() -> Iterator[LineServer]:
    from examples.word_count.make_events import LINES

    served = LineServer(LINES)
    yield served
    served.close()


def at(port: int, graph: Graph) -> tuple[Graph, Memory]:
    """The plan with the server's port, and its counts in memory as well."""
    [source] = graph.of(Source)
    [shown] = graph.sinks
    counts = Memory()
    placed = dataclasses.replace(source, connector=Socket(host="localhost", port=port))
    return graph.plus(placed, Sink("counted", shown.input, counts)), counts


def test_counts_the_words(
    example: Callable[[str], Example],
    server: LineServer,
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:
    graph, counts = at(server.port, example("word_count").pipeline("py")._plan())
    expected = json_rows(Path("expected.jsonl"))
    with start(graph, RunOptions(checkpoint="checkpoint")) as running:
        wait_until(lambda: _latest(counts.contents()) == _latest(expected), running)
        running.stop()
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert in_any_order(_rows(_latest(printed))) == in_any_order(expected)


def _latest(rows: list[dict[str, object]]) -> dict[object, object]:
    return {row["word"]: row["n"] for row in rows}


def _rows(counts: dict[object, object]) -> list[dict[str, object]]:
    return [{"word": word, "n": n} for word, n in counts.items()]


def test_batch_gives_the_same_counts_as_the_stream(
    example: Callable[[str], Example], spark: SparkSession
) -> None:
    graph = example("word_count").pipeline("yaml")._plan()
    [source] = graph.of(Source)
    recorded = graph.plus(dataclasses.replace(source, connector=Files(path="events.txt")))
    frame = frame_of(recorded, Ref("counts"), how="batch")
    assert in_any_order(rows_of(frame)) == in_any_order(json_rows(Path("expected.jsonl")))
