"""The columns of a `dead_letters` output.

The record, the reason why it could not be decoded, and its position.
"""

from __future__ import annotations

from headrace.schemas.fields import Schema

DEAD_LETTERS = Schema.of(
    "raw binary, reason string, field string, source string, partition string, position bigint, read_at "
    "timestamp"
)
