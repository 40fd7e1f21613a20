"""A slow sink slows the source: a burst waits in Kafka, epochs stay small, nothing is lost."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from benchmarks.backpressure import SlowSink, build_pipeline
from pyspark.sql import SparkSession

from headrace.devtools.kafka_client import Client
from tests.support.waiting import TIMEOUT

MOST = 400
USUAL, BURST = 200, 2_000


def test_a_burst_into_a_slow_sink_loses_nothing_and_epochs_stay_small(
    spark: SparkSession, broker: Any, tmp_path: Path
) -> None:
    client = Client(broker.servers)
    client.create("burst", partitions=2)
    first_epoch, burst_is_in = threading.Event(), threading.Event()

    def pause(rows: int) -> None:
        first_epoch.set()
        assert burst_is_in.wait(TIMEOUT)

    sink = SlowSink.waiting(pause)
    client.produce("burst", lines(0, USUAL))
    with build_pipeline(broker.servers, "burst", sink, max_per_batch=MOST).start(
        checkpoint=tmp_path
    ) as running:
        assert first_epoch.wait(TIMEOUT)
        client.produce("burst", lines(USUAL, USUAL + BURST))
        read_while_the_sink_was_busy = running.status().rows_in
        burst_is_in.set()
        while len(sink.numbers) < USUAL + BURST:
            assert not running.wait(timeout=0.05)
        running.stop()

    assert read_while_the_sink_was_busy <= MOST
    assert sorted(sink.numbers) == list(range(USUAL + BURST))
    assert max(sink.epochs) <= MOST


def lines(first: int, last: int) -> list[tuple[str, str]]:
    return [(str(number), f'{{"n": {number}, "note": "x"}}') for number in range(first, last)]
