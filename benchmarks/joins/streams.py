"""The joins of two topics: as pipelines, on PySpark alone, and in Flink SQL with state in RocksDB."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.connectors import plain_pyspark
from benchmarks.connectors.setting import Outcome, Setting, measure_run
from benchmarks.engines.flink import Flink, blackhole_table, kafka_table
from benchmarks.noop_sink import NoopSink
from benchmarks.topics import PARTITIONS
from headrace import Pipeline, connect
from headrace.streams.rows import Rows
from headrace.streams.timed import TimedStream

VIEWS = "ad bigint, ts bigint, campaign int, page string"
CLICKS = "ad bigint, ts bigint, cost double, browser string"
TRADES = "symbol string, ts bigint, quantity int, venue string"
QUOTES = "symbol string, ts bigint, price double, maker string"
SELECT_PAIR = {
    "ad": "left.ad",
    "seen": "left.ts",
    "clicked": "right.ts",
    "campaign": "left.campaign",
    "cost": "right.cost",
}
SELECT_PRICED = {
    "symbol": "left.symbol",
    "ts": "left.ts",
    "quantity": "left.quantity",
    "price": "right.price",
}
DISORDER = "10 seconds"
_FLINK_TIME = ", at_ as to_timestamp_ltz(ts, 3), watermark for at_ as at_ - interval '10' second"


def interval(setting: Setting) -> Outcome:
    """Join views with the clicks of the following 10 minutes."""
    pipeline, views, clicks = read_both(setting, VIEWS, CLICKS)
    within = ("0 seconds", "10 minutes")
    return _run(setting, pipeline, views.join("pairs", clicks, on="ad", within=within, select=SELECT_PAIR))


def interval_by_hand(setting: Setting) -> Outcome:
    """Join them with Spark's stream-stream join."""
    views = _events(setting, setting.topic, VIEWS, "seen")
    clicks = _events(setting, setting.right, CLICKS, "clicked").withColumnRenamed("ad", "clicked_ad")
    close = "ad = clicked_ad and clicked_at >= seen_at and clicked_at <= seen_at + interval 10 minutes"
    pairs = views.join(clicks, F.expr(close)).select("ad", "seen", "clicked", "campaign", "cost")
    return plain_pyspark.count_results(setting, pairs)


def interval_by_flink(setting: Setting) -> Outcome:
    """Join them with Flink's interval join."""
    select = (
        "select v.ad, v.ts, c.ts, v.campaign, c.cost from l v join r c"
        " on v.ad = c.ad and c.at_ between v.at_ and v.at_ + interval '10' minute"
    )
    output = "ad bigint, seen bigint, clicked bigint, campaign int, cost double"
    return _by_flink(setting, VIEWS, CLICKS, select, output=output)


def as_of(setting: Setting) -> Outcome:
    """Join trades with the last price before them."""
    pipeline, trades, quotes = read_both(setting, TRADES, QUOTES)
    priced = trades.join_as_of("priced", quotes, on="symbol", how="inner", select=SELECT_PRICED)
    return _run(setting, pipeline, priced)


def as_of_by_flink(setting: Setting) -> Outcome:
    """Join them with Flink's event-time temporal join, over a versioned view of the prices."""
    view = (
        "create temporary view versions as select symbol, price, at_ from (select *, row_number() over"
        " (partition by symbol order by at_ desc) as n from r) where n = 1"
    )
    select = (
        "select t.symbol, t.ts, t.quantity, q.price from l t"
        " join versions for system_time as of t.at_ as q on t.symbol = q.symbol"
    )
    columns = "symbol string, ts bigint, quantity int, price double"
    return _by_flink(setting, TRADES, QUOTES, select, output=columns, view=view)


def read_both(setting: Setting, left: str, right: str) -> tuple[Pipeline, TimedStream, TimedStream]:
    """Return a pipeline and its two streams; a micro-batch has as many rows of each."""
    pipeline = Pipeline("bench-joins")

    def read(name: str, topic: str, schema: str) -> TimedStream:
        source = connect.kafka(servers=setting.servers, topic=topic, max_per_batch=setting.batch // 2)
        rows = pipeline.read(name, source, format="json", schema=schema)
        return rows.with_columns(at="timestamp_millis(ts)").event_time("at", out_of_order=DISORDER)

    return pipeline, read("left_rows", setting.topic, left), read("right_rows", setting.right, right)


def _run(setting: Setting, pipeline: Pipeline, results: Rows) -> Outcome:
    sink = NoopSink()
    results.write("out", sink)
    taken = measure_run(setting, lambda: pipeline.run(until="drained", checkpoint=setting.checkpoint()))
    return Outcome(taken, sink.tally.panes)


def _events(setting: Setting, topic: str, schema: str, time: str) -> DataFrame:
    rows = plain_pyspark.events(setting, topic, schema, setting.batch // 2).withColumnRenamed("ts", time)
    return rows.withColumn(f"{time}_at", F.timestamp_millis(time)).withWatermark(f"{time}_at", DISORDER)


def _by_flink(
    setting: Setting, left: str, right: str, select: str, *, output: str, view: str | None = None
) -> Outcome:
    with Flink(state="rocksdb") as flink:
        flink.sql(kafka_table("l", left + _FLINK_TIME, setting.servers, setting.topic))
        flink.sql(kafka_table("r", right + _FLINK_TIME, setting.servers, setting.right))
        flink.sql(blackhole_table("out_", output))
        if view is not None:
            flink.sql(view)
        taken, results = flink.measure_results(
            f"insert into out_ {select}",
            warm=setting.warm,
            events=setting.events,
            total=setting.warm + setting.events + 2 * PARTITIONS,
        )
        return Outcome(taken, results)
