"""Windows in a real streaming query equal the model, for many keys and over restarts."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from docs.playground.model.windows import model
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession, functions

from headrace import triggers, windows
from headrace.lowering.counts import Counts
from headrace.windows.lower import aggregate_windows, declaration

SECOND = 1_000_000
KEYS = [f"k{i}" for i in range(12)] + [None]
AGGREGATES = {"values": "sort_array(collect_list(v))", "p": "percentile_approx(v, 0.5)"}
SUMS = {"values": "concat_ws(' ', count(*), sum(v), min(v), max(v))"}


class Feed:
    """Rows as files, one micro-batch each, into one query; what came out of each `play`."""

    def __init__(
        self,
        spark: Any,
        directory: Path,
        window: windows.Window,
        emission: triggers.Emission,
        aggregates: dict[str, str] = AGGREGATES,
    ) -> None:
        self.spark, self.directory, self.window, self.emission = spark, directory, window, emission
        self.aggregates = aggregates
        self.source = directory / "in"
        self.source.mkdir()
        self.written = 0
        self.rows: list[dict[str, Any]] = []
        self.counts = Counts(spark)

    def play(self, batches: list[list[dict[str, Any]]]) -> None:
        """Runs the query over these batches; started from its checkpoint and stopped again."""
        query = self._start()
        for batch in batches:
            self.written += 1
            ready = self.source / f"{self.written:05}.json"
            hidden = self.source / f".{ready.name}"
            hidden.write_text("\n".join(json.dumps(row) for row in batch))
            hidden.rename(ready)
            query.processAllAvailable()
        query.stop()

    def _start(self) -> Any:
        frame = (
            self.spark.readStream.schema("k string, v int, t bigint")
            .json(str(self.source))
            .withColumn("__ts", functions.timestamp_micros("t"))
            .withColumn("__position", functions.expr("struct('s' source, '0' partition, bigint(v) offset)"))
            .withWatermark("__ts", "0 seconds")
            .drop("t")
        )
        out = aggregate_windows(frame, ["k"], self.window, self.emission, self.aggregates, counts=self.counts)
        checkpoint = str(self.directory / "checkpoint")
        return out.writeStream.foreachBatch(self._take).option("checkpointLocation", checkpoint).start()

    def _take(self, batch: Any, _: int) -> None:
        self.rows += [row.asDict(recursive=True) for row in batch.collect()]


def batches(seed: int, count: int) -> list[list[dict[str, Any]]]:
    chance = random.Random(seed)
    actual = []
    for number in range(count):
        times = [
            chance.randrange(max(1, number * 5 - 8), number * 5 + 6) * SECOND + chance.randrange(3)
            for _ in range(9)
        ]
        actual.append(
            [{"k": chance.choice(KEYS), "v": number * 100 + i, "t": t} for i, t in enumerate(times)]
        )
    return actual


def run_model(declared: str, played: list[list[dict[str, Any]]]) -> list[Any]:
    spec, actual, watermark, newest = json.loads(declared), [], None, 0
    models = {key: model(spec) for key in KEYS}
    for batch in played:
        newest = max([newest, *(row["t"] for row in batch)])
        for key, message in models.items():
            mine = [(row["t"], row["v"], row["v"] % 10) for row in batch if row["k"] == key]
            out = message.batch(mine, watermark, 0) + message.batch([], newest // 1000 * 1000, 0)
            actual += [_format_row(key, row) for row in out]
        watermark = newest // 1000 * 1000
    return actual


def _format_row(key: str | None, row: dict[str, Any]) -> Any:
    if row["output"] == "late":
        return ("late", key, row["value"], row["reason"])
    return ("main", key, row["window"][:2], row["values"], row["index"], row["timing"], row["retraction"])


def _came(row: dict[str, Any]) -> Any:
    if row["__output"] == "late":
        late = row["__late"]
        return ("late", late["k"], late["v"], late["reason"])
    main, pane = row["__main"], row["__main"]["pane"]
    bounds = tuple(round(main["window"][name].timestamp() * SECOND) for name in ("start", "end"))
    return ("main", main["k"], bounds, main["values"], pane["index"], pane["timing"], pane["retraction"])


EMISSIONS = {
    "early": triggers.Emission.create(early=triggers.after_count(2), mode="retracting"),
    "late rows again": triggers.Emission.create(lateness="6 seconds", mode="retracting"),
    "defaults": triggers.Emission.create(),
    "retracting": triggers.Emission.create(
        early=triggers.after_count(2), lateness="6 seconds", mode="retracting"
    ),
    "discarding": triggers.Emission.create(
        early=triggers.after_count(2), lateness="6 seconds", mode="discarding"
    ),
}


TUMBLING = windows.tumbling("10 seconds")
SAMPLE = {
    "tumbling, defaults": (TUMBLING, "defaults"),
    "tumbling, discarding": (TUMBLING, "discarding"),
    "tumbling, retracting": (TUMBLING, "retracting"),
    "sliding, retracting": (windows.sliding("10 seconds", every="5 seconds"), "retracting"),
    "session, retracting": (windows.session("3 seconds"), "retracting"),
    "count, in event-time order": (windows.count(3, every=2), "early"),
    "delta, in arrival order": (windows.delta("v % 10", by=4, order="arrival"), "early"),
    "trailing, retracting": (windows.trailing("6 seconds"), "late rows again"),
}


@pytest.mark.parametrize(("window", "emission"), SAMPLE.values(), ids=SAMPLE)
def test_query_matches_the_model_over_a_restart(
    spark: SparkSession, tmp_path: Path, window: Any, emission: Any
) -> None:
    feed = Feed(spark, tmp_path, window, EMISSIONS[emission])
    played = batches(seed=7, count=6)
    feed.play(played[:3])
    feed.play(played[3:])

    expected = run_model(declaration(window, EMISSIONS[emission]), played)

    assert Counter(map(str, map(_came, feed.rows))) == Counter(map(str, expected))
    counts = feed.counts.values()
    assert (
        counts["rows"] == sum(map(len, played)) == counts["processed"] + counts["late"] + counts["buffered"]
    )


def test_delta_windows_in_arrival_order_equal_the_model(spark: SparkSession, tmp_path: Path) -> None:
    window = windows.delta("v % 10", by=4, order="arrival")
    feed = Feed(spark, tmp_path, window, EMISSIONS["early"])
    played = batches(seed=7, count=6)
    feed.play(played)
    expected = run_model(declaration(window, EMISSIONS["early"]), played)
    assert Counter(map(str, map(_came, feed.rows))) == Counter(map(str, expected))


SUMMED = {
    "tumbling, retracting": (TUMBLING, "retracting"),
    "sliding, retracting": (windows.sliding("10 seconds", every="5 seconds"), "retracting"),
    "sliding, sharing slices": (windows.sliding("10 seconds", every="4 seconds"), "defaults"),
}


@pytest.mark.parametrize(("window", "emission"), SUMMED.values(), ids=SUMMED)
def test_rows_combined_before_the_shuffle_match_the_model(
    spark: SparkSession, tmp_path: Path, window: Any, emission: Any
) -> None:
    feed = Feed(spark, tmp_path, window, EMISSIONS[emission], SUMS)
    played = batches(seed=11, count=6)
    played[-1] += [{"k": key, "v": 900 + i, "t": SECOND} for i, key in enumerate(KEYS[:3])]
    feed.play(played[:3])
    feed.play(played[3:])

    expected = [_summarise(row) for row in run_model(declaration(window, EMISSIONS[emission]), played)]

    assert Counter(map(str, map(_came, feed.rows))) == Counter(map(str, expected))
    counts = feed.counts.values()
    assert counts["rows"] == sum(map(len, played)) == counts["processed"] + counts["late"]
    assert counts["late"] >= 3


def test_rows_of_one_key_and_window_are_sent_as_one(spark: SparkSession, tmp_path: Path) -> None:
    feed, sent = Feed(spark, tmp_path, TUMBLING, EMISSIONS["retracting"], SUMS), []

    def look(batch: Any, _: int) -> None:
        batch.collect()
        [query] = spark.streams.active
        sent.append(_count_shuffled(query._jsq.streamingQuery().lastExecution().executedPlan()))

    feed._take = look  # type: ignore[method-assign]
    feed.play([[{"k": "ab"[i % 2], "v": i, "t": SECOND + i} for i in range(90)]])

    assert sent[0] == 2
    assert feed.counts.values()["processed"] == 90


def _count_shuffled(node: Any) -> int:
    """Return the number of shuffled rows of a plan."""
    metrics, children = node.metrics(), node.children()
    own = "shuffleRecordsWritten"
    below = sum(_count_shuffled(children.apply(i)) for i in range(children.size()))
    return below + (metrics.apply(own).value() if metrics.contains(own) else 0)


def _summarise(row: Any) -> Any:
    if row[0] == "late":
        return row
    values = row[3]
    message = " ".join(map(str, (len(values), sum(values), min(values), max(values))))
    return (*row[:3], message, *row[4:])


def test_state_of_another_declaration_is_refused_not_misread(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path, TUMBLING, EMISSIONS["retracting"])
    played = batches(seed=7, count=3)
    feed.play(played[:2])
    feed.emission = EMISSIONS["discarding"]

    with pytest.raises(StreamingQueryException, match="windows of another declaration of this step"):
        feed.play(played[2:])
