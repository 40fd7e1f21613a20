"""Types of columns as SQL writes them, in the words of schemas."""

from __future__ import annotations

import re

_WORDS = (
    (r"\s+not\s+null\b", ""),
    (r"\btimestamp\s*(?:\(\s*\d\s*\))?\s+with\s+(?:local\s+)?time\s+zone\b", "TIMESTAMP"),
    (r"\b(timestamp(?:_ltz|_ntz)?)\s*\(\s*\d\s*\)", r"\1"),
    (r"\btimestamp\s+without\s+time\s+zone\b", "TIMESTAMP"),
    (r"\b(?:(?:char|character)\s+varying|varchar|char|character)\b(?:\s*\(\s*\d+\s*\))?(?!\s*:)", "STRING"),
    (r"\b(?:bytes|varbinary|binary)\b(?:\s*\(\s*\d+\s*\))?(?!\s*:)", "BINARY"),
    (r"\bdouble\s+precision\b", "DOUBLE"),
    (r"\b(?:numeric|dec)\b(?=\s*(?:\(|$|[,>]))", "DECIMAL"),
    (r"\brow\s*<", "STRUCT<"),
)
"""Patterns of types in Flink and the standard, each with the type of a schema.

A timestamp of Flink has a number of digits, one of Spark six; the length of a text is not checked.
"""
_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), word) for pattern, word in _WORDS)


def schema_type(written: str) -> str:
    """Return a type as schemas have it.

    >>> schema_type("ROW<id BIGINT, names ARRAY<VARCHAR(20)>> NOT NULL")
    'STRUCT<id BIGINT, names ARRAY<STRING>>'
    >>> schema_type("TIMESTAMP(3) WITH LOCAL TIME ZONE"), schema_type("NUMERIC(10, 2)")
    ('TIMESTAMP', 'DECIMAL(10, 2)')
    """
    for pattern, word in _PATTERNS:
        written = pattern.sub(word, written)
    return written
