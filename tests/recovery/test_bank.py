"""The bank test: no sink ever shows a state in which the balances do not add up to 0.

CI runs a small sample; `python -m tests.recovery.bank` kills many runs, also those that write to PostgreSQL.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import connect
from headrace.connectors.failpoints import Crash, arm, watch
from headrace.connectors.memory import Memory
from headrace.errors import HeadraceError
from tests.recovery.bank.pipeline import MODES, SINKS, build_bank, to_database, write_input
from tests.recovery.bank.states import State, impossible, read_sqlite, record_in_sqlite

FILES = 4
STEPS = ("sqlite.rows", "sqlite.ledger", "delivery.committed")


def test_every_state_of_sqlite_adds_up_to_zero_after_crashes(spark: SparkSession, tmp_path: Path) -> None:
    balances = write_input(tmp_path, FILES)
    file = tmp_path / "bank.db"
    record_in_sqlite(file, SINKS)

    def run() -> None:
        build_bank(tmp_path, to_database(tmp_path)).run(until="drained", checkpoint=tmp_path / "checkpoint")

    for step in STEPS:
        with arm(step, 2), pytest.raises((Crash, HeadraceError)):
            run()
    run()
    states = read_sqlite(file)
    assert impossible(states) == []
    assert {state.sink for state in states} == {*SINKS}
    assert len(states) >= len(SINKS) * FILES
    with closing(sqlite3.connect(file)) as database:
        assert dict(database.execute("SELECT account, balance FROM balances")) == balances
        for mode in MODES:
            rows = database.execute(f"SELECT account, sum(balance) FROM {mode}_panes GROUP BY account")
            assert dict(rows) == balances


def test_every_state_of_memory_adds_up_to_zero(spark: SparkSession, tmp_path: Path) -> None:
    balances = write_input(tmp_path, FILES)
    sinks: dict[str, Memory] = {}

    def build(name: str, key: list[str]) -> Memory:
        return sinks.setdefault(name, connect.memory(key=key))

    states: list[State] = []

    def record(step: str) -> None:
        if step == "delivery.committed":
            for name, sink in sinks.items():
                rows = sink.contents()
                states.append(State(name, len(states), sum(row["balance"] or 0 for row in rows), len(rows)))

    with watch(record):
        build_bank(tmp_path, build).run(until="drained", checkpoint=tmp_path / "checkpoint")
    assert impossible(states) == []
    assert len({(state.sink, state.rows) for state in states}) > len(SINKS)
    assert {row["account"]: row["balance"] for row in sinks["balances"].contents()} == balances


def test_a_state_between_two_transfers_is_recorded_as_impossible(tmp_path: Path) -> None:
    file = tmp_path / "bank.db"
    record_in_sqlite(file, ["balances"])
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        for epoch, account, balance in ((0, 1, -5), (1, 2, 5)):
            database.execute("BEGIN")
            database.execute("INSERT INTO balances (account, balance) VALUES (?, ?)", (account, balance))
            database.execute("DELETE FROM _headrace_epochs")
            row = ("bank", "balances", "c", epoch, 1)
            columns = "pipeline, sink, checkpoint_id, epoch, token"
            database.execute(f"INSERT INTO _headrace_epochs ({columns}) VALUES (?, ?, ?, ?, ?)", row)
            database.execute("COMMIT")
    assert impossible(read_sqlite(file)) == [State("balances", 0, -5, 1)]
