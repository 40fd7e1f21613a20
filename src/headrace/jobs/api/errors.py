"""Errors of the service as HTTP responses."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from headrace.errors import DocumentError, HeadraceError, PlanError
from headrace.jobs.api.access import ForbiddenError
from headrace.jobs.states import ConflictError, UnknownJobError


def add_error_handlers(app: FastAPI) -> None:
    """Answer errors of Headrace with their status: 404 unknown job, 409 conflict, 422 invalid submission."""

    @app.exception_handler(HeadraceError)
    async def answer(_: Request, error: HeadraceError) -> JSONResponse:
        return JSONResponse(error_body(error), status_code=status_of(error))


def status_of(error: HeadraceError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, UnknownJobError):
        return 404
    if isinstance(error, ForbiddenError):
        return 403
    return 409 if isinstance(error, ConflictError) else 422


def error_body(error: HeadraceError) -> dict[str, object]:
    """Return an error as a response body."""
    problems = error.problems if isinstance(error, PlanError | DocumentError) else (error.problem,)
    listed = [{"where": problem.where, "what": problem.what, "hint": problem.hint} for problem in problems]
    return {"detail": str(error), "problems": listed}
