"""Kafka to windows to Kafka, killed after steps of the protocol and at random: every record is there once.

CI runs a sample; `python -m tests.services.test_kafka_recovery --kills 20` every step and as many random kills.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from headrace.connectors.kafka.client import Client
from headrace.engine import kafka_server
from tests.services import kafka_totals

KILLED = -9
STEPS = ("kafka.ledger@2", "kafka.committed@1")
ALL_STEPS = (
    "delivery.opened@1", "kafka.fenced@1", "kafka.fenced@2", "kafka.staged@1", "kafka.staged@2", "delivery.staged@1",
    "kafka.ledger@1", "kafka.ledger@2", "kafka.committed@1", "kafka.committed@2", "delivery.committed@1",
    "delivery.committed@3",
)  # fmt: skip


def start(
    client: Client, name: str, work: Path, settings: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A run in a process of its own; its output goes to a file, so that a failure can be told."""
    with (work / "output.txt").open("ab") as output:
        return subprocess.Popen(
            [sys.executable, kafka_totals.__file__, client.servers, name, str(work)],
            stdout=output,
            stderr=output,
            env={**os.environ, **(settings or {})},
            start_new_session=True,
        )


def finish(client: Client, name: str, work: Path) -> None:
    """Run to the end, and show what was said if that fails."""
    assert start(client, name, work).wait(timeout=600) == 0, (work / "output.txt").read_text()[-4000:]


def kill_at(client: Client, name: str, work: Path, step: str) -> None:
    """A run that dies at a step."""
    assert start(client, name, work, {"HEADRACE_FAILPOINT": step}).wait(timeout=600) == KILLED, step


def kill_somewhere(client: Client, name: str, work: Path, chance: random.Random) -> bool:
    """A run that dies within moments of beginning an epoch; False if it was done before."""
    if sealed(work):  # the last one died when all was done
        return False
    process, begun = start(client, name, work), epochs(work)
    while process.poll() is None and epochs(work) == begun:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.02)
    try:
        process.wait(timeout=chance.uniform(0, 1.5))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert process.returncode in (0, KILLED), (work / "output.txt").read_text()[-4000:]
    return process.returncode == KILLED


def sealed(work: Path) -> bool:
    """Whether a run has finished the input for good."""
    return (work / "checkpoint" / "sealed").exists()


def epochs(work: Path) -> int:
    """How many epochs have been begun."""
    return sum(1 for _ in work.glob("checkpoint/queries/*/spark/offsets/[0-9]*"))


def expected() -> tuple[int, int]:
    """How many payments, and how many records that don't decode, the input has."""
    broken = len([second for second in range(kafka_totals.ROWS) if not second % 50])
    return kafka_totals.ROWS - broken, broken


def check(client: Client, name: str, undisturbed: dict[str, list[str]] | None = None) -> None:
    """Compare with a run that nobody disturbed, or where there is none, with what went in."""
    import json

    found = kafka_totals.results(client, name)
    payments, broken = expected()
    panes = [json.loads(line) for line in found["out"]]
    windows = [(pane["card"], pane["window"]["start"]) for pane in panes]
    assert len(windows) == len(set(windows)), "a pane is there twice"
    assert sum(pane["n"] for pane in panes) == payments
    assert len(found["broken"]) == len(set(found["broken"])) == broken
    assert undisturbed is None or found == undisturbed


def test_killed_between_steps_of_the_protocol_every_record_is_there_once(
    client: Client, tmp_path: Path
) -> None:
    name = "killed"
    kafka_totals.write_input(client, name)
    for step in STEPS:
        kill_at(client, name, tmp_path, step)
    finish(client, name, tmp_path)
    check(client, name)


def main() -> None:
    """Every step, and random kills, against a broker of its own."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, default=20)
    kills = parser.parse_args().kills
    with tempfile.TemporaryDirectory(prefix="headrace-kafka-") as place:
        cluster = kafka_server.start(Path(place) / "kafka", port=0)
        try:
            _every_step(Client(cluster.servers), Path(place), kills)
        finally:
            cluster.stop()


def _every_step(client: Client, place: Path, kills: int) -> None:
    (work := place / "quiet").mkdir()
    kafka_totals.write_input(client, "quiet")
    finish(client, "quiet", work)
    undisturbed = kafka_totals.results(client, "quiet")
    name, work = "steps", place / "steps"
    work.mkdir()
    kafka_totals.write_input(client, name)
    for step in ALL_STEPS:  # each run goes on where the last one died
        kill_at(client, name, work, step)
        print(f"killed after {step}", flush=True)
    finish(client, name, work)
    check(client, name, undisturbed)
    print(f"{len(ALL_STEPS)} kills between steps: 0 lost, 0 doubled", flush=True)
    done, chance = 0, random.Random()
    while done < kills:
        name = f"random-{done}"
        (work := place / name).mkdir()
        kafka_totals.write_input(client, name)
        while done < kills and kill_somewhere(client, name, work, chance):
            done += 1
        if not sealed(work):
            finish(client, name, work)
        check(client, name, undisturbed)
        print(f"{done} kills at random: 0 lost, 0 doubled", flush=True)


if __name__ == "__main__":
    main()
