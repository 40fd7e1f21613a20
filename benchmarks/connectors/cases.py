"""The cases, with the sides of each. A case without a side of its own here is not measured."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.connectors import by_flink, by_hand, by_headrace
from benchmarks.connectors.setting import Side

HEADRACE = "Headrace"
PYSPARK = "PySpark"


@dataclass(frozen=True)
class Case:
    """One job, done by several engines.

    Headrace's own sides come last; the first named `Headrace` is what aims speak of.
    """

    name: str
    title: str
    sides: tuple[Side, ...]
    database: bool = False
    """Whether it writes to PostgreSQL."""

    def side(self, name: str) -> Side:
        return next(side for side in self.sides if side.name == name)


CASES = (
    Case(
        "filter",
        "JSON from Kafka, filtered",
        (
            Side(PYSPARK, by_hand.filtered, aim=1.8),
            Side("Flink SQL", by_flink.filtered, aim=2.0),
            Side(HEADRACE, by_headrace.filtered),
        ),
    ),
    Case(
        "tumbling",
        "count and sum per key and minute",
        (
            Side(PYSPARK, by_hand.tumbling, aim=1.4),
            Side("Flink SQL", by_flink.tumbling, aim=1.2),
            Side("Flink SQL, state on the heap", by_flink.tumbling_heap),
            Side(HEADRACE, by_headrace.tumbling),
            Side("Headrace, late rows counted", by_headrace.tumbling_counted),
        ),
    ),
    Case(
        "kafka",
        "Kafka to Kafka",
        (Side(PYSPARK, by_hand.to_kafka, aim=1.0), Side(HEADRACE, by_headrace.to_kafka)),
    ),
    Case(
        "postgres",
        "Kafka to PostgreSQL",
        (
            Side("row by row", by_hand.row_by_row, aim=10.0, share=0.02),
            Side("Spark's JDBC, append, no key", by_hand.by_jdbc),
            Side("Spark's JDBC, append, key indexed", by_hand.by_jdbc_indexed, aim=2.0),
            Side(HEADRACE, by_headrace.to_postgres),
            Side("Headrace, no key", by_headrace.to_postgres_appended),
        ),
        database=True,
    ),
)
