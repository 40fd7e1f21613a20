"""The pipelines of the bank test.

Run as `python -m tests.recovery.bank.pipeline WORK [POSTGRES_URL]`: reads WORK/in, one file per epoch, and ends.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace import Connector, Pipeline, connect, triggers, windows

ACCOUNTS = 10
ROWS = 40
MODES = ("discarding", "accumulating", "retracting")
SINKS = ("balances", *(f"{mode}_panes" for mode in MODES))
BuildSink = Callable[[str, list[str]], Connector]


def write_input(work: Path, files: int, seed: int = 11) -> dict[int, int]:
    """Write files of transfers, and return the balance of each account."""
    chance, balances = random.Random(seed), dict.fromkeys(range(ACCOUNTS), 0)
    (work / "in").mkdir(parents=True)
    for number in range(files):
        lines = []
        for row in range(ROWS):
            debited, credited = chance.sample(range(ACCOUNTS), 2)
            amount, at = chance.randrange(1, 100), 1_700_000_000 + number * ROWS + row
            balances[debited] -= amount
            balances[credited] += amount
            lines.append(json.dumps({"debited": debited, "credited": credited, "amount": amount, "ts": at}))
        file = work / "in" / f"{number:03d}.jsonl"
        file.write_text("\n".join(lines) + "\n")
        os.utime(file, (1_700_000_000 + number,) * 2)  # Spark reads the oldest first
    return balances


def to_database(work: Path, postgres: str = "") -> BuildSink:
    """Return the sinks of tables in SQLite, or in PostgreSQL."""

    def build(name: str, key: list[str]) -> Connector:
        if postgres:
            return connect.postgres(url=postgres, table=name, key=key)
        return connect.sqlite(path=str(work / "bank.db"), table=name, key=key)

    return build


def build_bank(work: Path, sink: BuildSink) -> Pipeline:
    """Return a pipeline of balances: running ones, and those of windows in all accumulation modes."""
    pipeline = Pipeline("bank")
    entries = _read(pipeline, work).select(
        "ts",
        "inline(array(struct(debited as account, -amount as amount), struct(credited as account, amount)))",
        step_name="entries",
    )
    accounts = entries.key_by("account")
    balances = accounts.aggregate("running", balance="sum(amount)")
    balances.write("balances", sink("balances", ["account"]))
    for mode in MODES:
        panes = (
            accounts.window(windows.tumbling("1 minute"))
            .emit(early=triggers.after_count(1), mode=mode)
            .aggregate(mode, balance="sum(amount)")
        )
        key = [] if mode == "discarding" else ["account", "window"]
        panes.write(f"{mode}_panes", sink(f"{mode}_panes", key))
    return pipeline


def build_join(work: Path, sink: BuildSink) -> Pipeline:
    """Return a pipeline that joins running credits with running debits, live, and adds up the balances."""
    pipeline = Pipeline("joined")
    transfers = _read(pipeline, work)
    credited = transfers.key_by(account="credited").aggregate("credits", credit="sum(amount)")
    debited = transfers.key_by(account="debited").aggregate("debits", debit="sum(amount)")
    balances = credited.join(
        "joined",
        debited,
        on="account",
        how="full",
        select={
            "account": "coalesce(left.account, right.account)",
            "balance": "coalesce(left.credit, 0) - coalesce(right.debit, 0)",
        },
    )
    balances.write("balances", sink("balances", ["account"]))
    return pipeline


def _read(pipeline: Pipeline, work: Path) -> Any:
    source = connect.files(path=str(work / "in"), max_files_per_batch=1)
    schema = "debited int, credited int, amount bigint, ts bigint"
    transfers = pipeline.read("transfers", source, format="json", schema=schema)
    return transfers.with_columns(ts="timestamp_seconds(ts)").event_time("ts")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    bank = build_bank(place, to_database(place, *sys.argv[2:]))
    bank.run(until="drained", checkpoint=place / "checkpoint", master="local[2]")
