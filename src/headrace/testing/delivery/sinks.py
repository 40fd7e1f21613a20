"""The crash harness for sinks: kill a run after every step of the protocol, count lost and duplicated rows.

A sink is driven as in a run: `open`, then `stage` and `commit` for each epoch. A trial disturbs it: the run
is killed after a step, an epoch is replayed (with its rows in another order and on other tasks), or an older
run commits after a newer one has opened the sink. A new run then delivers the remaining epochs, and the
report counts missing and duplicated rows. The steps are the fail points of the sink
(`connectors/failpoints.py`): call `reach("<sink>.<step>")` after each step of your connector. `check_source`
does the same for sources, with whole runs.

>>> from headrace import connect
>>> from headrace.testing import delivery
>>> def target(trial: str) -> delivery.Target:
...     box = connect.memory()
...     return delivery.Target(box, lambda: [row["id"] for row in box.contents()])
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.connectors.base import Connector, WriteContext, WriteMode, Writer
from headrace.connectors.failpoints import Crash, arm, watch
from headrace.errors import FencedError
from headrace.testing.delivery.sources import Feed, check_source
from headrace.testing.delivery.trials import Report, Trial, count_rows, failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Feed", "Report", "Target", "Trial", "check_sink", "check_source", "kill_at_random"]

EPOCHS = 3
ROWS = 8
SCHEMA = "id bigint, text string"
"""The rows of a trial: ids from 0, eight per epoch."""


@dataclass(frozen=True)
class Target:
    """An empty sink, and how to read it."""

    connector: Connector
    ids: Callable[[], Iterable[int]]
    """Return the `id` of every visible row of the target."""
    mode: WriteMode = "append"


def check_sink(
    spark: SparkSession,
    target: Callable[[str], Target],
    *,
    disturbances: Mapping[str, Callable[[Target], None]] | None = None,
) -> Report:
    """Run every trial on a sink.

    Args:
        spark: the session that creates the rows.
        target: creates an empty target for the trial of this name.
        disturbances: further actions in the middle of an epoch, after its rows are staged, such as a restart
            of the server. The sink may commit the epoch or fail; both must leave it correct.
    """
    steps = _Steps()
    trials = [_trial(spark, target, "undisturbed", steps.record)]
    kind = steps.kind
    for step in steps.names:
        trials.append(_trial(spark, target, f"killed after {step}", _kill_after(step)))
    trials.append(_trial(spark, target, "an epoch is replayed", _replay_epoch))
    trials.append(_trial(spark, target, "a zombie commits", _zombie))
    for name, act in (disturbances or {}).items():
        trials.append(_trial(spark, target, name, _disturb(act)))
    return Report(kind, tuple(trials))


def kill_at_random(
    start: Callable[[], subprocess.Popen[bytes]],
    begun: Callable[[], int],
    *,
    finished: Callable[[], bool] = lambda: False,
    kills: int = 20,
    within: float = 2.0,
    seed: int | None = None,
) -> int:
    """Kill a run with SIGKILL during an epoch and restart it, repeatedly; the last run is not killed.

    Args:
        start: starts a run as the leader of its own process group; it ends when all input is read.
        begun: returns the number of epochs started so far, by all runs.
        finished: returns true if all input has been processed; the run is then not restarted.
        kills: the number of kills.
        within: the maximum number of seconds after the start of an epoch.
        seed: the seed of the random moments.

    Returns:
        The number of kills; less than `kills` if a run ended before.

    Raises:
        RuntimeError: the last run failed.
    """
    chance = random.Random(seed)
    for done in range(kills):
        if finished():
            return done
        process, before = start(), begun()
        while process.poll() is None and begun() == before:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.02)
        try:
            process.wait(timeout=chance.uniform(0, within))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode == 0:
            return done
    if not finished() and (status := start().wait()) != 0:
        raise RuntimeError(f"the last run, which was not killed, ended with status {status}")
    return kills


Deliver = Callable[["_Sink"], None]


@dataclass
class _Sink:
    """A target in a trial, driven as in a run."""

    spark: SparkSession
    target: Target
    name: str

    def context(self) -> WriteContext:
        return WriteContext("delivery", self.name, "checkpoint", self.target.mode, "")

    def rows(self, epoch: int, parts: int = 2) -> DataFrame:
        values = [(epoch * ROWS + i, f"row {i} of {epoch}\twith 'odd' \"text\"\n") for i in range(ROWS)]
        if parts != 2:
            values.reverse()
        return self.spark.createDataFrame(values, SCHEMA).repartition(parts)

    def deliver(self, until: int, parts: int = 2) -> None:
        """Deliver the epochs after that in the ledger, up to `until`, and close the sink."""
        writer = self.target.connector.writer()
        try:
            for epoch in range(writer.open(self.context()) + 1, until):
                self.epoch(writer, epoch, parts)
        finally:
            writer.close()

    def epoch(self, writer: Writer, epoch: int, parts: int = 2) -> None:
        writer.commit(epoch, writer.stage(epoch, self.rows(epoch, parts)))


@dataclass
class _Steps:
    """The fail points that a sink reaches, in order."""

    names: list[str] = field(default_factory=list)
    kind: str = ""

    def record(self, sink: _Sink) -> None:
        self.kind = sink.target.connector.kind
        with watch(lambda name: None if name in self.names else self.names.append(name)):
            sink.deliver(EPOCHS)


def _trial(spark: SparkSession, target: Callable[[str], Target], name: str, act: Deliver) -> Trial:
    sink = _Sink(spark, target(name), "sink")
    # An undisturbed run delivers the remaining epochs, on other tasks.
    note = failure(lambda: act(sink)) or failure(lambda: sink.deliver(EPOCHS, parts=3))
    if note:
        failure(lambda: sink.deliver(EPOCHS, parts=3))
    return count_rows(name, sink.target.ids(), range(EPOCHS * ROWS), note)


def _kill_after(step: str) -> Deliver:
    def act(sink: _Sink) -> None:
        sink.deliver(1)
        with arm(step), suppress(Crash):
            sink.deliver(2)

    return act


def _replay_epoch(sink: _Sink) -> None:
    """Replay a committed epoch, in the same run and in the next one."""
    writer = sink.target.connector.writer()
    try:
        if writer.open(sink.context()) != -1:
            raise RuntimeError("a new target reports committed epochs")
        sink.epoch(writer, 0)
        sink.epoch(writer, 0, parts=3)
        sink.epoch(writer, 1)
        writer.stage(2, sink.rows(2))
        writer.stage(2, sink.rows(2, parts=3))
    finally:
        writer.close()


def _zombie(sink: _Sink) -> None:
    """Open the sink with a second run and deliver, then commit a staged epoch of the first run."""
    zombie = sink.target.connector.writer()
    zombie.open(sink.context())
    sink.epoch(zombie, 0)
    staged = zombie.stage(1, sink.rows(1))
    sink.deliver(2)
    try:
        zombie.commit(1, staged)
    except FencedError:
        return
    finally:
        zombie.close()
    raise RuntimeError("the older run was not fenced: its commit raised no error")


def _disturb(act: Callable[[Target], None]) -> Deliver:
    def deliver(sink: _Sink) -> None:
        writer = sink.target.connector.writer()
        try:
            writer.open(sink.context())
            sink.epoch(writer, 0)
            staged = writer.stage(1, sink.rows(1))
            act(sink.target)
            with suppress(Exception):  # the sink may fail; the epoch is then replayed
                writer.commit(1, staged)
        finally:
            with suppress(Exception):
                writer.close()

    return deliver
