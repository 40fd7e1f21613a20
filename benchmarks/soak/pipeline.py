"""The pipeline of the soak test: every kind of step, with bounded state, over rows whose keys recur."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.compute

from benchmarks.noop_sink import NoopSink
from headrace import (
    Pipeline,
    Processor,
    connect,
    detectors,
    models,
    patterns,
    smoothing,
    state,
    timers,
    triggers,
    windows,
)
from headrace.streams.rows import Rows
from headrace.streams.timed import TimedStream

KEYS = [f"k{number}" for number in range(50)]
RATE = 500.0
RULES = Path(__file__).with_name("rules.yaml")
FALLS = """
select * from timed match_recognize (
    partition by k order by ts
    measures first(down.ts) as since, last(down.v) as low
    pattern (down{3,}) within interval '10' seconds
    define down as down.v < prev(down.v))
"""


class Recent(Processor):
    """Sum the last ten values of a key, and report a key that is quiet for five seconds."""

    output = "k string, total double"
    values: list[float] = state.list()
    quiet = timers.event()

    def process(self, row: Any) -> Iterator[dict[str, Any]]:
        self.values = [*self.values[-9:], row.v]
        self.quiet.set(after="5 seconds")
        yield {"k": row.k, "total": sum(self.values)}

    def on_quiet(self, at: Any) -> Iterator[dict[str, Any]]:
        yield {"k": self.key.k, "total": 0.0}


def halve(row: Any) -> dict[str, Any]:
    """Return the key and half of the value."""
    return {"k": row.k, "half": row.v / 2}


def is_large(row: Any) -> bool:
    """Return True for the upper half of the values."""
    return bool(row.v > 50)


def repeat(row: Any) -> list[dict[str, Any]]:
    """Return the key and value twice."""
    return [{"k": row.k, "v": row.v}] * 2


def pass_through(batch: Any) -> Any:
    """Return an Arrow batch as it is."""
    return batch


def build() -> Pipeline:
    """Build a pipeline with every kind of step; each output has a sink that counts and discards its rows."""
    pipeline = Pipeline("soak")
    columns = {
        "k": {"choice": KEYS},
        "v": {"uniform": {"high": 100}},
        "ts": {"timestamp": {"every": "2 milliseconds", "jitter": "1 second"}},
    }
    source = connect.generator(rate=RATE, columns=columns)
    rows = pipeline.read("rows", source, schema="k string, v double, ts timestamp")
    timed = rows.event_time("ts", out_of_order="2 seconds", idle="5 seconds").where(
        "v >= 0", step_name="timed"
    )
    outputs = {
        "running": rows.key_by("k").aggregate("running", n="count(*)"),
        "fifties": rows.ingestion_time()
        .key_by("k")
        .window(windows.count(50))
        .aggregate("fifties", n="count(*)"),
        **stateless_steps(timed),
        **window_steps(timed),
        **pattern_steps(pipeline, timed),
        **join_steps(timed),
        **analytic_steps(timed),
    }
    for name, stream in outputs.items():
        stream.write(f"{name}_out", NoopSink())
    return pipeline


def stateless_steps(timed: TimedStream) -> dict[str, Rows]:
    """Return streams of steps without state, and of user code."""
    split = timed.route("split", large="v > 90", small="v < 10")
    both = split.large.union(split.small, step_name="both").with_columns(w="v + 1").drop("v")
    table = connect.memory(rows=[{"k": key, "home": key.upper()} for key in KEYS])
    functions = timed.filter("upper", is_large).flat_map("twice", repeat, output="k string, v double")
    return {
        "batches": functions.map_batches("batches", pass_through, output="k string, v double"),
        "both": both.select("k", "w"),
        "with_home": timed.lookup("with_home", table, on="k", schema="k string, home string"),
        "query": timed.sql("query", "select k, v from this where v > 50"),
        "halves": timed.map("halves", halve, output="k string, half double"),
        "recent": timed.key_by("k").process("recent", Recent),
        "sets": timed.expand([["k"], []]),
        "changes": timed.with_columns(change="'insert'").changelog().key_by("k").latest("changes"),
        "unique": timed.distinct("unique", on=["k"], within="10 seconds"),
    }


def window_steps(timed: TimedStream) -> dict[str, Rows]:
    """Return the panes of windows, some of which feed a second window."""
    keyed, rare = timed.key_by("k"), timed.where("v > 99", step_name="rare").key_by("k")
    tens = keyed.window(windows.tumbling("10 seconds")).aggregate("tens", n="count(*)")
    early = keyed.window(windows.sliding("20 seconds", every="5 seconds")).emit(
        early=triggers.every("2 seconds"), mode="retracting"
    )
    return {
        "sessions": rare.window(windows.session("2 seconds")).aggregate("sessions", n="count(*)"),
        "counted": keyed.window(windows.count(20)).aggregate("counted", total="sum(v)"),
        "trailing": keyed.window(windows.trailing("5 seconds")).aggregate("trailing", total="sum(v)"),
        "last": keyed.over("last", order_by="ts", rows=20, total="sum(v)", step="v - lag(v)"),
        "early": early.aggregate("early", total="sum(v)"),
        "assigned": timed.assign_window("assigned", windows.tumbling("10 seconds")),
        "leading": keyed.window(windows.tumbling("10 seconds")).top_n("leading", n=3, order_by="v desc"),
        "minutes": tens.window(windows.tumbling("1 minute")).aggregate("minutes", n="sum(n)"),
    }


def pattern_steps(pipeline: Pipeline, timed: TimedStream) -> dict[str, Rows]:
    """Return matches of a pattern, of a rule table and of a row pattern in SQL."""
    keyed = timed.key_by("k")
    low_then_high = patterns.step("low", "v < 5").followed_by("high", "v > 95")
    select = {"at": "high.ts"}
    return {
        "pairs": keyed.match("pairs", low_then_high, within="10 seconds", select=select, timeouts="count"),
        "ruled": keyed.match_rules("ruled", rules=RULES, measures="low double", timeouts="count"),
        "falls": pipeline.sql("falls", FALLS),
    }


def double(rows: pyarrow.Table) -> Any:
    """Return twice the value of each row."""
    return pyarrow.compute.multiply(rows["v"], 2.0)


class Mean:
    """A model that predicts the mean of the labels."""

    def __init__(self) -> None:
        self.count, self.total = 0, 0.0

    def predict_one(self, row: dict[str, Any]) -> float:
        """Return the mean of the labels so far."""
        return self.total / max(self.count, 1)

    def learn_one(self, row: dict[str, Any], label: float) -> None:
        """Add a label."""
        self.count += 1
        self.total += label


def analytic_steps(timed: TimedStream) -> dict[str, Rows]:
    """Return checked, smoothed, predicted and learned rows, and alerts of anomalies."""
    keyed = timed.key_by("k")
    spikes = keyed.detect("spikes", detectors.multi_scale(), on="v")
    return {
        "checked": timed.expect("checked", low="v < 99"),
        "smoothed": keyed.smooth("smoothed", smoothing.median(rows=5), on="v"),
        "predicted": timed.predict(
            "predicted", models.function(double), features="v", output="twice double", on_error="fail"
        ),
        "learned": timed.key_by("k").learn("learned", models.learner(Mean), features="k", label="v"),
        "alerts": spikes.key_by("k").alert("alerts", when="anomalous", repeat="1 minute"),
    }


def join_steps(timed: TimedStream) -> dict[str, Rows]:
    """Return joins of streams, tables, and joins with tables."""
    large, small = timed.where("v > 90", step_name="highs"), timed.where("v < 10", step_name="lows")
    newest = timed.key_by("k").latest("newest")
    in_window = large.key_by("k").window(windows.tumbling("10 seconds"))
    pair = {"k": "left.k", "high": "left.v", "low": "right.v"}
    return {
        "close": large.join("close", small, on="k", within="2 seconds", how="left", select=pair),
        "same_window": in_window.join_window("same_window", small, select=pair),
        "as_of": large.join_as_of("as_of", small, on="k", tolerance="5 seconds", select=pair),
        "newest": newest,
        "leaders": newest.key_by(tens="floor(v / 10)").top_n("leaders", n=3, order_by="v desc"),
        "enriched": large.join_table("enriched", newest, on="k", select=pair),
    }
