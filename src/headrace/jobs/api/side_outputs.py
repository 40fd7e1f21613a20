"""Stored side outputs of jobs: dead letters, late data and timeouts that no sink takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter
from fastapi import Path as InPath
from fastapi.responses import StreamingResponse

from headrace.jobs.api.access import JobWithRows, Service
from headrace.jobs.api.jobs import ERRORS
from headrace.jobs.states import NotFoundError
from headrace.runtime.unrouted import DIRECTORY

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"], responses=ERRORS)
_Output = Annotated[
    str, InPath(max_length=300, description="`step.output`, such as `payments.dead_letters`.")
]


class JsonLines(StreamingResponse):
    """JSON objects, one per line."""

    media_type = "application/x-ndjson"


@router.get("/{job}/side_outputs")
def side_outputs(job: JobWithRows, service: Service) -> list[str]:
    """List the side outputs of a job that no sink takes, as `step.output`."""
    return [place.name for place in _places(service, job)]


@router.get("/{job}/side_outputs/{output}", response_class=JsonLines)
def side_output(job: JobWithRows, output: _Output, service: Service) -> JsonLines:
    """Return all stored rows of a side output as JSON lines, the oldest first; `raw` is base64."""
    place = next((place for place in _places(service, job) if place.name == output), None)
    if place is None:
        raise NotFoundError(f"the job has no side output {output!r}", where="side_outputs")
    files = sorted(place.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
    name = f"{job}.{place.name}.jsonl"
    return JsonLines(_read(files), headers={"content-disposition": f'attachment; filename="{name}"'})


def _places(service: Service, job: str) -> list[Path]:
    directory = service.directory(job).checkpoint / DIRECTORY
    return sorted(place for place in directory.glob("*.*") if place.is_dir())


def _read(files: list[Path]) -> Iterator[bytes]:
    for file in files:
        content = file.read_bytes()
        yield content if content.endswith(b"\n") or not content else content + b"\n"
