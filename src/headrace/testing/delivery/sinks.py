"""Does a sink keep its promise, and a source? Every step of its protocol is a place to die, and rows are counted afterwards.

A sink is driven as the engine drives it: `open`, then `stage` and `commit` for each epoch. A trial disturbs that: the
run dies after a step, an epoch comes again (its rows in another order and on other tasks), a run that was thought dead
wakes up and commits. Then a fresh run delivers what is left, and the report counts rows that are missing and rows that
are there twice. The steps are found by watching which fail-points the sink reaches (`connectors/failpoints.py`): call
`reach("<sink>.<step>")` after each step of a connector of your own and it is killed there too. `check_source` does the same
to a source, with whole runs.

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
from headrace.connectors.failpoints import Crash, armed, watched
from headrace.errors import FencedError
from headrace.testing.delivery.sources import Feed, check_source
from headrace.testing.delivery.trials import Report, Trial, counted, failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Feed", "Report", "Target", "Trial", "check_sink", "check_source", "kill_at_random"]

EPOCHS = 3
ROWS = 8
SCHEMA = "id bigint, text string"
"""The rows that a sink is given: ids count from 0, eight to an epoch."""


@dataclass(frozen=True)
class Target:
    """A sink that has nothing in it yet, and how to read it back."""

    connector: Connector
    ids: Callable[[], Iterable[int]]
    """The `id` of every row that a reader of the target sees."""
    mode: WriteMode = "append"


def check_sink(
    spark: SparkSession,
    target: Callable[[str], Target],
    *,
    disturbances: Mapping[str, Callable[[Target], None]] | None = None,
) -> Report:
    """Put a sink through every trial.

    Args:
        spark: the session that makes the rows.
        target: makes an empty target for a trial, given the trial's name.
        disturbances: more to do to the target in the middle of an epoch, after its rows are staged, such as restarting
            its server. A sink may take the epoch all the same or refuse it with an error; both must leave it right.
    """
    found = _Steps()
    trials = [_trial(spark, target, "undisturbed", found.watching)]
    kind = found.kind
    for step in found.names:
        trials.append(_trial(spark, target, f"killed after {step}", _killed_after(step)))
    trials.append(_trial(spark, target, "an epoch comes again", _again))
    trials.append(_trial(spark, target, "a zombie commits", _zombie))
    for name, act in (disturbances or {}).items():
        trials.append(_trial(spark, target, name, _disturbed(act)))
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
    """Kill a run with SIGKILL in the middle of an epoch, start it again, and so on; the last one runs to its end.

    Args:
        start: starts a run, as the leader of a process group of its own, that ends by itself when all input is read.
        begun: how many epochs have been begun so far, by all runs.
        finished: whether a run that was killed had done all its work before; such a one is not started again.
        kills: how often.
        within: how many seconds after the beginning of an epoch at most.
        seed: of the moments.

    Returns:
        How many were killed; fewer than asked for if a run got to its end.

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
        raise RuntimeError(f"the run that nobody killed ended with status {status}")
    return kills


Deliver = Callable[["_Sink"], None]


@dataclass
class _Sink:
    """A target in a trial, driven as the engine does."""

    spark: SparkSession
    target: Target
    name: str

    def run(self) -> WriteContext:
        return WriteContext("delivery", self.name, "lineage", self.target.mode, "")

    def rows(self, epoch: int, parts: int = 2) -> DataFrame:
        values = [(epoch * ROWS + i, f"row {i} of {epoch}\twith 'odd' \"text\"\n") for i in range(ROWS)]
        if parts != 2:
            values.reverse()
        return self.spark.createDataFrame(values, SCHEMA).repartition(parts)

    def deliver(self, until: int, parts: int = 2) -> None:
        """A run from where the ledger says up to an epoch; always lets go of the target."""
        writer = self.target.connector.writer()
        try:
            for epoch in range(writer.open(self.run()) + 1, until):
                self.epoch(writer, epoch, parts)
        finally:
            writer.close()

    def epoch(self, writer: Writer, epoch: int, parts: int = 2) -> None:
        writer.commit(epoch, writer.stage(epoch, self.rows(epoch, parts)))


@dataclass
class _Steps:
    """The fail-points that a sink reaches, in the order it does."""

    names: list[str] = field(default_factory=list)
    kind: str = ""

    def watching(self, sink: _Sink) -> None:
        self.kind = sink.target.connector.kind
        with watched(lambda name: None if name in self.names else self.names.append(name)):
            sink.deliver(EPOCHS)


def _trial(spark: SparkSession, target: Callable[[str], Target], name: str, act: Deliver) -> Trial:
    sink = _Sink(spark, target(name), "sink")
    # What is left is delivered by a run that nobody disturbs, on other tasks.
    note = failure(lambda: act(sink)) or failure(lambda: sink.deliver(EPOCHS, parts=3))
    if note:
        failure(lambda: sink.deliver(EPOCHS, parts=3))
    return counted(name, sink.target.ids(), range(EPOCHS * ROWS), note)


def _killed_after(step: str) -> Deliver:
    def act(sink: _Sink) -> None:
        sink.deliver(1)
        with armed(step), suppress(Crash):
            sink.deliver(2)

    return act


def _again(sink: _Sink) -> None:
    """Spark forgets that an epoch was delivered, and brings it again: by the same run, and by the next one."""
    writer = sink.target.connector.writer()
    try:
        if writer.open(sink.run()) != -1:
            raise RuntimeError("a new target says that it has epochs")
        sink.epoch(writer, 0)
        sink.epoch(writer, 0, parts=3)
        sink.epoch(writer, 1)
        writer.stage(2, sink.rows(2))
        writer.stage(2, sink.rows(2, parts=3))
    finally:
        writer.close()


def _zombie(sink: _Sink) -> None:
    """A run stops for long, another takes over and delivers, and the first wakes up in the middle of its commit."""
    zombie = sink.target.connector.writer()
    zombie.open(sink.run())
    sink.epoch(zombie, 0)
    staged = zombie.stage(1, sink.rows(1))
    sink.deliver(2)
    try:
        zombie.commit(1, staged)
    except FencedError:
        return
    finally:
        zombie.close()
    raise RuntimeError("the older run was not fenced: its commit said nothing")


def _disturbed(act: Callable[[Target], None]) -> Deliver:
    def deliver(sink: _Sink) -> None:
        writer = sink.target.connector.writer()
        try:
            writer.open(sink.run())
            sink.epoch(writer, 0)
            staged = writer.stage(1, sink.rows(1))
            act(sink.target)
            with suppress(Exception):  # it may refuse, and then the epoch comes again
                writer.commit(1, staged)
        finally:
            with suppress(Exception):
                writer.close()

    return deliver
