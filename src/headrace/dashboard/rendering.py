"""Renders templates, with the security headers of every page."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from headrace.dashboard import formatting
from headrace.dashboard.assets import ASSETS
from headrace.dashboard.health import health_of
from headrace.jobs.api.access import sender_of
from headrace.jobs.security.guard import SECURITY_HEADERS
from headrace.jobs.security.principals import Principal, Role

HERE = Path(__file__).parent
HEADERS = {**SECURITY_HEADERS, "cache-control": "no-store"}

_environment = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters |= {
    "count": formatting.count,
    "duration": formatting.duration,
    "milliseconds": formatting.milliseconds,
    "age": formatting.age,
    "instant": formatting.instant,
    "moment": formatting.moment,
    "ago": formatting.ago,
    "utc": formatting.utc,
    "cell": formatting.cell,
}
_environment.globals |= {"health_of": health_of, "version": version("headrace")}
_environment.globals["static"] = f"/static/{ASSETS.version}"


def render(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """Return a page or a fragment of one."""
    context |= {"viewer": viewer_of(request), "path": request.url.path}
    content = _environment.get_template(template).render(context)
    return HTMLResponse(content, status_code=status, headers=HEADERS)


def viewer_of(request: Request) -> Principal:
    """Return the user of a request; a viewer without a name on the pages that need no login."""
    return sender_of(request) or Principal("", Role.VIEWER)


def is_page(request: Request) -> bool:
    """True if a browser opens a page, as opposed to a fragment or a call of the API."""
    opened = not request.url.path.startswith(("/api/", "/ui/", "/static/"))
    return opened and "text/html" in request.headers.get("accept", "")
