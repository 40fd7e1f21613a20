"""User code in Python: Headrace's steps beside Spark's own way to call Python, Bytewax and Quix Streams.

    map          a function per row, beside `@udf(useArrow=True)` of one column, and of all columns as a row
    map_batches  a function per Arrow batch, beside `mapInArrow`
    process      the mean of the last 100 amounts of each key, beside `transformWithState` in Python and
                 Bytewax's `stateful_map`
    quix         the same in Quix Streams, which reads from Kafka (`engines/quix.py`)
    state        10 thousand keys of 100 thousand and of a million in state, touched per micro-batch

Headrace and Spark read the same Parquet files in the same micro-batches, keep state in RocksDB and write Parquet files
exactly once. Bytewax reads from memory and writes to memory, without recovery. Quix Streams keeps its state in
RocksDB and in a topic; its seconds are those from the first row to the last. The results must be equal.
`python -m benchmarks python --rows 200000 --only process`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow
import pyarrow.compute
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from benchmarks.harness import Measured, compare
from benchmarks.topics import kafka
from headrace import Pipeline, Processor, connect, state
from headrace.spark.session import open_session

ROWS, FILES, KEYS, LAST = 1_000_000, 5, 10_000, 100
SCHEMA = "id bigint, k bigint, amount double"
MADE = "id bigint, score double"
STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
Step = Callable[[Any], Any]


def main() -> None:
    """Measure every kind of step, or one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("--keys", type=int, default=1_000_000, help="of the larger state")
    parser.add_argument("--only", choices=["map", "map_batches", "process", "quix", "state"])
    options = parser.parse_args(sys.argv[1:])
    spark = open_session("benchmarks", conf={"spark.driver.memory": "3g"})
    with tempfile.TemporaryDirectory() as place:
        for kind, measure in {"map": maps, "map_batches": batches, "process": processors}.items():
            if options.only in (None, kind):
                measure(spark, Path(place), options)
        if options.only in (None, "state"):
            growing_state(spark, Path(place), options.keys)
        if options.only in (None, "quix"):
            quix(spark, Path(place), options.rows)


def score(amount: float) -> float:
    """Return a value that is too cheap to hide the cost of the call."""
    return amount * 1.07 + 1.0


def maps(spark: SparkSession, place: Path, options: argparse.Namespace) -> list[Measured]:
    """Call a function for each row."""

    def by_row(row: Any) -> tuple[int, float]:
        return row.id, score(row.amount)

    by_column: Any = F.udf(score, "double", useArrow=True)
    by_struct: Any = F.udf(by_row, MADE, useArrow=True)
    return compare_steps(
        spark,
        place,
        options,
        kind="map",
        by_hand={
            "@udf(useArrow=True)": lambda rows: rows.select("id", by_column("amount").alias("score")),
            "@udf(useArrow=True) of rows": lambda rows: rows.select(
                by_struct(F.struct("id", "k", "amount")).alias("made")
            ).select("made.*"),
        },
        ours=lambda rows: rows.map("step", by_row, output=MADE),
    )


def batches(spark: SparkSession, place: Path, options: argparse.Namespace) -> list[Measured]:
    """Call a function for each Arrow batch."""

    def by_table(table: pyarrow.Table) -> pyarrow.Table:
        return pyarrow.table({"id": table["id"], "score": _scores(table["amount"])})

    def by_batches(made: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in made:
            arrays = [batch.column("id"), _scores(batch.column("amount"))]
            yield pyarrow.RecordBatch.from_arrays(arrays, names=["id", "score"])

    mapper: Any = by_batches
    return compare_steps(
        spark,
        place,
        options,
        kind="map_batches",
        by_hand={"mapInArrow": lambda rows: rows.mapInArrow(mapper, MADE)},
        ours=lambda rows: rows.map_batches("step", by_table, output=MADE),
    )


def _scores(amounts: Any) -> Any:
    return pyarrow.compute.add(pyarrow.compute.multiply(amounts, 1.07), 1.0)


class Means(Processor):
    """The mean of the last amounts of a key."""

    output = MADE
    last: list[float] = state.list()

    def process(self, row: Any) -> Iterator[tuple[int, float]]:
        last = self.last
        last.append(row.amount)
        if len(last) > LAST:
            del last[0]
        yield row.id, sum(last) / len(last)


class SparkMeans(StatefulProcessor):
    """The same as a user of Structured Streaming writes it: state is read and written once per key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._last = handle.getListState("last", "amount double")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        from pyspark.sql import Row

        last = [value[0] for value in self._last.get()]
        for row in rows:
            last.append(row.amount)
            if len(last) > LAST:
                del last[0]
            yield Row(id=row.id, score=sum(last) / len(last))
        self._last.put([(value,) for value in last])

    def close(self) -> None: ...


def processors(spark: SparkSession, place: Path, options: argparse.Namespace) -> list[Measured]:
    """Keep state per key."""

    def by_spark(rows: Any) -> DataFrame:
        grouped = rows.groupBy("k")
        return grouped.transformWithState(SparkMeans(), MADE, "Append", "None")  # type: ignore[no-any-return]

    return compare_steps(
        spark,
        place,
        options,
        kind="process",
        by_hand={"transformWithState in Python": by_spark},
        ours=lambda rows: rows.key_by("k").process("step", Means),
        others={"Bytewax": lambda: _bytewax(spark, place / "rows")},
    )


def _bytewax(spark: SparkSession, source: Path) -> float:
    """Run the same logic in Bytewax over rows in memory; return the sum of the scores and the seconds."""
    import bytewax.operators as op
    from bytewax.dataflow import Dataflow
    from bytewax.testing import TestingSink, TestingSource, run_main

    def mean(last: list[float] | None, row: tuple[int, float]) -> tuple[list[float], tuple[int, float]]:
        last = last or []
        last.append(row[1])
        if len(last) > LAST:
            del last[0]
        return last, (row[0], sum(last) / len(last))

    rows = _in_memory(spark, source)
    out: list[Any] = []
    flow = Dataflow("bench")
    stream = op.input("rows", flow, TestingSource(rows, batch_size=10_000))
    op.output("out", op.stateful_map("step", stream, mean), TestingSink(out))
    run_main(flow)  # type: ignore[no-untyped-call, unused-ignore]
    return float(sum(value for _, (_, value) in out))


def quix(spark: SparkSession, place: Path, rows: int) -> None:
    """Run the same logic in Quix Streams, in an environment of its own, on a broker of this machine."""
    with kafka() as servers:
        script = str(Path(__file__).with_name("engines") / "quix.py")
        command = ["uv", "run", "--script", script, servers, "means", str(rows), str(KEYS)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    message = json.loads(done.stdout.splitlines()[-1])
    print(
        f"Quix Streams: {rows:,} rows in {message['seconds']:.2f} s, {rows / message['seconds']:,.0f} rows/s"
    )
    if not (place / "rows").exists():
        write_input(spark, place / "rows", rows)
    step: Step = lambda made: made.key_by("k").process("step", Means)  # noqa: E731
    ours = _run_ours(place / "rows", place / uuid4().hex, step)
    assert round(_sum(spark, ours), 2) == round(message["sum"], 2), "the contenders differ"


_rows: dict[Path, list[tuple[str, tuple[int, float]]]] = {}


def _in_memory(spark: SparkSession, source: Path) -> list[tuple[str, tuple[int, float]]]:
    if source not in _rows:
        table = spark.read.parquet(str(source)).orderBy("id").collect()
        _rows[source] = [(str(row.k), (row.id, row.amount)) for row in table]
    return _rows[source]


def compare_steps(
    spark: SparkSession,
    place: Path,
    options: argparse.Namespace,
    *,
    kind: str,
    by_hand: dict[str, Step],
    ours: Step,
    processor: Step | None = None,
    others: dict[str, Callable[[], float]] | None = None,
) -> list[Measured]:
    """Measure a step through Spark by hand and through Headrace; the sums of the results must be equal.

    `processor` is the same step as a processor of Headrace in Python.
    """
    source = place / "rows"
    if not source.exists():
        write_input(spark, source, options.rows)
    sums: dict[str, set[float]] = {}

    def checked(name: str, run: Callable[[], float]) -> Callable[[], None]:
        return lambda: sums.setdefault(name, set()).add(round(run(), 2))

    def in_spark(step: Step) -> Callable[[], float]:
        return lambda: _sum(spark, _run_by_hand(spark, source, place / uuid4().hex, step))

    def in_headrace(step: Step) -> Callable[[], float]:
        return lambda: _sum(spark, _run_ours(source, place / uuid4().hex, step))

    contenders = {
        **{name: in_spark(step) for name, step in by_hand.items()},
        **({} if processor is None else {"processor in Python": in_headrace(processor)}),
        "Headrace": in_headrace(ours),
        **(others or {}),
    }
    for prepare in others or {}:
        print(f"{prepare}: {len(_in_memory(spark, source)):,} rows in memory")
    runs = {name: checked(name, run) for name, run in contenders.items()}
    measured = compare(f"Python {kind}", runs, rows=options.rows, runs=options.runs, warm_up=options.warm_up)
    assert len(set.union(*sums.values())) == 1, f"the contenders differ: {sums}"
    return measured


def write_input(spark: SparkSession, path: Path, rows: int) -> None:
    """Write rows of equally frequent keys; each file has every key."""
    made = spark.range(0, rows, 1, FILES).select(
        "id", (F.col("id") % KEYS).alias("k"), (F.col("id") % 97).cast("double").alias("amount")
    )
    made.write.parquet(str(path))
    for number, file in enumerate(sorted(path.glob("*.parquet"))):
        os.utime(file, (1_700_000_000 + number,) * 2)  # Spark reads files in the order of their times


def _run_by_hand(spark: SparkSession, source: Path, place: Path, step: Step) -> Path:
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", STORE)
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
    writer = step(rows).writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    writer.trigger(availableNow=True).start(str(place / "out")).awaitTermination()
    return place / "out"


def _run_ours(source: Path, place: Path, step: Step) -> Path:
    pipeline = Pipeline("bench")
    files = connect.files(path=str(source), format="parquet", max_files_per_batch=1)
    step(pipeline.read("rows", files, schema=SCHEMA)).write(
        "out", connect.files(path=str(place / "out"), format="parquet")
    )
    pipeline.run(until="caught_up", checkpoint=place / "checkpoint", progress=False)
    return place / "out"


def _sum(spark: SparkSession, out: Path) -> float:
    return float(spark.read.parquet(str(out)).agg(F.sum("score")).head()[0])  # type: ignore[index]


class Count(Processor):
    """The number of rows of a key."""

    output = MADE
    n: int = state.value(0)

    def process(self, row: Any) -> Iterator[tuple[int, float]]:
        self.n += 1
        yield row.id, float(self.n)


def growing_state(spark: SparkSession, place: Path, keys: int, *, touched: int = KEYS) -> float:
    """Return how much longer micro-batches take with ten times the keys in state, of which few are touched."""
    seconds = [_touch(spark, place / uuid4().hex, size, touched) for size in (keys // 10, keys)]
    ratio = seconds[1] / seconds[0]
    print(
        f"{touched:,} of {keys // 10:,} keys: {seconds[0]:.2f} s; of {keys:,} keys: {seconds[1]:.2f} s; {ratio:.2f}"
    )
    return ratio


def _touch(spark: SparkSession, place: Path, keys: int, touched: int, batches: int = 5) -> float:
    """Fill the state, then return the seconds of micro-batches that touch some keys."""
    everything = spark.range(keys).selectExpr("id", "id as k", "1d as amount")
    everything.coalesce(1).write.parquet(str(place / "in"))

    def run() -> float:
        began = time.perf_counter()
        _run_ours(place / "in", place, lambda rows: rows.key_by("k").process("step", Count))
        return time.perf_counter() - began

    run()
    for number in range(batches):
        some = spark.range(touched).selectExpr("id", f"(id * 7 + {number}) % {keys} as k", "1d as amount")
        some.coalesce(1).write.mode("append").parquet(str(place / "in"))
    return run()


if __name__ == "__main__":
    main()
