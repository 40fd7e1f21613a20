"""The command `python -m tests.recovery.bank`."""

from __future__ import annotations

import argparse
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from headrace.connectors.postgres.dialect import PostgresDialect
from headrace.testing.delivery.sinks import kill_at_random
from tests.recovery.bank import pipeline
from tests.recovery.bank.pipeline import SINKS, build_join, to_database, write_input
from tests.recovery.bank.states import (
    State,
    impossible,
    read_sqlite,
    record_in_postgres,
    record_in_sqlite,
)
from tests.support.servers import started
from tests.support.waiting import wait_until

JOIN_FILES = 40


def kill_bank(work: Path, kills: int, url: str = "") -> int:
    """Kill runs of the bank in the middle of epochs, run to the end, and return the number of kills."""
    write_input(work, kills + 4)

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", pipeline.__name__, str(work), *([url] if url else [])]
        with (work / "output.txt").open("ab") as output:
            return subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)

    def epochs() -> int:
        return sum(1 for _ in work.glob("checkpoint/queries/*/spark/offsets/[0-9]*"))

    drained = work / "checkpoint" / "drained"
    return kill_at_random(start, epochs, finished=drained.exists, kills=kills, seed=5)


def count_joined(work: Path) -> list[State]:
    """Return the states of a live join of two running aggregates, whose queries run at the same time."""
    balances = write_input(work, JOIN_FILES)
    record_in_sqlite(work / "bank.db", ["balances"])
    bank = build_join(work, to_database(work))
    with bank.start(checkpoint=work / "checkpoint", master="local[2]") as run:
        wait_until(lambda: _balances(work) == balances, run)
        run.stop()
    return read_sqlite(work / "bank.db")


def _balances(work: Path) -> dict[int, int]:
    with closing(sqlite3.connect(work / "bank.db")) as database:
        return dict(database.execute("SELECT account, balance FROM balances"))


def report(name: str, kills: int, states: Sequence[State]) -> int:
    """Print the states of each sink, and return the number of impossible ones."""
    shown, wrong = (
        Counter(state.sink for state in states),
        Counter(state.sink for state in impossible(states)),
    )
    for sink in sorted(shown):
        print(f"{name:12} {kills:5} kills  {sink:20} {shown[sink]:6,} states, {wrong[sink]:,} impossible")
    return wrong.total()


def report_flink(files: int) -> int:
    """Print the states that Flink SQL shows of the same transfers; return 0."""
    from tests.recovery.bank.flink import count_totals

    with tempfile.TemporaryDirectory() as place:
        write_input(Path(place), files)
        for name, totals in count_totals(Path(place)).items():
            wrong = sum(1 for total in totals if total)
            print(f"{'Flink SQL':12} {0:5} kills  {name:20} {len(totals):6,} states, {wrong:,} impossible")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its status is 1 if a sink of one stateful step showed an impossible state."""
    parser = argparse.ArgumentParser(prog="python -m tests.recovery.bank", description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--flink", action="store_true", help="count the states of Flink SQL instead")
    options = parser.parse_args(arguments)
    if options.flink:
        return report_flink(JOIN_FILES)
    kills, wrong = options.kills, 0
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        for name in ("sqlite", "postgres", "joined"):
            (work / name).mkdir()
        record_in_sqlite(work / "sqlite" / "bank.db", SINKS)
        killed = kill_bank(work / "sqlite", kills)
        wrong += report("sqlite", killed, read_sqlite(work / "sqlite" / "bank.db"))
        with started("postgres") as server:
            record_in_postgres(server, PostgresDialect(server.url))
            killed = kill_bank(work / "postgres", kills, server.url)
            rows = server.sql("SELECT sink, epoch, total, number FROM states")
            wrong += report("postgres", killed, [State(*row) for row in rows])
        # Not required to be 0: credits and debits are queries of their own, with epochs of their own.
        report("live join", 0, count_joined(work / "joined"))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
