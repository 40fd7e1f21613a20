"""The columns of a `dead_letters` output: the record, the reason for the failure, and the position."""

from __future__ import annotations

from headrace.schemas.fields import Schema

DEAD_LETTERS = Schema.of(
    "raw binary, reason string, field string, source string, partition string, position bigint, read_at "
    "timestamp"
)
