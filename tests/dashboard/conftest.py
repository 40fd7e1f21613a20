"""A browser, and servers of the pages: the real service with a simulated driver, and a simulated feed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Browser, Page
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.dashboard.feeds.base import Feed
from headrace.dashboard.pages import add_pages
from headrace.jobs.api.errors import add_error_handlers
from headrace.jobs.app import create_app
from headrace.jobs.security.policy import Policy
from headrace.jobs.security.principals import Principal
from headrace.jobs.service import JobService
from headrace.jobs.states import UnknownJobError
from tests.dashboard.simulated import SimulatedFeed
from tests.support.browser import is_installed, open_browser
from tests.support.servers import free_port
from tests.support.waiting import wait_until

DRIVER = (sys.executable, str(Path(__file__).with_name("simulated_driver.py")))
TIMEOUT_MS = 60_000

OpenPage = Callable[..., Page]


@contextmanager
def serve(app: FastAPI) -> Iterator[str]:
    """Serve an application on a free port."""
    port = free_port()
    config = uvicorn.Config(app, port=port, log_level="warning", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def serve_feed(feed: Feed, viewer: Principal | None = None) -> Iterator[str]:
    """Serve the pages of a feed, without a job service."""
    app = FastAPI()
    app.state.owner_of = lambda job: _owner(feed, job)
    app.state.policy = feed.policy
    add_error_handlers(app)
    add_pages(app, feed)
    if viewer is not None:
        app.add_middleware(_AsViewer, viewer=viewer)
    with serve(app) as url:
        yield url


def _owner(feed: Feed, job: str) -> str:
    view = feed.job(job)
    if view is None:
        raise UnknownJobError(f"no job has the id {job!r}", where="jobs")
    return view.owner


class _AsViewer:
    """Makes a user look at every page."""

    def __init__(self, app: ASGIApp, viewer: Principal) -> None:
        self._app, self._viewer = app, viewer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["principal"] = self._viewer
        await self._app(scope, receive, send)


@contextmanager
def serve_jobs(data: Path, policy: Policy | None = None) -> Iterator[tuple[JobService, str]]:
    """Serve the real job service, whose jobs run without Spark; at the end, kill them."""
    service = JobService(data, command=DRIVER, policy=policy)
    try:
        with serve(create_app(service)) as url:
            yield service, url
        for job in service.jobs():
            if job.state.active:
                service.kill(job.id)
    finally:
        service.close()


@pytest.fixture(scope="module")
def service_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real service."""
    with serve_jobs(tmp_path_factory.mktemp("service")) as (_, url):
        yield url


@pytest.fixture(scope="module")
def simulated_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Five simulated jobs."""
    with serve_feed(SimulatedFeed(tmp_path_factory.mktemp("jobs"))) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    if not is_installed():
        pytest.skip("chromium is not installed")
    with open_browser() as browser:
        yield browser


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Open pages; a script error or a violation of the content security policy fails the test."""
    problems: list[str] = []
    contexts = []

    def open_page(url: str, *, width: int = 1280, theme: str = "light", bypass_csp: bool = False) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
            bypass_csp=bypass_csp,
        )
        contexts.append(context)
        context.set_default_timeout(TIMEOUT_MS)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console", lambda entry: problems.append(entry.text) if "Content Security" in entry.text else None
        )
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
