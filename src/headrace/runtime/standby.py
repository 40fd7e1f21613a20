"""A standby: a process with Spark ready that takes over when the active run fails or is killed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.errors import OptionError, SetupError
from headrace.plan.queries import Query, queries_of
from headrace.runtime.handle import RunHandle
from headrace.runtime.progress.status import Status
from headrace.runtime.threads import start_thread
from headrace.spark.gateway import is_jvm_alive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.checkpoints.directory import PipelineDirectory
    from headrace.checkpoints.lock import Ending, Holder
    from headrace.checkpoints.standby import StandbyPlace
    from headrace.plan.graph import Graph

POLL = 0.2
"""Seconds between two attempts to acquire the lock."""
NO_RUN = "standby: there is no other run, starting this one"

_ENDINGS: dict[Ending, str] = {
    "stopped": "was stopped",
    "caught_up": "has processed its input",
    "drained": "has drained the pipeline",
    "fenced": "was fenced by a newer run of the pipeline",
}


def describe_wait(holder: Holder) -> str:
    """Return the phase of a standby that waits."""
    return f"standby: waiting for the run of {holder}"


class StandbyRun(RunHandle):
    """A standby, and from its take-over on the run that it has started.

    Sources, sinks and the checkpoint are not touched before the take-over. `stop` ends the standby at once
    while it waits.
    """

    def __init__(
        self,
        spark: SparkSession,
        graph: Graph,
        place: StandbyPlace,
        begin: Callable[[SparkSession, PipelineDirectory], RunHandle],
        warnings: Sequence[str] = (),
    ) -> None:
        """Wait for the lock in a thread.

        Args:
            spark: the session.
            graph: the plan.
            place: the place at the checkpoint directory.
            begin: starts the run in the locked directory.
            warnings: warnings of the warm-up.
        """
        super().__init__(spark, graph, place.directory)
        self._place = place
        self._begin = begin
        self._warnings = tuple(warnings)
        self._phase = describe_wait(place.holder)
        self._stopping = threading.Event()
        self._run: RunHandle | None = None
        self.took_over = False
        """True once the lock was acquired to take over."""
        self.reason = ""
        """The reason why the standby ended without taking over."""
        start_thread(graph.name, self._stand_by, on_failure=self._fail)

    @property
    def queries(self) -> list[Query]:
        return list(queries_of(self.graph)) if self._run is None else self._run.queries

    def status(self) -> Status:
        if self._run is not None:
            status = self._run.status()
            return replace(status, warnings=(*self._warnings, *status.warnings))
        return Status(
            active=not self._ended.is_set(),
            rows_in=0,
            rows_out=0,
            rate=0.0,
            latency_ms=None,
            watermark=None,
            late=0,
            warnings=self._warnings,
            phase=self._phase,
        )

    def sample(self, name: str, *, rows: int = 10, timeout: float = 10.0) -> list[dict[str, Any]]:
        if self._run is None:
            raise OptionError("a standby reads no rows", where=name, hint="sample the active run")
        return self._run.sample(name, rows=rows, timeout=timeout)

    def stop(self) -> None:
        self._end_with(lambda run: run.stop())

    def kill(self) -> None:
        self._end_with(lambda run: run.kill())

    def _end_with(self, end: Callable[[RunHandle], None]) -> None:
        self._stopping.set()
        if self._run is not None:
            end(self._run)
        self._ended.wait()

    def _stand_by(self) -> None:
        try:
            if self._await_lock():
                self._take_over()
        except BaseException as error:
            self._fail(error)
        finally:
            self._place.leave()
            self._ended.set()

    def _await_lock(self) -> bool:
        """Wait until no run holds the lock; return True if the last one needs a successor."""
        while not self._place.try_acquire():
            if not is_jvm_alive():
                raise SetupError("the JVM of the standby has ended", where="standby", hint="see Spark's log")
            self._phase = describe_wait(self._place.holder)
            if self._stopping.wait(POLL):
                self._end_without_run(f"the run of {self._place.holder} continues")
                return False
        if (ending := self._place.holder.ending) is not None:
            self._end_without_run(f"the run of {self._place.holder} {_ENDINGS[ending]}")
        return ending is None

    def _end_without_run(self, reason: str) -> None:
        self.reason = reason
        self._phase = f"standby ended: {reason}"

    def _take_over(self) -> None:
        before = self._place.holder
        self.took_over = True
        self._phase = f"standby: taking over from {before}"
        self._warnings += (f"the run of {before} failed or was killed; this standby took over",)
        self._run = run = self._begin(self.spark, self._place.take_over())
        if self._stopping.is_set():  # while the run was starting
            run.stop()
        run.wait()
