"""Kafka to windows to every sink at once, killed between steps and at random: each sink holds every row once.

CI runs a sample; `make delivery` kills after every step of every protocol and at random moments, and writes
the table of docs/explanation/delivery-table.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.devtools import kafka_server
from headrace.devtools.kafka_client import Client
from headrace.testing.delivery.sinks import kill_at_random
from tests.services import everywhere

KILLED = -9
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "delivery-table.md"
SAMPLE = ("kafka.ledger@2", "database.ledger@3")
ALL_STEPS = (
    "delivery.opened@4", "kafka.fenced@1", "database.fenced@2", "database.swept@1", "sqlite.fenced@1",
    "files.rolled_forward@1", "files.fenced@1", "kafka.staged@1", "database.prepared@2", "database.staged@3",
    "sqlite.staged@1", "files.staged@1", "delivery.staged@5", "kafka.ledger@1", "kafka.committed@1",
    "database.begun@1", "database.rows@2", "database.ledger@3", "database.committed@1", "database.cleared@2",
    "sqlite.begun@1", "sqlite.rows@1", "sqlite.ledger@1", "sqlite.committed@1", "files.manifest@1", "files.shown@1",
    "files.cleaned@1", "delivery.committed@3", "delivery.committed@6",
)  # fmt: skip
Held = dict[str, list[tuple[Any, ...]]]


@dataclass
class Bench:
    """The servers, and runs of the pipeline in processes of their own."""

    client: Client
    postgres: Any
    mysql: Any

    def start(
        self, name: str, work: Path, settings: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a run; its output goes to a file for the report of a failure."""
        places = everywhere.Places(self.client.servers, self.postgres.url, self.mysql.url)
        with (work / "output.txt").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, everywhere.__file__, places.words(), name, str(work)],
                stdout=output,
                stderr=output,
                env={**os.environ, **(settings or {})},
                start_new_session=True,
            )

    def kill_at(self, name: str, work: Path, step: str) -> None:
        """A run that dies at a step."""
        status = self.start(name, work, {"HEADRACE_FAILPOINT": step}).wait(timeout=900)
        assert status == KILLED, f"{step}: {(work / 'output.txt').read_text()[-4000:]}"

    def finish(self, name: str, work: Path) -> None:
        """Run to the end and show the output on failure."""
        assert self.start(name, work).wait(timeout=900) == 0, (work / "output.txt").read_text()[-4000:]

    def held(self, name: str, work: Path) -> Held:
        return everywhere.results(self.client, self.postgres.sql, self.mysql.sql, name, work)


def faults(held: Held) -> dict[str, tuple[int, int]]:
    """Rows lost and doubled in each sink, from what went in."""
    actual = {}
    for sink, rows in held.items():
        if sink == "broken":
            actual[sink] = everywhere.BROKEN - len(set(rows)), len(rows) - len(set(rows))
        else:
            counted = sum(row[1] for row in rows)
            wanted = everywhere.ROWS - everywhere.BROKEN
            actual[sink] = max(wanted - counted, 0), max(counted - wanted, 0)
    return actual


def epochs(work: Path) -> int:
    """Return the number of started epochs."""
    return sum(1 for _ in work.glob("checkpoint/queries/*/spark/offsets/[0-9]*"))


@pytest.fixture(scope="module")
def bench(client: Client, servers: Callable[[str], Any]) -> Bench:
    return Bench(client, servers("postgres"), servers("mysql"))


def test_killed_between_steps_every_sink_holds_every_row_once(bench: Bench, tmp_path: Path) -> None:
    everywhere.write_input(bench.client, "killed")
    for step in SAMPLE:
        bench.kill_at("killed", tmp_path, step)
    bench.finish("killed", tmp_path)
    held = bench.held("killed", tmp_path)
    assert set(faults(held).values()) == {(0, 0)}, faults(held)
    totals = {sink: rows for sink, rows in held.items() if sink != "broken"}
    assert all(rows == totals["kafka"] for rows in totals.values()), totals


def main() -> None:
    """Every step and random kills, against servers of its own; writes the table of the documentation."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, default=20)
    kills = parser.parse_args().kills
    from tests.support.servers import started

    with (
        tempfile.TemporaryDirectory(prefix="headrace-delivery-") as place,
        started("postgres") as postgres,
        started("mysql") as mysql,
    ):
        cluster = kafka_server.start(Path(place) / "kafka", port=0)
        try:
            _table(Bench(Client(cluster.servers), postgres, mysql), Path(place), kills)
        finally:
            cluster.stop()


def _table(bench: Bench, place: Path, kills: int) -> None:
    (quiet := place / "quiet").mkdir()
    everywhere.write_input(bench.client, "quiet")
    bench.finish("quiet", quiet)
    undisturbed = bench.held("quiet", quiet)
    (steps := place / "steps").mkdir()
    everywhere.write_input(bench.client, "steps")
    for step in ALL_STEPS:  # each run goes on where the last one died
        bench.kill_at("steps", steps, step)
        print(f"killed after {step}", flush=True)
    bench.finish("steps", steps)
    after_steps = bench.held("steps", steps)
    done, after_random = 0, []
    while done < kills:
        name = f"random-{done}"
        (work := place / name).mkdir()
        everywhere.write_input(bench.client, name)
        done += max(
            kill_at_random(
                lambda name=name, work=work: bench.start(name, work),  # type: ignore[misc]
                lambda work=work: epochs(work),  # type: ignore[misc]
                finished=(work / "checkpoint" / "drained").exists,
                kills=min(5, kills - done),
                within=1.5,
            ),
            1,
        )
        after_random.append(bench.held(name, work))
        print(f"{done} kills at random", flush=True)
    PAGE.write_text(_page(undisturbed, after_steps, after_random, done))
    print(PAGE.read_text())


def _page(undisturbed: Held, after_steps: Held, after_random: list[Held], kills: int) -> str:
    lines = [
        "# Exactly-once sinks, measured",
        "",
        "One pipeline reads a Kafka topic, counts rows in windows and writes to all sinks with exactly-once "
        "delivery. It was killed",
        f"after {len(ALL_STEPS)} steps of the protocols, one after the other, and {kills} times at random "
        "with SIGKILL, and",
        "restarted each time. `make delivery` repeats the measurement and writes this page.",
        "",
        "| sink | rows of an undisturbed run | lost, duplicated after the steps | lost, duplicated after "
        "random kills | same rows |",
        "|---|---|---|---|---|",
    ]
    for sink, rows in undisturbed.items():
        random_faults: Counter[str] = Counter()
        for held in after_random:
            lost, doubled = faults(held)[sink]
            random_faults.update(lost=lost, doubled=doubled)
        same = all(held[sink] == rows for held in (after_steps, *after_random))
        lost, doubled = faults(after_steps)[sink]
        lines.append(
            f"| {sink} | {len(rows)} | {lost}, {doubled} | {random_faults['lost']}, "
            f"{random_faults['doubled']} | {'yes' if same else 'NO'} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
    main()
