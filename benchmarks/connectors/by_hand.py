"""The cases as one writes them on PySpark alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.readwriter import DataStreamWriter

from benchmarks.connectors.setting import COLUMNS, DISORDER, FEW, Outcome, Setting, timed
from benchmarks.nowhere import Tally
from benchmarks.topics import fresh

Batch = Callable[[DataFrame, int], None]


def filtered(given: Setting) -> Outcome:
    """JSON from Kafka, a tenth of it kept."""
    return _counted(given, _events(given).where(FEW).select("k", "v"))


def tumbling(given: Setting) -> Outcome:
    """Count and sum per key and minute."""
    rows = _events(given).withColumn("at", F.timestamp_millis("ts")).withWatermark("at", DISORDER)
    sums = rows.groupBy("k", F.window("at", "1 minute"))
    return _counted(given, sums.agg(F.count("*").alias("n"), F.sum("v").alias("total")))


def to_kafka(given: Setting) -> Outcome:
    """Every event to another topic, with one number changed: at least once, as Spark's sink can."""
    out = fresh(given.servers, "by-hand")
    shaped = _events(given).select("k", (F.col("v") * 2).alias("v"), "ts")
    records = shaped.select(F.col("k").alias("key"), F.to_json(F.struct("k", "v", "ts")).alias("value"))
    writer = records.writeStream.format("kafka").option("topic", out)
    writer = writer.option("kafka.bootstrap.servers", given.servers).option("kafka.compression.type", "lz4")
    writer = writer.option("checkpointLocation", str(given.checkpoint())).trigger(availableNow=True)
    return Outcome(timed(given, lambda: _to_its_end(writer)))


def row_by_row(given: Setting) -> Outcome:
    """Upserts one at a time, all of a task in one transaction."""
    url = given.database

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
    return _each(given, lambda batch, epoch: batch.foreachPartition(write))


def by_jdbc(given: Setting) -> Outcome:
    """Spark's own JDBC writer, which can only append.

    The driver is told to send many rows in one statement.
    """
    _table(given.database, "by_jdbc")
    return _by_jdbc(given)


def by_jdbc_indexed(given: Setting) -> Outcome:
    """The same with an index on what is the key elsewhere.

    Not a unique one, since one event in 10,000 has the key of another.
    """
    _table(given.database, "by_jdbc")
    _run(given.database, "CREATE INDEX ON by_jdbc (k, ts)")
    return _by_jdbc(given)


def _by_jdbc(given: Setting) -> Outcome:
    parts = urlsplit(given.database)
    address = f"jdbc:postgresql://{parts.hostname}:{parts.port}{parts.path}?reWriteBatchedInserts=true"
    said = {"user": parts.username or "", "password": unquote(parts.password or "")}
    options = {"url": address, "dbtable": "by_jdbc", "driver": "org.postgresql.Driver", **said}
    return _each(
        given, lambda batch, epoch: batch.write.format("jdbc").options(**options).mode("append").save()
    )


def _events(given: Setting) -> DataFrame:
    reader = SparkSession.active().readStream.format("kafka")
    options = {
        "kafka.bootstrap.servers": given.servers,
        "subscribe": given.topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(given.batch),
    }
    parsed = F.from_json(F.col("value").cast("string"), COLUMNS).alias("event")
    return reader.options(**options).load().select(parsed).select("event.*")


def _counted(given: Setting, results: DataFrame) -> Outcome:
    tally = Tally()
    taken = timed(given, lambda: _through(given, results, tally.take))
    return Outcome(taken, tally.panes)


def _each(given: Setting, batch: Batch) -> Outcome:
    return Outcome(timed(given, lambda: _through(given, _events(given), batch)))


def _through(given: Setting, results: DataFrame, batch: Batch) -> None:
    writer = results.writeStream.outputMode("append").foreachBatch(batch)
    writer = writer.option("checkpointLocation", str(given.checkpoint()))
    _to_its_end(writer.trigger(availableNow=True))


def _to_its_end(writer: DataStreamWriter) -> None:
    writer.start().awaitTermination()


def _table(url: str, name: str, key: str = "") -> None:
    columns = ["k text", "v integer", "ts bigint", "note text", *filter(None, [key])]
    _run(url, f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} ({', '.join(columns)})")


def _run(url: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
