"""Errors of the service as HTTP responses."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from headrace.errors import HeadraceError, OptionError
from headrace.jobs.api.access import ForbiddenError
from headrace.jobs.states import ConflictError, NotFoundError, UnknownJobError


def add_error_handlers(app: FastAPI) -> None:
    """Answer errors of Headrace with their status: 404 not found, 409 conflict, 422 invalid submission."""

    @app.exception_handler(HeadraceError)
    async def answer(_: Request, error: HeadraceError) -> JSONResponse:
        return JSONResponse(error_body(error), status_code=status_of(error))

    @app.exception_handler(RequestValidationError)
    async def answer_invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        translated = _translate(error.errors()[0])
        return JSONResponse(error_body(translated), status_code=status_of(translated))


def status_of(error: HeadraceError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, NotFoundError):
        return 404
    if isinstance(error, ForbiddenError):
        return 403
    return 409 if isinstance(error, ConflictError) else 422


def error_body(error: HeadraceError) -> dict[str, object]:
    """Return an error as a response body."""
    listed = [vars(problem) for problem in error.problems]
    return {"detail": str(error), "problems": listed}


def _translate(fault: dict[str, Any]) -> HeadraceError:
    """Return the error of an invalid part of a request. No job has an invalid id."""
    place, value = fault["loc"], fault.get("input")
    if tuple(place) == ("path", "job"):
        return UnknownJobError(f"no job has the id {value!r}", where="jobs", hint="headrace jobs list")
    return OptionError(str(fault["msg"]), where=".".join(map(str, place[1:] or place)))
