"""Test runs of documents on sample rows."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from headrace.jobs.api.access import Operator, Service
from headrace.jobs.api.jobs import ERRORS

router = APIRouter(prefix="/api/v1", tags=["jobs"], responses=ERRORS)


class SampleRunRequest(BaseModel):
    """A document, and sample rows for its sources."""

    model_config = ConfigDict(extra="forbid")

    document: str = Field(max_length=1 << 20, description="A YAML document.")
    rows: dict[str, str] = Field(
        description="JSON lines by source, lookup step or `match_rules` step; a blank line starts the next "
        "micro-batch. A source that decodes records accepts any text as a record."
    )
    directory: str | None = Field(
        default=None,
        max_length=4096,
        description="The working directory, for relative paths in the document.",
    )


class SampleOutputModel(BaseModel):
    """The rows of a sink, or of a side output that no sink takes."""

    name: str
    kind: str = Field(description="`sink`, `late`, `dead_letters` or `timeouts`.")
    count: int
    rows: list[dict[str, Any]] = Field(description="The first 200 rows.")


class SampleRunResult(BaseModel):
    """The outputs of a test run."""

    outputs: list[SampleOutputModel]
    dropped: int = Field(description="Late rows that Spark's own operators dropped.")


@router.post("/test")
def test(body: SampleRunRequest, service: Service, _: Operator) -> SampleRunResult:
    """Run a document on sample rows and return the rows of its sinks; no connector is opened.

    The rows are processed in virtual time in a process of its own, with the memory limit of jobs and a time
    limit of 90 seconds. At the end the input is drained. The document is restricted as that of a job is.
    """
    return SampleRunResult(**service.sample_runs.run(body.document, body.rows, body.directory))
