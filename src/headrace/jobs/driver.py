"""The driver process of a job: runs the pipeline, reports every tick, and handles requests of the service.

Service and driver communicate through files (`jobs.directory`), so either can be killed and restarted alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.access import spark_settings
from headrace.checkpoints.layout import (
    checkpoint_of,
    has_unfinished_epoch,
    list_checkpoints,
    progress_of,
    queries_with_state,
)
from headrace.checkpoints.repartition import repartition
from headrace.errors import DeliveryError, FencedError, HeadraceError, SourceError, without_passwords
from headrace.explain.explanation import as_json, explain
from headrace.jobs.directory import JobDirectory, read_json, totals_of, write_json
from headrace.jobs.inquiries import Answers
from headrace.jobs.logging import EpochLog
from headrace.jobs.model import JobSettings
from headrace.jobs.process import start_time
from headrace.metrics.lineage import datasets_of
from headrace.metrics.tick import TickBuilder
from headrace.plan.absences import trailing_absences
from headrace.runtime.fresh import restore_effects
from headrace.runtime.options import RunOptions
from headrace.runtime.run import start

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.runtime.handle import RunHandle
    from headrace.streams.pipeline import Pipeline

TICK = 1.0
"""Seconds between two reports."""
POLL = 0.25
"""Seconds between two checks for requests."""
GENERATORS_END_NOW = "spark.sql.headrace.generatorsEndNow"
"""The setting of the kernel with which a bounded run does not wait for further rows of a generator."""


class Driver:
    """One attempt of a job."""

    def __init__(
        self,
        directory: Path,
        attempt: int,
        settings: JobSettings,
        *,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._job = JobDirectory(directory)
        self._attempt = self._job.attempt(attempt)
        self._number = attempt
        self._settings = settings
        self._interrupted = interrupted
        self._epochs = EpochLog()
        identity = {"pid": os.getpid(), "started": start_time(os.getpid()), "attempt": attempt}
        write_json(self._attempt.driver, identity)

    def run(self, load: Callable[[], Pipeline], on_start: Callable[[], None] = lambda: None) -> str:
        """Run the pipeline, record and return its ending; `on_start` is called once a run has started."""
        try:
            ending = self._run(load(), on_start)
        except HeadraceError as error:
            self._record("failed", error=without_passwords(str(error)), retry=is_transient(error))
            raise
        except BaseException as error:
            text = without_passwords(f"{type(error).__name__}: {error}")
            self._record("failed", error=text, retry=True)
            raise
        self._record(ending)
        return ending

    def _run(self, pipeline: Pipeline, on_start: Callable[[], None]) -> str:
        declared = pipeline._declared_run.options if pipeline._declared_run is not None else RunOptions()
        options = self._settings.run_options(declared)
        options = replace(options, checkpoint=self._job.checkpoint, conf={**options.conf, **spark_settings()})
        graph = pipeline._plan()
        facts = {
            "datasets": datasets_of(graph),
            "restore_effects": list(restore_effects(graph)),
            "trailing_absences": trailing_absences(graph),
        }
        write_json(self._job.plan, as_json(explain(graph)) | facts)
        if self._job.read_request() == "drain":  # an earlier attempt failed while it drained
            options = drain_options(options)
        self._scale(graph, options, on_start)
        self._follow(graph, options, on_start)
        if self._job.read_request() == "drain" and options.until != "drained":
            self._follow(graph, drain_options(options), on_start)
            return "drained"
        return options.until if not self._stops() else "stopped"

    def _scale(self, graph: Graph, options: RunOptions, on_start: Callable[[], None]) -> None:
        """Rewrite the state if the checkpoint has another number of partitions than the settings."""
        partitions, directory = self._settings.partitions, self._job.checkpoint
        if partitions is None or not list_checkpoints(directory):
            return
        places = [checkpoint_of(directory, query) for query in queries_with_state(graph, directory)]
        if all(progress_of(place).partitions in (partitions, None) for place in places):
            return
        if any(map(has_unfinished_epoch, places)):  # Spark rewrites committed state only
            finishing = replace(options, until="caught_up", mode="micro_batch", every=None)
            self._follow(graph, finishing, on_start)
        self._report({"phase": f"rewriting the state in {partitions} partitions"})
        repartition(graph, directory, partitions, master=options.master, conf=options.conf)

    def _follow(self, graph: Graph, options: RunOptions, on_start: Callable[[], None]) -> None:
        ticks = TickBuilder(graph, self._last_tick())
        with start(graph, options, lambda phase: self._report({"phase": phase})) as handle:
            on_start()
            self._epochs.begin_run()
            answers = Answers(self._job, graph, options, handle)
            self._watch(handle, ticks, answers, draining=options.until == "drained")
            self._report(ticks.build(handle.status()))
            self._epochs.add(handle.status(), last=True)

    def _watch(self, handle: RunHandle, ticks: TickBuilder, answers: Answers, *, draining: bool) -> None:
        stopping: Future[None] | None = None
        due = 0.0
        with ThreadPoolExecutor(2, thread_name_prefix="driver") as executor:
            while not handle.wait(POLL):
                answers.answer_pending(executor)
                if stopping is None and (self._stops() or (self._job.read_request() and not draining)):
                    stopping = executor.submit(handle.stop)
                if time.monotonic() >= due:
                    due = time.monotonic() + TICK
                    status = handle.status()
                    self._report(ticks.build(status))
                    self._epochs.add(status)

    def _stops(self) -> bool:
        return self._interrupted() or self._job.read_request() == "stop"

    def _report(self, tick: dict[str, Any]) -> None:
        write_json(self._attempt.status, {"at": time.time(), **self._totals_before(), **tick})

    def _totals_before(self) -> dict[str, Any]:
        """Return the totals of the previous run, which a report without a tick passes on."""
        return totals_of(self._last_tick())

    def _last_tick(self) -> dict[str, Any]:
        """Return the last tick of the previous run, of this attempt or an earlier one."""
        numbers = range(self._number, 0, -1)
        ticks = (read_json(self._job.attempt(number).status) for number in numbers)
        return next((tick for tick in ticks if tick is not None), {})

    def _record(self, ending: str, **facts: Any) -> None:
        write_json(self._attempt.exit, {"ending": ending, "at": time.time(), **facts})


def drain_options(options: RunOptions) -> RunOptions:
    """Return the options of a run that drains the job after an unbounded run.

    Generators and recordings end at the rows of the request; other sources end at their present offsets.
    """
    conf = {**options.conf, GENERATORS_END_NOW: "true"}
    return replace(options, until="drained", mode="micro_batch", every=None, fresh=False, conf=conf)


def is_transient(error: HeadraceError) -> bool:
    """True if a restart may succeed, because a source or a sink failed; an invalid plan would fail again."""
    return isinstance(error, SourceError | DeliveryError) and not isinstance(error, FencedError)
