"""The pipeline that `test_live_join.py` kills: orders joined live with customers, into PostgreSQL.

Run as `python live_join.py URL TABLE WORK`: reads WORK/orders and WORK/customers, one file per batch, and ends.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from headrace import Pipeline, connect

CUSTOMERS = 12
ORDERS = 60
ROWS = 40
Rows = list[dict[str, Any]]


def write_input(work: Path, files: int, seed: int = 5) -> dict[str, Rows]:
    """Write changes of orders and customers, some of which remove a row, and return them."""
    chance = random.Random(seed)
    written: dict[str, Rows] = {"orders": [], "customers": []}
    for number in range(files):
        orders = [_order(chance) for _ in range(ROWS)]
        customers = [_customer(chance) for _ in range(ROWS // 4)]
        for name, rows in (("orders", orders), ("customers", customers)):
            for row in rows:
                row["ts"] = 1_700_000_000 + len(written[name])
                written[name].append(row)
            (work / name).mkdir(parents=True, exist_ok=True)
            (work / name / f"{number:03d}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return written


def _order(chance: random.Random) -> dict[str, Any]:
    total = None if chance.random() < 0.15 else chance.randrange(1, 900)
    return {"id": chance.randrange(ORDERS), "customer": chance.randrange(CUSTOMERS), "total": total}


def _customer(chance: random.Random) -> dict[str, Any]:
    name = None if chance.random() < 0.2 else f"n{chance.randrange(1000)}"
    return {"number": chance.randrange(CUSTOMERS), "name": name}


def batch_join(written: dict[str, Rows]) -> list[tuple[Any, ...]]:
    """Return the join of the last rows: every order with the name of its customer, or None."""
    orders = {row["id"]: row for row in written["orders"]}
    names = {row["number"]: row["name"] for row in written["customers"]}
    return sorted(
        (row["id"], row["customer"], row["total"], names.get(row["customer"]))
        for row in orders.values()
        if row["total"] is not None
    )


def build(url: str, table: str, work: Path) -> Pipeline:
    """Return the pipeline."""
    pipeline = Pipeline("live-join")

    def rows(name: str, schema: str) -> Any:
        source = connect.files(path=str(work / name), max_files_per_batch=1)
        read = pipeline.read(name, source, format="json", schema=f"{schema}, ts bigint")
        return read.with_columns(ts="timestamp_seconds(ts)").event_time("ts")

    orders = rows("orders", "id int, customer int, total int").key_by("id")
    customers = rows("customers", "number int, name string").key_by("number")
    named = orders.latest("current_orders", delete_when="total is null").join(
        "named",
        customers.latest("current_customers", delete_when="name is null"),
        on={"customer": "number"},
        how="left",
        select={"id": "left.id", "customer": "left.customer", "total": "left.total", "name": "right.name"},
    )
    named.drop("change").write("out", connect.postgres(url=url, table=table, key=["id"]))
    return pipeline


if __name__ == "__main__":
    build(sys.argv[1], sys.argv[2], Path(sys.argv[3])).run(
        until="drained", checkpoint=Path(sys.argv[3]) / "checkpoint"
    )
