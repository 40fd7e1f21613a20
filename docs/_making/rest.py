"""Build the page of the REST API from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.jobs.app import openapi_document
from headrace.jobs.model import JobSettings

_INTRODUCTION = """# REST API

The [job service](../how-to/jobs.md) answers under `/api/v1`. The OpenAPI document is at `/api/v1/openapi.json`.

- Errors have a `detail` and a list of `problems` with `where`, `what` and `hint`: 401 without a valid login or token, 403 if
  the role does not allow it, 404 unknown job, 409 if the state of the job does not allow it, 413 too large, 422 invalid,
  429 too many wrong logins, tokens or streams, 503 the store is not available, 507 the disk is full.
- Where a login is required, send `Authorization: Bearer TOKEN`.
- `/api/v1/live` and `/api/v1/jobs/{job}/live` are server-sent events: one event `tick` per second with a JSON document.
- Submit a document as JSON, `{"name": ..., "document": "<yaml>", "settings": {...}}`, or files as multipart: the field
  `pipeline` has the .py or .yaml file, each field `data` one file with its relative path as file name, `settings` the
  settings as JSON.
"""


def rest_page() -> str:
    """Return the page: every call with its parameters, and the settings of a job."""
    document = openapi_document()
    return "\n".join([_INTRODUCTION, *_calls(document), *_settings()])


def _calls(document: dict[str, Any]) -> Iterator[str]:
    yield "## Calls\n\n| call | does |\n|---|---|"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            summary = " ".join(operation["description"].split())
            yield f"| `{method.upper()} {path}` | {summary}{_parameters(operation)} |"


def _parameters(operation: dict[str, Any]) -> str:
    names = [f"`{each['name']}`" for each in operation.get("parameters", []) if each["in"] == "query"]
    return f" Parameters: {', '.join(names)}." if names else ""


def _settings() -> Iterator[str]:
    yield "\n## Settings of a job\n\n| setting | meaning |\n|---|---|"
    for name, field in JobSettings.model_fields.items():
        yield f"| `{name}` | {field.description} |"
