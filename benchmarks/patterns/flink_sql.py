"""The pattern in Flink SQL: MATCH_RECOGNIZE and an interval join."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.engines.flink import Flink, blackhole_table, kafka_table
from benchmarks.patterns.events import OUT_OF_ORDER, WITHIN

_COLUMNS = f"""card string, kind string, amount double, ts bigint, shop string,
    rowtime as to_timestamp_ltz(ts, 3), watermark for rowtime as rowtime - interval '{OUT_OF_ORDER // 1000}' second"""
_OUTPUT = "card string, login_at bigint, pay_at bigint, amount double"
_SECONDS = f"interval '{WITHIN // 1000}' second"

MATCH_RECOGNIZE = f"""
select card, login_at, pay_at, amount
from events match_recognize (
    partition by card order by rowtime
    measures login.ts as login_at, pay.ts as pay_at, pay.amount as amount
    one row per match
    after match skip past last row
    pattern (login rest*? pay) within {_SECONDS}
    define login as login.kind = 'login', pay as pay.kind = 'pay' and pay.amount > 90
)
"""
INTERVAL_JOIN = f"""
select login.card, login.ts as login_at, pay.ts as pay_at, pay.amount
from (select * from events where kind = 'login') login
join (select * from events where kind = 'pay' and amount > 90) pay
on login.card = pay.card and pay.rowtime > login.rowtime and pay.rowtime < login.rowtime + {_SECONDS}
"""


@contextmanager
def running(query: str, servers: str, topic: str) -> Iterator[Callable[[], int]]:
    """Run a query over a topic for the block; yield a function that returns the events consumed."""
    with Flink(parallelism=2, state="heap") as flink:
        flink.sql(kafka_table("events", _COLUMNS, servers, topic))
        flink.sql(blackhole_table("answers", _OUTPUT))
        job = flink.start(f"insert into answers {query}")

        def count_consumed() -> int:
            try:
                return flink.count_consumed(job)
            except OSError:  # not ready yet
                return 0

        try:
            yield count_consumed
        finally:
            flink.stop(job)
