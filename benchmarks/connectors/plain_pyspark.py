"""The cases in plain PySpark."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.readwriter import DataStreamWriter

from benchmarks.connectors.setting import COLUMNS, DISORDER, FEW, Outcome, Setting, get_session, measure_run
from benchmarks.noop_sink import Tally
from benchmarks.topics import create_empty_topic

Batch = Callable[[DataFrame, int], None]


def filter_events(setting: Setting) -> Outcome:
    """Filter a tenth of the JSON events."""
    return count_results(setting, _events(setting).where(FEW).select("k", "v"))


def tumbling(setting: Setting) -> Outcome:
    """Count and sum per key and minute."""
    rows = _events(setting).withColumn("at", F.timestamp_millis("ts")).withWatermark("at", DISORDER)
    sums = rows.groupBy("k", F.window("at", "1 minute"))
    return count_results(setting, sums.agg(F.count("*").alias("n"), F.sum("v").alias("total")))


def to_kafka(setting: Setting) -> Outcome:
    """Write every event to another topic with one number changed; Spark's sink delivers at least once."""
    out = create_empty_topic(setting.servers, "by-hand")
    shaped = _events(setting).select("k", (F.col("v") * 2).alias("v"), "ts")
    records = shaped.select(F.col("k").alias("key"), F.to_json(F.struct("k", "v", "ts")).alias("value"))
    writer = records.writeStream.format("kafka").option("topic", out)
    writer = writer.option("kafka.bootstrap.servers", setting.servers).option("kafka.compression.type", "lz4")
    writer = writer.option("checkpointLocation", str(setting.checkpoint())).trigger(availableNow=True)
    return Outcome(measure_run(setting, lambda: _run_to_end(writer)))


def row_by_row(setting: Setting) -> Outcome:
    """Upsert row by row, one transaction per task."""
    url = setting.database

    def write(rows: Iterable[Row]) -> None:
        import psycopg

        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            for row in rows:
                cursor.execute(
                    "INSERT INTO row_by_row (k, v, ts, note) VALUES (%s, %s, %s, %s) ON CONFLICT (k, ts)"
                    " DO UPDATE SET v = EXCLUDED.v, note = EXCLUDED.note",
                    tuple(row),
                )

    _table(url, "row_by_row", key="PRIMARY KEY (k, ts)")
    return _each(setting, lambda batch, epoch: batch.foreachPartition(write))


def by_jdbc(setting: Setting) -> Outcome:
    """Append with Spark's JDBC writer; the driver sends many rows per statement."""
    _table(setting.database, "by_jdbc")
    return _by_jdbc(setting)


def by_jdbc_indexed(setting: Setting) -> Outcome:
    """Append with Spark's JDBC writer to a table with an index on the key.

    The index is not unique, because one event in 10,000 has the key of another.
    """
    _table(setting.database, "by_jdbc")
    _execute(setting.database, "CREATE INDEX ON by_jdbc (k, ts)")
    return _by_jdbc(setting)


def _by_jdbc(setting: Setting) -> Outcome:
    parts = urlsplit(setting.database)
    address = f"jdbc:postgresql://{parts.hostname}:{parts.port}{parts.path}?reWriteBatchedInserts=true"
    login = {"user": parts.username or "", "password": unquote(parts.password or "")}
    options = {"url": address, "dbtable": "by_jdbc", "driver": "org.postgresql.Driver", **login}
    return _each(
        setting, lambda batch, epoch: batch.write.format("jdbc").options(**options).mode("append").save()
    )


def _events(setting: Setting) -> DataFrame:
    return events(setting, setting.topic, COLUMNS, setting.batch)


def events(setting: Setting, topic: str, columns: str, batch: int) -> DataFrame:
    """Return the JSON records of a topic as rows."""
    reader = get_session().readStream.format("kafka")
    options = {
        "kafka.bootstrap.servers": setting.servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(batch),
    }
    parsed = F.from_json(F.col("value").cast("string"), columns).alias("event")
    return reader.options(**options).load().select(parsed).select("event.*")


def count_results(setting: Setting, results: DataFrame) -> Outcome:
    """Run a query to its end and count its results."""
    tally = Tally()
    consumed = measure_run(setting, lambda: _run_query(setting, results, tally.take))
    return Outcome(consumed, tally.panes)


def _each(setting: Setting, batch: Batch) -> Outcome:
    return Outcome(measure_run(setting, lambda: _run_query(setting, _events(setting), batch)))


def _run_query(setting: Setting, results: DataFrame, batch: Batch) -> None:
    writer = results.writeStream.outputMode("append").foreachBatch(batch)
    writer = writer.option("checkpointLocation", str(setting.checkpoint()))
    _run_to_end(writer.trigger(availableNow=True))


def _run_to_end(writer: DataStreamWriter) -> None:
    writer.start().awaitTermination()


def _table(url: str, name: str, key: str = "") -> None:
    columns = ["k text", "v integer", "ts bigint", "note text", *filter(None, [key])]
    _execute(url, f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} ({', '.join(columns)})")


def _execute(url: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
