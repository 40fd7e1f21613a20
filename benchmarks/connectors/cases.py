"""The cases with their sides."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.connectors import flink_sql, headrace_side, plain_pyspark
from benchmarks.connectors.setting import Side

HEADRACE = "Headrace"
PYSPARK = "PySpark"


@dataclass(frozen=True)
class Case:
    """One job on several engines.

    Headrace's sides come last; targets refer to the one named `Headrace`.
    """

    name: str
    title: str
    sides: tuple[Side, ...]
    database: bool = False
    """True if the case writes to PostgreSQL."""

    def side(self, name: str) -> Side:
        return next(side for side in self.sides if side.name == name)


CASES = (
    Case(
        "filter",
        "JSON from Kafka, filter_events",
        (
            Side(PYSPARK, plain_pyspark.filter_events, aim=1.8),
            Side("Flink SQL", flink_sql.filter_events, aim=2.0),
            Side(HEADRACE, headrace_side.filter_events),
        ),
    ),
    Case(
        "tumbling",
        "count and sum per key and minute",
        (
            Side(PYSPARK, plain_pyspark.tumbling, aim=1.4),
            Side("Flink SQL", flink_sql.tumbling, aim=1.2),
            Side("Flink SQL, state on the heap", flink_sql.tumbling_heap),
            Side(HEADRACE, headrace_side.tumbling),
            Side("Headrace, late rows counted", headrace_side.tumbling_counted),
        ),
    ),
    Case(
        "kafka",
        "Kafka to Kafka",
        (Side(PYSPARK, plain_pyspark.to_kafka, aim=1.0), Side(HEADRACE, headrace_side.to_kafka)),
    ),
    Case(
        "postgres",
        "Kafka to PostgreSQL",
        (
            Side("row by row", plain_pyspark.row_by_row, aim=10.0, share=0.02),
            Side("Spark's JDBC, append, no key", plain_pyspark.by_jdbc),
            Side("Spark's JDBC, append, key indexed", plain_pyspark.by_jdbc_indexed, aim=2.0),
            Side(HEADRACE, headrace_side.to_postgres),
            Side("Headrace, no key", headrace_side.to_postgres_appended),
        ),
        database=True,
    ),
)
