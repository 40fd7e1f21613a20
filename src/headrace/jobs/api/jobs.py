"""Jobs: submit, list, show, logs, and the verbs that change their state."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from fastapi.responses import PlainTextResponse
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from headrace.debugging.tables import MAX_ROWS as MAX_TABLE_ROWS
from headrace.debugging.tables import ROWS as TABLE_ROWS
from headrace.errors import OptionError, validation_message
from headrace.jobs.api.access import JobWithRows, Operator, OwnJob, Service, ViewedJob, Viewer
from headrace.jobs.api.models import Created, ErrorBody, JobDetail, JobSummary, SubmitRequest
from headrace.jobs.inquiries import Inquiry
from headrace.jobs.model import JobSettings
from headrace.jobs.security.masking import mask_document
from headrace.jobs.submission import MAX_FILE_BYTES, MAX_FILES, Submission
from headrace.runtime.samples import MAX_ROWS, ROWS

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": text}
    for status, text in {
        401: "No valid token or login.",
        403: "The role does not allow it.",
        404: "No job has this id.",
        409: "The state of the job does not allow it.",
        413: "The request is too large.",
        422: "The request is invalid.",
    }.items()
}
router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"], responses=ERRORS)
_Step = Annotated[str | None, Query(max_length=200, description="Only this step.")]
_Key = Annotated[str | None, Query(max_length=1000, description="Values of the key columns, with commas.")]
SUBMIT_BODY = {
    "required": True,
    "content": {
        "application/json": {"schema": SubmitRequest.model_json_schema()},
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["pipeline"],
                "properties": {
                    "pipeline": {"type": "string", "format": "binary"},
                    "data": {"type": "array", "items": {"type": "string", "format": "binary"}},
                    "name": {"type": "string"},
                    "directory": {"type": "string"},
                    "settings": {"type": "string", "description": "Settings as JSON."},
                },
            }
        },
    },
}


@router.post("", status_code=201, openapi_extra={"requestBody": SUBMIT_BODY})
async def submit(request: Request, service: Service, sender: Operator) -> Created:
    """Submit a pipeline: a YAML document as JSON, or files as multipart."""
    submission = await read_submission(request)
    job = await run_in_threadpool(service.submit, replace(submission, owner=sender.name))
    request.state.job = job.id
    return Created.of(job)


async def read_submission(request: Request) -> Submission:
    """Read the pipeline of a request: a YAML document as JSON, or files as multipart."""
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        async with request.form(max_files=MAX_FILES + 1, max_fields=20) as form:
            return await _from_form(form)
    return _from_json(await request.body())


@router.get("")
def list_jobs(service: Service, _: Viewer, state: str | None = None) -> list[JobSummary]:
    """List all jobs, the newest first."""
    jobs = [job for job in service.jobs() if state is None or job.state == state]
    return [JobSummary(**service.snapshot(job)) for job in jobs]


@router.get("/{job}")
def show(job: ViewedJob, service: Service) -> JobDetail:
    """Return a job with its attempts and the metrics of its last tick."""
    attempts = [vars(attempt) for attempt in service.store.attempts(job)]
    return JobDetail(**service.snapshot(service.get(job)), history=attempts)


@router.get("/{job}/logs", response_class=PlainTextResponse)
def logs(
    job: JobWithRows, service: Service, attempt: Annotated[int | None, Query(ge=1, le=1 << 30)] = None
) -> str:
    """Return the end of the log of an attempt; default: the last one."""
    return service.logs(job, attempt)


@router.get("/{job}/document", response_class=PlainTextResponse)
def document(job: JobWithRows, service: Service, sender: Viewer) -> str:
    """Return the submitted pipeline file; without secrets, if the sender may not change the job."""
    text, current = service.document(job), service.get(job)
    return text if sender.may_change(current.owner) else mask_document(text, current.file)


@router.get("/{job}/plan")
def plan(job: ViewedJob, service: Service) -> dict[str, Any]:
    """Return the plan: steps, queries, guarantees; empty until the driver has loaded the pipeline."""
    return service.plan(job) or {}


@router.get("/{job}/physical")
def physical(job: JobWithRows, service: Service) -> dict[str, Any]:
    """Return the physical plans of the queries of a running job, and its executors."""
    return service.inquire(job, Inquiry(kind="plan"))


@router.get("/{job}/state")
def state(job: JobWithRows, service: Service, step: _Step = None, key: _Key = None) -> dict[str, Any]:
    """Return the state of a running job, or of one key: open windows, buffered rows, running results."""
    return service.inquire(job, Inquiry(kind="state", step=step, key=key))


@router.get("/{job}/why")
def explain_key(
    job: JobWithRows, service: Service, key: Annotated[str, Query(max_length=1000)], step: _Step = None
) -> dict[str, Any]:
    """Return the partial matches of a key in a running job, and why they are not complete."""
    return service.inquire(job, Inquiry(kind="why", step=step, key=key))


@router.get("/{job}/samples")
def samples(
    job: JobWithRows,
    service: Service,
    step: Annotated[
        str, Query(max_length=200, description="A step, `step.output`, or a sink: the rows it reads.")
    ],
    rows: Annotated[int, Query(ge=1, le=MAX_ROWS)] = ROWS,
) -> dict[str, Any]:
    """Return the first rows that pass an edge of a running job in the next micro-batch.

    Empty if no row passes within 10 seconds. Rows of more than 4096 characters are truncated.
    """
    return service.inquire(job, Inquiry(kind="sample", step=step, rows=rows))


@router.get("/{job}/sinks/{sink}/rows")
def last_rows(
    job: JobWithRows, service: Service, sink: Annotated[str, InPath(max_length=200)]
) -> dict[str, Any]:
    """Return the last rows that a sink of a running job has written, of at most ten, and their time."""
    return service.inquire(job, Inquiry(kind="last_rows", step=sink))


@router.get("/{job}/steps/{step}/violations")
def violations(
    job: JobWithRows,
    service: Service,
    step: Annotated[str, InPath(max_length=200, description="A step with `expect`.")],
) -> dict[str, Any]:
    """Return rows that violate each rule of an expectation: a few of the last epoch that has some."""
    return service.inquire(job, Inquiry(kind="violations", step=step))


@router.get("/{job}/tables/{name}")
def read_table(
    job: JobWithRows,
    service: Service,
    name: Annotated[str, InPath(max_length=200, description="A step `latest`, `top_n` or `aggregate`.")],
    key: _Key = None,
    rows: Annotated[int, Query(ge=1, le=MAX_TABLE_ROWS)] = TABLE_ROWS,
) -> dict[str, Any]:
    """Return the rows of a table of a running job, or those of one key, as of the last committed epoch.

    A windowed aggregate is the table of its open windows. `epochs` has the epoch of the answer, and
    `truncated` is true if there are more rows than the answer has.
    """
    return service.inquire(job, Inquiry(kind="table", step=name, key=key, rows=rows))


@router.get("/{job}/query")
def query(
    job: JobWithRows,
    service: Service,
    sql: Annotated[
        str, Query(max_length=10_000, description="One query in Spark SQL over tables of the job.")
    ],
    rows: Annotated[int, Query(ge=1, le=MAX_TABLE_ROWS)] = TABLE_ROWS,
) -> dict[str, Any]:
    """Run a query over the tables of a running job, as of their last committed epochs."""
    return service.inquire(job, Inquiry(kind="query", sql=sql, rows=rows))


@router.get("/{job}/transitions")
def transitions(job: ViewedJob, service: Service) -> list[dict[str, Any]]:
    """Return the changes of state of a job, with time and reason."""
    return service.store.transitions(job)


@router.post("/{job}/stop")
def stop(job: OwnJob, service: Service) -> Created:
    """Stop gracefully: finish the current micro-batch, commit, exit."""
    return Created.of(service.stop_job(job))


@router.post("/{job}/drain")
def drain(job: OwnJob, service: Service) -> Created:
    """Drain: stop reading, fire and close every window, end for good."""
    return Created.of(service.drain(job))


@router.post("/{job}/kill")
def kill(job: OwnJob, service: Service) -> Created:
    """Kill the driver process."""
    return Created.of(service.kill(job))


@router.post("/{job}/restart")
def restart(job: OwnJob, service: Service) -> Created:
    """Start again from the checkpoint; a running job is stopped gracefully first."""
    return Created.of(service.restart(job))


@router.post("/{job}/clone", status_code=201)
def clone(job: OwnJob, service: Service, sender: Operator) -> Created:
    """Submit the same files and settings as a new job."""
    return Created.of(service.clone(job, sender.name))


@router.delete("/{job}", status_code=204)
def delete(job: OwnJob, service: Service) -> None:
    """Delete a job that has ended, with its files and its checkpoint."""
    service.delete(job)


def _from_json(body: bytes) -> Submission:
    try:
        request = SubmitRequest.model_validate_json(body)
    except ValidationError as error:
        raise _invalid(error) from None
    document = request.document.encode("utf-8", errors="replace")
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", request.name or "pipeline")
    file = f"{stem}.yaml"
    return Submission(
        file, {file: document}, request.name, directory=request.directory, settings=request.settings
    )


async def _from_form(form: FormData) -> Submission:
    pipeline = form.get("pipeline")
    if not isinstance(pipeline, UploadFile):
        raise OptionError("expected a file in the field `pipeline`", where="pipeline")
    uploads = [pipeline, *(item for item in form.getlist("data") if isinstance(item, UploadFile))]
    files = {upload.filename or "": await _content(upload) for upload in uploads}
    try:
        settings = JobSettings.model_validate(json.loads(str(form.get("settings") or "{}")))
        fields = {name: form.get(name) or None for name in ("name", "directory")}
        request = SubmitRequest(document="", settings=settings, **fields)
    except ValidationError as error:
        raise _invalid(error) from None
    except ValueError as error:
        raise OptionError(f"expected JSON: {error}", where="settings") from None
    return Submission(
        pipeline.filename or "", files, request.name, directory=request.directory, settings=settings
    )


async def _content(upload: UploadFile) -> bytes:
    if (upload.size or 0) > MAX_FILE_BYTES:
        raise OptionError(f"expected at most {MAX_FILE_BYTES >> 20} MiB", where=upload.filename or "upload")
    return await upload.read()


def _invalid(error: ValidationError) -> OptionError:
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(map(str, first["loc"])) or "body"
    field = (SubmitRequest.model_fields | JobSettings.model_fields).get(where.rpartition(".")[2])
    return OptionError(validation_message(first), where=where, hint=(field and field.description) or "")
