"""Types of options that formats and connectors share: what users write, and the validated form."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema

from headrace import durations
from headrace.access.options import FilePath
from headrace.errors import DurationError


def _parse_path(path: Any) -> str:
    if not isinstance(path, str | Path) or not str(path):
        raise ValueError("expected a path")
    return str(path)


def _parse_duration(duration: Any) -> str | None:
    try:
        return None if duration is None else durations.text(durations.microseconds(duration))
    except DurationError as error:
        raise ValueError("expected a duration such as `30 seconds`") from error


def seconds_of(duration: str | timedelta) -> float:
    """Return a duration option in seconds.

    >>> seconds_of("500 milliseconds")
    0.5
    """
    return durations.microseconds(duration) / 1e6


PathOption = Annotated[
    str | Path, PlainValidator(_parse_path), WithJsonSchema({"type": "string"}), FilePath()
]
"""Validated as text; a restricted service decides on it."""

DurationOption = Annotated[
    str | timedelta,
    PlainValidator(_parse_duration),
    WithJsonSchema({"type": "string", "examples": ["30 seconds"]}),
]
"""Validated as its shortest text, so that equal durations are equal options."""

RetryTimeoutOption = Annotated[
    DurationOption,
    Field(description="How long an unavailable server is retried, with backoff, before the run fails"),
]
