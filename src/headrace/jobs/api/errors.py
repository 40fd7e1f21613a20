"""Errors of the service as HTTP responses."""

from __future__ import annotations

import errno
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from headrace.dashboard.rendering import is_page, render
from headrace.errors import HeadraceError, OptionError, validation_message
from headrace.jobs.api.access import ForbiddenError
from headrace.jobs.states import ConflictError, NotFoundError, UnknownJobError
from headrace.jobs.store.database import StoreError

_FULL = (errno.ENOSPC, errno.EDQUOT)


def add_error_handlers(app: FastAPI) -> None:
    """Answer errors of Headrace with their status: such as 404 not found, 409 conflict, 422 invalid."""

    @app.exception_handler(HeadraceError)
    async def answer(request: Request, error: HeadraceError) -> Response:
        return await _respond(request, error)

    @app.exception_handler(OSError)
    async def answer_full(_: Request, error: OSError) -> JSONResponse:
        if error.errno not in _FULL:
            raise error
        full = StoreError("the disk of the service is full", is_full=True)
        return JSONResponse(error_body(full), status_code=full.status)

    @app.exception_handler(RequestValidationError)
    async def answer_invalid(request: Request, error: RequestValidationError) -> Response:
        return await _respond(request, _translate(error.errors()[0]))


async def _respond(request: Request, error: HeadraceError) -> Response:
    """Answer with JSON, or with a page if a browser opened one."""
    if is_page(request):
        return render(request, "error.html", status_of(error), detail=error.what)
    return JSONResponse(error_body(error), status_code=status_of(error))


def status_of(error: HeadraceError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, StoreError):
        return error.status
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
    return OptionError(validation_message(fault), where=".".join(map(str, place[1:] or place)))
