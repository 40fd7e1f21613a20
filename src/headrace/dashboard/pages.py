"""The pages: jobs, a job's graph, metrics, data and runs, the editor, alerts, about."""

from __future__ import annotations

import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exception_handlers import http_exception_handler
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from headrace.checkpoints.savepoints import list_savepoints
from headrace.dashboard import charts, live
from headrace.dashboard.assets import ASSETS
from headrace.dashboard.disorder import bars_of, recommendation
from headrace.dashboard.editor import sample_runs
from headrace.dashboard.editor.flow import pages as flow_pages
from headrace.dashboard.editor.starters import STARTER, STARTERS
from headrace.dashboard.feeds.base import AlertView, Feed, JobView
from headrace.dashboard.health import JUDGED_BY, by_urgency, summary_of
from headrace.dashboard.live import FeedOf, ViewOfJob, ViewOfJobWithRows, document_for, graph_for, message_of
from headrace.dashboard.messages import job_cells, job_message
from headrace.dashboard.plan_graph import graph_of, height_of
from headrace.dashboard.rendering import is_page, render, viewer_of
from headrace.dashboard.stored.checkpoints import read_checkpoints
from headrace.dashboard.stored.side_outputs import list_side_outputs, read_payloads, read_rows
from headrace.dashboard.stored.sinks import list_sinks
from headrace.errors import SetupError
from headrace.jobs.api.access import Admin, Anyone, Viewer, may_read_rows
from headrace.jobs.live import Hub, StreamLimit
from headrace.metrics.alerts.rules import CONDITIONS
from headrace.runtime.progress.delays import ENOUGH_ROWS
from headrace.spark.java import find_java

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_LIBRARIES = ("pyspark", "fastapi", "uvicorn", "pydantic", "pyarrow")


def add_pages(app: FastAPI, feed: Feed, streams: StreamLimit | None = None) -> None:
    """Add the pages that show the jobs of a feed to an application."""
    app.state.feed = feed
    app.state.hub = Hub(lambda topic: message_of(feed, topic), limit=streams)
    app.mount("/static", ASSETS, name="static")
    for each in routers():
        app.include_router(each)

    @app.exception_handler(StarletteHTTPException)
    async def answer(request: Request, error: StarletteHTTPException) -> Response:
        """Answer with a page if a browser opened one, else with JSON."""
        if is_page(request):
            return render(request, "error.html", error.status_code, detail=error.detail)
        return await http_exception_handler(request, error)


def routers() -> list[APIRouter]:
    """Return the routers of the pages."""
    return [live.router, sample_runs.router, flow_pages.router, router]


def _job_page(request: Request, feed: Feed, job: JobView, tab: str, **context: Any) -> HTMLResponse:
    viewer = viewer_of(request)
    graph = graph_for(feed, job, viewer)
    shown: dict[str, Any] = {"rows_visible": may_read_rows(feed.policy, viewer, job.owner), "graph": graph}
    shown["absences"] = (feed.plan(job.id) or {}).get("trailing_absences", ())
    state = {"job": job.id, "name": job.name, "graph": graph, "now": job_message(job, graph)}
    merged = {**state, **context.pop("state", {})}
    return render(request, f"job_{tab}.html", job=job, tab=tab, state=merged, **shown, **context)


@router.get("/")
def jobs_page(request: Request, feed: FeedOf, _: Viewer) -> HTMLResponse:
    """Show all jobs."""
    jobs = by_urgency(feed.jobs())
    rows = [(job, job_cells(job)) for job in jobs]
    shown: dict[str, Any] = {
        "rows": rows,
        "summary": summary_of(jobs),
        "judged_by": JUDGED_BY,
        "firing": _firing(feed),
        "starter": STARTER,
    }
    return render(request, "jobs.html", **shown)


@router.get("/jobs/{job}")
def graph_page(request: Request, feed: FeedOf, job: ViewOfJob) -> HTMLResponse:
    """Show the data-flow graph of a job and its main charts."""
    state = {"charts": [asdict(chart) for chart in charts.OVERVIEW], "range": charts.RANGES["15 min"]}
    plan = feed.plan(job.id)
    height = height_of(graph_of(plan)) if plan else 0
    return _job_page(request, feed, job, "graph", charts=charts.OVERVIEW, height=height, state=state)


@router.get("/jobs/{job}/metrics")
def metrics_page(request: Request, feed: FeedOf, job: ViewOfJob) -> HTMLResponse:
    """Show all charts of a job over one time range."""
    state = {"charts": [asdict(chart) for chart in charts.ALL], "range": charts.RANGES["15 min"]}
    disorder, recommended = bars_of(job.figures), recommendation(job.figures)
    shown = {"charts": charts.ALL, "ranges": charts.RANGES, "disorder": disorder, "recommended": recommended}
    rows = {"rows_seen": sum(bar.rows for bar in disorder), "rows_needed": ENOUGH_ROWS}
    return _job_page(request, feed, job, "metrics", state=state, **shown, **rows)


@router.get("/jobs/{job}/data")
def data_page(request: Request, feed: FeedOf, job: ViewOfJobWithRows, output: str = "") -> HTMLResponse:
    """Show the stored side outputs of a job: dead letters and late data, with their reasons."""
    checkpoint = feed.checkpoint(job.id)
    outputs = list_side_outputs(checkpoint)
    chosen = output or next((each.name for each in outputs if each.files), "")
    rows = read_rows(checkpoint, chosen) if chosen else []
    sinks = list_sinks(feed.plan(job.id) or {}, job.figures, read_checkpoints(checkpoint))
    testable = (
        viewer_of(request).may_submit
        and feed.document(job.id)[0].endswith((".yaml", ".yml"))
        and any("raw" in row.values for row in rows)
    )
    shown = {"outputs": outputs, "chosen": chosen, "rows": rows, "search": "", "sinks": sinks}
    return _job_page(request, feed, job, "data", testable=testable, **shown)


@router.get("/jobs/{job}/runs")
def runs_page(request: Request, feed: FeedOf, job: ViewOfJob, attempt: int = 0) -> HTMLResponse:
    """Show the attempts of a job, their logs, and the checkpoints of its queries."""
    attempts = feed.attempts(job.id)
    shown = attempt or (attempts[0].number if attempts else 0)
    checkpoints = read_checkpoints(feed.checkpoint(job.id))
    return _job_page(
        request,
        feed,
        job,
        "runs",
        attempts=attempts,
        shown=shown,
        checkpoints=checkpoints,
        savepoints=list_savepoints(feed.checkpoint(job.id)),
        scaling=feed.scaling(job.id),
        events=feed.events(job.id),
        queries=[query["name"] for query in (feed.plan(job.id) or {}).get("queries", ())],
        state={"attempt": shown},
    )


@router.get("/jobs/{job}/plan")
def plan_page(request: Request, feed: FeedOf, job: ViewOfJob) -> HTMLResponse:
    """Show the logical plan of a job; physical plan and executors follow from the driver."""
    plan = feed.plan(job.id) or {}
    tiers = {step["name"]: step["tier"] for step in plan.get("steps", ())}
    return _job_page(request, feed, job, "plan", plan=plan, tiers=tiers)


@router.get("/jobs/{job}/edit")
def edit_page(request: Request, feed: FeedOf, job: ViewOfJobWithRows, dead_letters: str = "") -> HTMLResponse:
    """Edit the document of a job and test it, with the `dead_letters` of a source if it names some."""
    file, text = document_for(feed, job, viewer_of(request))
    editable = file.endswith((".yaml", ".yml"))
    letters = read_payloads(feed.checkpoint(job.id), dead_letters)
    rows = {letters.source: letters.lines} if letters else {}
    state: dict[str, Any] = {"directory": feed.directory(job.id), "file": file, "rows": rows}
    state["running"] = job.state == "running"
    shown = {"file": file, "text": text, "editable": editable, "letters": letters}
    return _job_page(request, feed, job, "edit", state=state, **shown, **_flow_editor())


def _flow_editor() -> dict[str, Any]:
    return {"palette": flow_pages.palette_groups(), "starters": STARTERS}


@router.get("/new")
def new_page(request: Request, _: Viewer) -> HTMLResponse:
    """Write a document and submit it."""
    return render(request, "new.html", text=STARTER, letters=None, **_flow_editor())


@router.get("/alerts")
def alerts_page(request: Request, feed: FeedOf, _: Viewer) -> HTMLResponse:
    """Show firing and resolved alerts, and the rules."""
    alerts = feed.alerts()
    resolved = [alert for alert in alerts if alert.resolved is not None]
    choices: dict[str, Any] = {"kinds": CONDITIONS, "jobs": sorted({job.name for job in feed.jobs()})}
    return render(
        request, "alerts.html", firing=_firing(feed), resolved=resolved, rules=feed.rules(), **choices
    )


@router.get("/users")
def users_page(request: Request, feed: FeedOf, viewer: Viewer) -> HTMLResponse:
    """Show users and tokens, for admins."""
    visible = viewer.role == "admin"
    users, tokens = feed.users() if visible else ((), ())
    return render(request, "users.html", visible=visible, users=users, tokens=tokens)


@router.get("/audit")
def audit_page(request: Request, feed: FeedOf, _: Admin, before: float | None = None) -> HTMLResponse:
    """Show a page of the audit log, the newest entries first."""
    return render(request, "audit.html", log=feed.audit(before), newest=before is None)


@router.get("/login")
def login_page(request: Request, _: Anyone) -> HTMLResponse:
    """Log in."""
    return render(request, "login.html")


@router.get("/about")
def about_page(request: Request, feed: FeedOf, _: Viewer) -> HTMLResponse:
    """Show versions and facts about the service."""
    facts = {"Java": _java(), "Python": platform.python_version(), "System": platform.platform(terse=True)}
    facts |= feed.about()
    return render(request, "about.html", facts=facts, libraries={name: _version(name) for name in _LIBRARIES})


def _firing(feed: Feed) -> list[AlertView]:
    """Return the firing alerts, the most severe first."""
    firing = [alert for alert in feed.alerts() if alert.resolved is None]
    return sorted(firing, key=lambda alert: alert.severity != "bad")


def _java() -> str:
    try:
        java = find_java()
    except SetupError:
        return "none fits"
    return f"{java.version}, from {java.origin}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
