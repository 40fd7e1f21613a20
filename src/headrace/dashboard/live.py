"""The parts of pages that change while they are open: streams, fragments, histories, checks of documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, StreamingResponse
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from headrace.access import restrict
from headrace.access.effort import EffortError, limit_effort
from headrace.dashboard.charts import RANGES
from headrace.dashboard.editor.completion import complete, complete_expression
from headrace.dashboard.editor.documents import check_document
from headrace.dashboard.editor.versions import TONES, diff_lines, notes_of, verdict_of
from headrace.dashboard.feeds.base import Feed, JobView
from headrace.dashboard.formatting import outline
from headrace.dashboard.health import by_urgency
from headrace.dashboard.messages import job_cells, job_message, jobs_message, node_figures, partitions_of
from headrace.dashboard.plan_graph import graph_of
from headrace.dashboard.rendering import render, viewer_of
from headrace.dashboard.stored.logs import LogFilter, read_log, spark_log
from headrace.dashboard.stored.side_outputs import read_rows
from headrace.errors import HeadraceError
from headrace.jobs.api.access import JobWithRows, Operator, ViewedJob, Viewer, may_read_rows
from headrace.jobs.live import Hub
from headrace.jobs.security.masking import mask_document
from headrace.jobs.security.principals import Principal

router = APIRouter(prefix="/ui", include_in_schema=False)
JOBS = "jobs"
"""The topic of the jobs page; other topics are ids of jobs."""
MAX_DOCUMENT = 1 << 20
"""The maximum size of a document, in bytes."""


def _feed(request: Request) -> Feed:
    feed: Feed = request.app.state.feed
    return feed


class LogQuery(BaseModel):
    """The part of a log that a page reads: after an offset, and filtered."""

    attempt: int = Field(default=1, ge=0, le=1 << 30)
    offset: int = -1
    origin: Literal["driver", "spark"] = "driver"
    search: str = ""
    level: str = ""
    step: str = ""
    epoch: str = ""


FeedOf = Annotated[Feed, Depends(_feed)]


def _view(job: ViewedJob, feed: FeedOf) -> JobView:
    return _existing(job, feed)


def _view_with_rows(job: JobWithRows, feed: FeedOf) -> JobView:
    return _existing(job, feed)


def _existing(job: str, feed: Feed) -> JobView:
    view = feed.job(job)
    if view is None:  # deleted since its owner was checked
        raise HTTPException(404, "no job has this id")
    return view


Position = Annotated[int, Query(ge=0, le=MAX_DOCUMENT)]
ViewOfJob = Annotated[JobView, Depends(_view)]
ViewOfJobWithRows = Annotated[JobView, Depends(_view_with_rows)]


def message_of(feed: Feed, topic: str) -> dict[str, Any] | None:
    """Return the message of a topic; None if its job is gone."""
    if topic == JOBS:
        return jobs_message(feed.jobs())
    job = feed.job(topic)
    return None if job is None else job_message(job, _graph(feed, topic))


def _graph(feed: Feed, job: str) -> dict[str, Any] | None:
    """Return the graph of a job without declarations; None before its plan is known."""
    plan = feed.plan(job)
    return graph_of(plan) if plan else None


def document_for(feed: Feed, job: JobView, viewer: Principal) -> tuple[str, str]:
    """Return the name and the text of a job's file; without secrets, if the viewer may not change the job."""
    file, text = feed.document(job.id)
    return file, text if viewer.may_change(job.owner) else mask_document(text, file)


def graph_for(feed: Feed, job: JobView, viewer: Principal) -> dict[str, Any] | None:
    """Return the graph of a job; None before its plan is known.

    It has the declarations of its steps, unless the viewer may not read the document.
    """
    plan = feed.plan(job.id)
    if not plan:
        return None
    if not may_read_rows(feed.policy, viewer, job.owner):
        return graph_of(plan)
    file, text = document_for(feed, job, viewer)
    return graph_of(plan, text if file.endswith((".yaml", ".yml")) else "")


@router.get("/events/jobs")
async def events_of_jobs(request: Request, viewer: Viewer) -> StreamingResponse:
    """Stream the messages of the jobs page."""
    hub: Hub = request.app.state.hub
    return hub.response(JOBS, viewer.name)


@router.get("/events/{job}")
async def events_of_job(request: Request, job: ViewedJob, viewer: Viewer) -> StreamingResponse:
    """Stream the messages of the pages of a job."""
    hub: Hub = request.app.state.hub
    return hub.response(job, viewer.name)


@router.get("/jobs/rows")
def job_rows(request: Request, feed: FeedOf, _: Viewer, q: str = "", state: str = "") -> HTMLResponse:
    """Return the rows of the table of jobs that match a filter."""
    jobs = [job for job in by_urgency(feed.jobs()) if _matches(q, job.name, job.id, job.owner, job.state)]
    rows = [(job, job_cells(job)) for job in jobs if not state or job.state == state]
    return render(request, "job_rows.html", rows=rows)


def _matches(search: str, *texts: str) -> bool:
    return all(any(word in text.lower() for text in texts) for word in search.lower().split())


@router.get("/jobs/{job}/history")
def history(
    feed: FeedOf, job: ViewedJob, seconds: Annotated[int, Query(ge=60, le=7 * 86_400)] = 900
) -> dict[str, Any]:
    """Return the series of the charts."""
    samples = feed.history(job, seconds)
    return {"columns": samples.columns, "marks": samples.marks, "ranges": RANGES}


@router.get("/jobs/{job}/steps/{step}")
def step(request: Request, feed: FeedOf, job: ViewOfJob, step: str) -> HTMLResponse:
    """Return the panel of one step."""
    viewer = viewer_of(request)
    graph = graph_for(feed, job, viewer)
    node = next((node for node in (graph or {"nodes": []})["nodes"] if node["id"] == step), None)
    if node is None:
        raise HTTPException(404, "no such step")
    rows_visible = may_read_rows(feed.policy, viewer, job.owner)
    shown = {"node": node, "figures": node_figures(job, node), "rows_visible": rows_visible}
    shown["partitions"] = partitions_of(job, node)
    return render(request, "step.html", job=job, **shown)


@router.get("/jobs/{job}/steps/{step}/key")
def key_state(request: Request, feed: FeedOf, job: JobWithRows, step: str, key: str = "") -> HTMLResponse:
    """Return the state or the partial matches of a key, which the driver reads."""
    nodes = (_graph(feed, job) or {"nodes": []})["nodes"]
    patterns = any(node["patterns"] for node in nodes if node["id"] == step)
    try:
        answer = feed.inquire(job, "why" if patterns else "state", step, key)
    except HeadraceError as error:
        return render(request, "key_state.html", error=error.problem.what)
    return render(request, "key_state.html", error="", steps=answer["steps"], outline=outline)


@router.get("/jobs/{job}/sample")
def sample(request: Request, feed: FeedOf, job: JobWithRows, step: str) -> HTMLResponse:
    """Return rows that pass an edge, which the driver takes from the next micro-batch."""
    try:
        answer = feed.inquire(job, "sample", step)
    except HeadraceError as error:
        return render(request, "sample.html", error=error.problem.what)
    rows = answer["rows"]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return render(request, "sample.html", error="", step=step, rows=rows, columns=columns, at=None)


@router.get("/jobs/{job}/sinks/{sink}")
def last_rows(request: Request, feed: FeedOf, job: JobWithRows, sink: str) -> HTMLResponse:
    """Return the last rows of a sink, which the driver keeps."""
    try:
        answer = feed.inquire(job, "last_rows", sink)
    except HeadraceError as error:
        return render(request, "sample.html", error=error.problem.what)
    rows = answer["rows"]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return render(request, "sample.html", error="", step=sink, rows=rows, columns=columns, at=answer["at"])


@router.get("/jobs/{job}/steps/{step}/violations")
def violations(request: Request, feed: FeedOf, job: JobWithRows, step: str) -> HTMLResponse:
    """Return rows that violate the rules of an expectation, which the driver samples."""
    try:
        answer = feed.inquire(job, "violations", step)
    except HeadraceError as error:
        return render(request, "violations.html", error=error.problem.what)
    rules = [
        {"name": rule, "rows": rows, "columns": list(dict.fromkeys(name for row in rows for name in row))}
        for rule, rows in answer["rules"].items()
        if rows
    ]
    return render(request, "violations.html", error="", step=step, rules=rules)


@router.get("/jobs/{job}/physical")
def physical(request: Request, feed: FeedOf, job: JobWithRows) -> HTMLResponse:
    """Return executors and physical plans, which the driver reads."""
    try:
        answer = feed.inquire(job, "plan")
    except HeadraceError as error:
        return render(request, "physical.html", error=error.problem.what)
    return render(request, "physical.html", error="", **answer)


@router.get("/jobs/{job}/data/{output}")
def data_rows(request: Request, feed: FeedOf, job: JobWithRows, output: str, q: str = "") -> HTMLResponse:
    """Return the newest rows of a side output that contain a text."""
    rows = read_rows(feed.checkpoint(job), output, search=q)
    return render(request, "data_rows.html", rows=rows, chosen=output, search=q)


@router.get("/jobs/{job}/log")
def log(feed: FeedOf, job: JobWithRows, wanted: Annotated[LogQuery, Query()]) -> dict[str, Any]:
    """Return the records of a log of an attempt after an offset."""
    if wanted.origin == "spark":
        pids = [each.pid for each in feed.attempts(job) if each.number == wanted.attempt]
        file = spark_log(feed.checkpoint(job), pids[0] if pids else None)
    else:
        file = feed.log_file(job, wanted.attempt)
    filtered = LogFilter(wanted.search, wanted.level, wanted.step, wanted.epoch)
    return asdict(read_log(file, filtered, offset=wanted.offset))


async def _document(request: Request) -> str:
    body = await request.body()
    if len(body) > MAX_DOCUMENT:
        raise HTTPException(413, "the document is larger than 1 MiB")
    return body.decode(errors="replace")


@router.post("/check")
async def check(request: Request, feed: FeedOf, _: Operator) -> dict[str, Any]:
    """Check a document: problems and warnings by line, and its graph."""
    return asdict(await run_in_threadpool(check_document, await _document(request), feed.policy))


@router.post("/jobs/{job}/compare")
async def compare(request: Request, feed: FeedOf, job: ViewOfJobWithRows, _: Operator) -> HTMLResponse:
    """Return the differences of a document from that of a job, and the plan of an upgrade to it."""
    return await run_in_threadpool(_compare, request, feed, job, await _document(request))


def _compare(request: Request, feed: Feed, job: JobView, text: str) -> HTMLResponse:
    error, comparison = "", None
    try:
        comparison = feed.compare(job.id, text)
    except HeadraceError as problem:
        error = problem.problem.what
    lines = diff_lines(document_for(feed, job, viewer_of(request))[1], text)
    shown: dict[str, Any] = {"lines": lines, "comparison": comparison, "error": error}
    return render(request, "compare.html", **shown, verdict_of=verdict_of, notes_of=notes_of, tones=TONES)


@router.post("/complete")
async def completions(
    request: Request, feed: FeedOf, line: Position, column: Position, _: Operator
) -> list[dict[str, str]]:
    """Return the keys, values, columns and functions that fit at a position of a document."""
    text = await _document(request)
    return await run_in_threadpool(_complete, feed, text, line, column)


def _complete(feed: Feed, text: str, line: Position, column: Position) -> list[dict[str, str]]:
    try:
        with restrict(feed.policy.access), limit_effort("document"):
            return [*complete_expression(text, line, column), *complete(text, line, column)]
    except EffortError:
        return complete(text, line, column)
