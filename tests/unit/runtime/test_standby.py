"""A standby waits, takes over or ends, without Spark: its run is a stand-in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace import Pipeline, connect
from headrace.checkpoints.directory import PipelineDirectory
from headrace.checkpoints.lock import Ending
from headrace.checkpoints.standby import StandbyPlace
from headrace.errors import OptionError, SetupError, SourceError
from headrace.plan.graph import Graph
from headrace.plan.queries import Query
from headrace.runtime import standby as module
from headrace.runtime.handle import RunHandle
from headrace.runtime.progress.status import Status
from headrace.runtime.standby import StandbyRun

TIMEOUT = 30.0


class Successor(RunHandle):
    """A run that ends when it is stopped."""

    @property
    def queries(self) -> list[Query]:
        return []

    def status(self) -> Status:
        return Status(True, 7, 7, 0.0, None, None, 0, warnings=("late",))

    def sample(self, name: str, *, rows: int = 10, timeout: float = 10.0) -> list[dict[str, Any]]:
        return [{"name": name}]

    def stop(self) -> None:
        self._release("stopped")
        self._ended.set()

    def kill(self) -> None:
        self.stop()


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    pipeline = Pipeline("fraud")
    tx = pipeline.read("tx", connect.files(path=str(tmp_path)), format="text")
    tx.write("out", connect.files(path=str(tmp_path / "out"), format="text"))
    return pipeline._plan()


def stand_by(graph: Graph, path: Path, begin: Callable[..., RunHandle] | None = None) -> StandbyRun:
    started = begin or (lambda spark, directory: Successor(spark, graph, directory))
    return StandbyRun(None, graph, StandbyPlace("fraud", path), started)  # type: ignore[arg-type]


def test_standby_waits_while_the_run_is_active(graph: Graph, tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    standby = stand_by(graph, tmp_path)
    assert not standby.wait(3 * module.POLL)
    status = standby.status()
    assert status.active
    assert status.phase.startswith("standby: waiting for the run of process ")
    assert [query.name for query in standby.queries] == ["tx"]
    with pytest.raises(OptionError, match="a standby reads no rows"):
        standby.sample("tx")
    standby.stop()
    run.release()


def test_standby_takes_over_from_a_run_without_an_ending(graph: Graph, tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    begun = threading.Event()

    def begin(spark: Any, directory: PipelineDirectory) -> RunHandle:
        begun.set()
        return Successor(spark, graph, directory)

    standby = stand_by(graph, tmp_path, begin)
    run.release()
    assert begun.wait(TIMEOUT)
    standby.stop()
    assert standby.took_over
    assert standby.reason == ""
    status = standby.status()
    assert status.rows_in == 7
    assert status.warnings[0].endswith("failed or was killed; this standby took over")
    assert status.warnings[1] == "late"
    assert standby.sample("tx") == [{"name": "tx"}]
    place = StandbyPlace("fraud", tmp_path)
    assert place.holder.ending == "stopped"
    place.leave()


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("stopped", "was stopped"),
        ("caught_up", "has processed its input"),
        ("drained", "has drained the pipeline"),
        ("fenced", "was fenced by a newer run of the pipeline"),
    ],
)
def test_standby_ends_with_a_run_that_was_ended(
    graph: Graph, tmp_path: Path, ending: Ending, text: str
) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    standby = stand_by(graph, tmp_path)
    run.record_ending(ending)
    run.release()
    assert standby.wait(TIMEOUT)
    assert not standby.took_over
    assert standby.reason.endswith(text)
    assert standby.status().phase == f"standby ended: {standby.reason}"
    assert not standby.status().active
    PipelineDirectory.acquire("fraud", tmp_path).release()


def test_stop_ends_a_waiting_standby_and_not_the_run(graph: Graph, tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    standby = stand_by(graph, tmp_path)
    standby.stop()
    assert standby.reason.endswith(" continues")
    with pytest.raises(OptionError, match="another run of the pipeline is using it"):
        PipelineDirectory.acquire("fraud", tmp_path)
    run.release()


def test_stop_during_the_take_over_stops_the_new_run(graph: Graph, tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    begun, stopped = threading.Event(), threading.Event()

    def begin(spark: Any, directory: PipelineDirectory) -> RunHandle:
        begun.set()
        assert stopped.wait(TIMEOUT)
        return Successor(spark, graph, directory)

    standby = stand_by(graph, tmp_path, begin)
    run.release()
    assert begun.wait(TIMEOUT)
    stopper = threading.Thread(target=standby.stop)
    stopper.start()
    assert standby._stopping.wait(TIMEOUT)
    stopped.set()
    stopper.join(TIMEOUT)
    assert standby.wait(0)


def test_failed_take_over_is_the_failure_of_the_standby(graph: Graph, tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)

    def begin(spark: Any, directory: PipelineDirectory) -> RunHandle:
        raise SourceError("no server", where="tx")

    standby = stand_by(graph, tmp_path, begin)
    run.release()
    with pytest.raises(SourceError, match="no server"):
        standby.wait(TIMEOUT)
    PipelineDirectory.acquire("fraud", tmp_path).release()


def test_standby_without_a_jvm_fails(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_jvm_alive", lambda: False)
    run = PipelineDirectory.acquire("fraud", tmp_path)
    with pytest.raises(SetupError, match="the JVM of the standby has ended"):
        stand_by(graph, tmp_path).wait(TIMEOUT)
    run.release()
