"""Inquiries that only the driver of a running job can answer: the state of a key, `why`, plans, samples.

The service writes a request to a file and waits for the response in another. The driver reads committed state
with the Spark session of the job while its queries run; it answers one inquiry at a time.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from headrace.debugging.state import state_of
from headrace.debugging.tables import query_tables, read_table
from headrace.debugging.why import why_of
from headrace.errors import HeadraceError, OptionError, without_passwords
from headrace.jobs.directory import JobDirectory, read_json, write_json
from headrace.jobs.states import ConflictError
from headrace.runtime.queries.inspection import physical_plans
from headrace.runtime.samples import ROWS
from headrace.spark.gateway import executors_of
from headrace.spark.session import open_session

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.runtime.handle import RunHandle
    from headrace.runtime.options import RunOptions

TIMEOUT = 60.0
"""The timeout of an inquiry, in seconds."""
_POLL = 0.05


class Inquiry(BaseModel):
    """An inquiry about a job.

    `step` and `key` select the state for `state` and `why`, `step` a sample. `table` reads the table `step`,
    or its rows of `key`; `query` runs `sql` over the tables of the job, `last_rows` returns the last rows of
    the sink `step`, and `violations` sample rows of the expectation `step`.
    """

    kind: Literal["state", "why", "plan", "sample", "last_rows", "violations", "table", "query"]
    step: str | None = None
    key: str | None = None
    rows: int = ROWS
    sql: str = ""
    id: str = ""


def inquire(directory: JobDirectory, inquiry: Inquiry, timeout: float = TIMEOUT) -> dict[str, Any]:
    """Write an inquiry for the driver, wait for the answer and return it.

    Raises:
        ConflictError: another inquiry is waiting, or the driver does not answer in time.
        OptionError: the driver rejects it, such as an unknown key.
    """
    question, answer = _files(directory)
    if question.exists() and time.time() - question.stat().st_mtime < timeout:
        raise ConflictError("another inquiry is being answered", where="job", hint="try again later")
    identified = inquiry.model_copy(update={"id": secrets.token_hex(8)})
    write_json(question, identified.model_dump())
    deadline = time.monotonic() + timeout
    try:
        while True:
            content = read_json(answer)
            if content is not None and content["id"] == identified.id:
                break
            if time.monotonic() > deadline:
                raise ConflictError("the driver does not answer", where="job", hint="is it busy?")
            time.sleep(_POLL)
    finally:
        question.unlink(missing_ok=True)
        answer.unlink(missing_ok=True)
    if "error" in content:
        raise OptionError(content["error"], where=inquiry.step or inquiry.kind)
    result: dict[str, Any] = content["result"]
    return result


class Answers:
    """Answers the inquiries about one run, in its driver."""

    def __init__(self, directory: JobDirectory, graph: Graph, options: RunOptions, handle: RunHandle) -> None:
        self._handle = handle
        self._directory = directory
        self._graph = graph
        self._options = options
        self._last = ""
        handle._last_rows("")  # keeps them from now on

    def answer_pending(self, executor: Executor) -> None:
        """Answer a new inquiry on another thread, if there is one."""
        question, _ = _files(self._directory)
        content = read_json(question)
        if content is not None and content["id"] != self._last:
            self._last = content["id"]
            executor.submit(self._answer, Inquiry.model_validate(content))

    def _answer(self, inquiry: Inquiry) -> None:
        answers: dict[str, Callable[[Inquiry], dict[str, Any]]] = {
            "state": self._state,
            "why": self._why,
            "plan": self._plan,
            "sample": self._sample,
            "last_rows": self._last_rows,
            "violations": self._violations,
            "table": self._table,
            "query": self._query,
        }
        try:
            content: dict[str, Any] = {"result": answers[inquiry.kind](inquiry)}
        except HeadraceError as error:
            content = {"error": error.problem.what}
        except Exception as error:  # an inquiry must not end the run
            content = {"error": without_passwords(f"{type(error).__name__}: {error}".splitlines()[0])}
        write_json(_files(self._directory)[1], {"id": inquiry.id, **content})

    def _state(self, inquiry: Inquiry) -> dict[str, Any]:
        states = state_of(self._graph, self._directory.checkpoint, **self._arguments(inquiry))
        return {"steps": [each.as_json() for each in states]}

    def _why(self, inquiry: Inquiry) -> dict[str, Any]:
        arguments = self._arguments(inquiry) | {"key": (inquiry.key or "").split(",")}
        reports = why_of(self._graph, self._directory.checkpoint, **arguments, read_input=False)
        return {"steps": [each.as_json() for each in reports]}

    def _plan(self, inquiry: Inquiry) -> dict[str, Any]:
        master, conf = self._options.master, self._options.conf
        plans = physical_plans(self._graph, master=master, conf=conf)
        session = open_session(self._graph.name, master=master, conf=conf)
        return {"plans": plans, "executors": executors_of(session)}

    def _sample(self, inquiry: Inquiry) -> dict[str, Any]:
        rows = self._handle.sample(inquiry.step or "", rows=inquiry.rows)
        return {"step": inquiry.step, "rows": rows}

    def _last_rows(self, inquiry: Inquiry) -> dict[str, Any]:
        at, rows = self._handle._last_rows(inquiry.step or "")
        return {"step": inquiry.step, "at": at, "rows": rows}

    def _violations(self, inquiry: Inquiry) -> dict[str, Any]:
        return {"step": inquiry.step, "rules": self._handle._violations(inquiry.step or "")}

    def _table(self, inquiry: Inquiry) -> dict[str, Any]:
        place, name = self._directory.checkpoint, inquiry.step or ""
        options = {"key": inquiry.key, "limit": inquiry.rows, **self._session}
        return read_table(self._graph, place, name, **options).as_json()

    def _query(self, inquiry: Inquiry) -> dict[str, Any]:
        place, limit = self._directory.checkpoint, inquiry.rows
        return query_tables(self._graph, place, inquiry.sql, limit=limit, **self._session).as_json()

    @property
    def _session(self) -> dict[str, Any]:
        return {"master": self._options.master, "conf": self._options.conf}

    def _arguments(self, inquiry: Inquiry) -> dict[str, Any]:
        return {"step": inquiry.step, "key": inquiry.key or None, **self._session}


def _files(directory: JobDirectory) -> tuple[Path, Path]:
    return directory.path / "inquiry.json", directory.path / "answer.json"
