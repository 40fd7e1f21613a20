"""Spark retries a task that had loaded rows before it failed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.servers import Server

JOB = """
import sys
from pathlib import Path
from pyspark import TaskContext
from headrace import connect
from headrace.connectors.base import WriteContext
from headrace.spark.session import open_session

url, table, place = sys.argv[1:]
spark = open_session(
    "retry", master="local[2,2]", conf={"spark.driver.memory": "1g"}, jars=[], log_directory=Path(place)
)

def once_more(batches):
    context = TaskContext.get()
    for number, batch in enumerate(batches):
        if context.partitionId() == 1 and context.attemptNumber() == 0 and number == 9:
            raise RuntimeError("the first attempt dies")
        yield batch

frame = spark.range(0, 400_000, 1, 2).mapInArrow(once_more, "id bigint")
frame = frame.selectExpr("concat('k', id) k", "int(id) v", "repeat('x', 100) filling")
writer = connect.postgres(url=url, table=table, key="k").writer()
writer.open(WriteContext("retry", "out", "one", "append", place))
writer.commit(0, writer.stage(0, frame))
writer.close()
spark.stop()
"""


def test_rows_of_a_retried_task_are_written_once(
    servers: Callable[[str], Server], table: str, tmp_path: Path
) -> None:
    server = servers("postgres")
    done = subprocess.run(
        [sys.executable, "-c", JOB, server.url, table, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "the first attempt dies" in "".join(log.read_text() for log in tmp_path.glob("*.log"))
    [counts] = server.sql(f"SELECT count(*), count(DISTINCT k), sum(v) FROM {table}")
    assert counts == (400_000, 400_000, sum(range(400_000)))
