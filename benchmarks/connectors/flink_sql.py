"""The cases in Flink SQL: parallelism 2, object reuse, a checkpoint every 10 seconds."""

from __future__ import annotations

from benchmarks.connectors.setting import FEW, Outcome, Setting
from benchmarks.engines.flink import Flink, blackhole_table, kafka_table

COLUMNS = (
    "k string, v int, ts bigint, note string, at_ as to_timestamp_ltz(ts, 3),"
    " watermark for at_ as at_ - interval '1' second"
)
PLAIN = "k string, v int, ts bigint, note string"


def filter_events(setting: Setting) -> Outcome:
    """Filter a tenth of the JSON events."""
    with Flink() as flink:
        flink.sql(kafka_table("events", PLAIN, setting.servers, setting.topic))
        flink.sql(blackhole_table("out_", "k string, v int"))
        insert = f"insert into out_ select k, v from events where {FEW}"
        return Outcome(flink.measure(insert, warm=setting.warm, events=setting.events))


def tumbling(setting: Setting) -> Outcome:
    """Count and sum per key and minute; state in RocksDB, as on the Spark sides."""
    with Flink(state="rocksdb") as flink:
        return _tumbling(flink, setting)


def tumbling_heap(setting: Setting) -> Outcome:
    """Count and sum per key and minute; state on the heap."""
    with Flink(state="heap") as flink:
        return _tumbling(flink, setting)


def _tumbling(flink: Flink, setting: Setting) -> Outcome:
    flink.sql(kafka_table("events", COLUMNS, setting.servers, setting.topic))
    flink.sql(blackhole_table("out_", "k string, window_start timestamp(3), n bigint, total bigint"))
    insert = (
        "insert into out_ select k, window_start, count(*), sum(v)"
        " from tumble(table events, descriptor(at_), interval '1' minute) group by k, window_start, "
        "window_end"
    )
    return Outcome(flink.measure(insert, warm=setting.warm, events=setting.events))
