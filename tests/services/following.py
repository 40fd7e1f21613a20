"""The pipeline that is killed while it reads tables: changes to a copy and a history, new rows to a list.

Run as `python following.py URL NAME WORK`: processes the available rows and ends.
"""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from headrace import Pipeline, connect
from headrace.connectors.postgres_cdc.slot_record import SlotRecord

EACH = 60
"""Transactions of the writer per run: some before it reads, some while it does."""
PAUSE = 0.15
"""Seconds between two transactions."""
FIRST = 50
"""Orders in the table before the first run."""
CONF = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}


def build(url: str, name: str, work: Path) -> Pipeline:
    """Build the pipeline over the tables of a name."""
    pipeline = Pipeline(name)
    changes = connect.postgres_cdc(url=url, table=f"{name}_orders", max_per_batch=100)
    orders = pipeline.read("orders", changes, schema="id bigint, v bigint")
    orders.write("copy", connect.postgres(url=url, table=f"{name}_copy", key="id"))
    history = orders.select("id", "v", op="change.op", lsn="change.lsn")
    history.write("history", connect.sqlite(path=work / "out.db", table="history"))
    appended = connect.postgres(
        url=url, table=f"{name}_visits", cursor="id", max_per_batch=50, delay="200 milliseconds"
    )
    visits = pipeline.read("visits", appended, schema="id bigint")
    visits.write("list", connect.sqlite(path=work / "out.db", table="visits"))
    return pipeline


class Writer:
    """Writes to the tables continuously once the slot exists, and counts the changes."""

    def __init__(self, server: Any, name: str, work: Path, seed: int = 7) -> None:
        self.server, self.name = server, name
        self._record = work / "checkpoint" / "sources" / "orders"
        self.done: Counter[str] = Counter()
        self.visits = 0
        self._most = 0
        self._chance = random.Random(seed)
        self._ended = threading.Event()
        server.sql(f"CREATE TABLE {name}_orders (id bigint PRIMARY KEY, v bigint)")
        server.sql(f"CREATE TABLE {name}_visits (id bigserial PRIMARY KEY)")
        server.sql(f"INSERT INTO {name}_orders SELECT i, 0 FROM generate_series(1, {FIRST}) i")
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def more(self) -> None:
        """A run begins, and is to have something to read."""
        self._most += EACH

    def _work(self) -> None:
        with closing(self.server.connect()) as connection:
            number = 0
            while not self._ended.wait(PAUSE):
                if number < self._most and SlotRecord.read(self._record).complete:
                    number += 1
                    with connection.transaction():
                        self._transact(connection, 1000 + number)

    def _transact(self, connection: Any, number: int) -> None:
        orders, some = f"{self.name}_orders", self._chance.randrange(7 * 11)
        done = {
            "insert": f"INSERT INTO {orders} SELECT i, {number} FROM generate_series({number}00, {number}00 "
            f"+ {some % 5}) i",
            "update": f"UPDATE {orders} SET v = {number} WHERE id % 7 = {some % 7}",
            "delete": f"DELETE FROM {orders} WHERE id % 11 = {some % 11}",
        }
        for op in self._chance.sample(sorted(done), 2):
            self.done[op] += connection.execute(done[op]).rowcount
        self.visits += connection.execute(
            f"INSERT INTO {self.name}_visits SELECT FROM generate_series(1, 3)"
        ).rowcount


if __name__ == "__main__":
    place = Path(sys.argv[3])
    pipeline = build(sys.argv[1], sys.argv[2], place)
    with pipeline.start(
        until="caught_up", checkpoint=place / "checkpoint", master="local[2]", conf=CONF
    ) as running:
        running.wait()
