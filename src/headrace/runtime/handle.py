"""The handle of a run: follow it, wait for it, end it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from headrace.errors import FencedError, HeadraceError, OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.checkpoints.directory import PipelineDirectory
    from headrace.checkpoints.lock import Ending
    from headrace.plan.graph import Graph
    from headrace.plan.queries import Query
    from headrace.runtime.progress.status import Status


class RunHandle(ABC):
    """A run that has been started. Use it as a context manager, or end it with `stop()`.

    >>> with pipeline.start(until="caught_up") as run:  # doctest: +SKIP
    ...     run.wait()
    ...     run.status().rows_in
    1000
    """

    def __init__(self, spark: SparkSession, graph: Graph, directory: PipelineDirectory) -> None:
        self.spark = spark
        self.graph = graph
        self.directory = directory
        self._failure: HeadraceError | None = None
        self._ended = threading.Event()

    @property
    @abstractmethod
    def queries(self) -> list[Query]:
        """The queries of the plan, in order."""

    @abstractmethod
    def status(self) -> Status:
        """Return the progress of the run."""

    def sample(self, name: str, *, rows: int = 10, timeout: float = 10.0) -> list[dict[str, Any]]:
        """Return rows that pass an edge of the plan in the next micro-batch, without changing the run.

        `name` is a step, `step.output`, or a sink, which stands for its input. Returns no rows if none passes
        within `timeout` seconds. Rows of more than 4096 characters are truncated.

        >>> run.sample("totals", rows=2)  # doctest: +SKIP
        [{'card': 'c1', 'n': 3}, {'card': 'c2', 'n': 1}]

        Raises:
            OptionError: there is no such step or output, or the run is in real-time mode.
        """
        what = "rows cannot be sampled in real-time mode"
        raise OptionError(what, where=name, hint="run it without --real-time")

    def _last_rows(self, sink: str) -> tuple[float, list[dict[str, Any]]]:
        """Return the last rows of a sink, at most ten, and their time; keep them from the first call on."""
        return 0.0, []

    def _violations(self, step: str) -> dict[str, list[dict[str, Any]]]:
        """Return sample rows of an expectation by rule: those of the last epoch with a violation."""
        return {}

    @abstractmethod
    def stop(self) -> None:
        """Stop gracefully: finish and commit the current micro-batch. The next run resumes from there."""

    @abstractmethod
    def kill(self) -> None:
        """Stop immediately. The next run processes the current micro-batch again."""

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the run has ended; return False if `timeout` seconds passed before.

        Raises:
            HeadraceError: the run failed.
        """
        if not self._ended.wait(timeout):
            return False
        if self._failure is not None:
            raise self._failure
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._ended.is_set():
            self.kill()

    def __repr__(self) -> str:
        return f"<run of {self.graph.name}: {self._state()}>"

    def _repr_html_(self) -> str:
        return f"<b>{escape(self.graph.name)}</b> {self._state()}{self.status()._repr_html_()}"

    def _state(self) -> str:
        if not self._ended.is_set():
            return "running"
        return "failed" if self._failure is not None else "ended"

    def _release(self, ending: Ending) -> None:
        """Record the ending, unless the run has failed, and release the directory."""
        if self._failure is None:
            self.directory.record_ending(ending)
        elif isinstance(self._failure, FencedError):
            self.directory.record_ending("fenced")
        self.directory.release()

    def _fail(self, error: BaseException) -> None:
        """Record the failure that ends the run, unless one is recorded already."""
        from headrace.runtime.failures import translate_error

        translated = error if isinstance(error, HeadraceError) else translate_error(self.graph, error)
        self._failure = self._failure or translated
