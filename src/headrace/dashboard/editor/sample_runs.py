"""The test of a document on sample rows: the rows that the editor starts with, and the result."""

from __future__ import annotations

import json
import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict

from headrace.dashboard.editor.documents import locate
from headrace.dashboard.live import FeedOf
from headrace.dashboard.rendering import render
from headrace.dashboard.stored.side_outputs import KINDS
from headrace.errors import HeadraceError, Problem
from headrace.jobs.api.access import JobWithRows, Operator
from headrace.runtime.samples import TRUNCATED

router = APIRouter(prefix="/ui", include_in_schema=False)
_ROW = re.compile(r"^rows\.(?P<input>.+?):(?P<line>\d+)(?:: )?(?P<where>.*)$", re.DOTALL)


class SampleRun(BaseModel):
    """The document of the editor, and the sample rows of each input as JSON lines."""

    model_config = ConfigDict(extra="forbid")

    document: str
    rows: dict[str, str]
    directory: str | None = None


@router.get("/jobs/{job}/rows")
def sample_rows(feed: FeedOf, job: JobWithRows, step: str) -> dict[str, str]:
    """Return rows of a source of a running job as JSON lines; empty if no row passes."""
    try:
        rows = feed.inquire(job, "sample", step)["rows"]
    except HeadraceError as error:
        return {"lines": "", "error": error.problem.what}
    return {"lines": "\n".join(json.dumps(row, ensure_ascii=False) for row in rows if TRUNCATED not in row)}


@router.post("/test")
def test(request: Request, feed: FeedOf, body: SampleRun, _: Operator) -> HTMLResponse:
    """Run the document on the rows; return the rows of its outputs, or the problems at their lines."""
    shown: dict[str, Any] = {"problems": [], "outputs": [], "dropped": 0, "kinds": KINDS}
    try:
        shown |= feed.test(body.document, body.rows, body.directory)
    except HeadraceError as error:
        shown["problems"] = list(map(locate_in_rows, error.problems))
    for output in shown["outputs"]:
        columns = dict.fromkeys(name for row in output["rows"] for name in row)
        output["columns"] = sorted(columns, key=lambda name: name != "reason")  # the reason first
    return render(request, "sample_run.html", **shown)


def locate_in_rows(problem: Problem) -> dict[str, Any]:
    """Return the line of a problem in the rows of an input, or in the document.

    >>> locate_in_rows(Problem("rows.tx:3: amount", "expected double, got `a`"))["input"]
    'tx'
    """
    row = _ROW.match(problem.where)
    if row is None:
        return {"input": "", **locate(problem)}
    content = {"line": int(row["line"]), "column": 1, "where": row["where"], "located": True}
    return {"input": row["input"], **content, "what": problem.what, "hint": problem.hint}
