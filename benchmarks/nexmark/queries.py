"""The queries: their SQL, and how the rows of two engines are compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "tests" / "support" / "nexmark"
JOBS = Path(__file__).with_name("jobs")
"""Jobs that are no queries of Nexmark: one window, four over one source, and a window over the rows of a window."""
_SINK = re.compile(r"\ACREATE SINK results WITH \(connector = 'memory'\) AS\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Query:
    """One query of the benchmark."""

    deterministic: bool = True
    """False if the rows depend on processing time, or on which of several equal rows an engine takes."""


# q6 needs an `over` after a `row_number` that Flink refuses; q13 needs a table outside of Kafka.
QUERIES: dict[str, Query] = {
    **{f"q{number}": Query() for number in range(23) if number != 13},
    "q12": Query(deterministic=False),
    **{job: Query() for job in ("tumbling", "four", "chain")},
}


def select_of(query: str) -> str:
    """Return the query itself, without the sink."""
    if (job := JOBS / f"{query}.sql").exists():
        return job.read_text().strip().rstrip(";")
    text, sinks = _SINK.subn("", (FOLDER / f"{query}.sql").read_text())
    if not sinks:
        raise ValueError(f"{query}.sql does not begin with CREATE SINK results")
    return text.strip().rstrip(";")


def as_text(values: Sequence[object]) -> str:
    """Return a row as text that is the same for all engines.

    Flink's average of whole numbers is a whole number, so fractions are cut off.

    >>> as_text([1, 2.5, "x", None, "2026-01-01T10:00:00Z"])
    '1|2|x||2026-01-01 10:00:00'
    """
    return "|".join(_value(value) for value in values)


def difference(expected: Counter[str], others: Counter[str]) -> str:
    """Describe how two bags of rows differ; empty if they do not."""
    if expected == others:
        return ""
    missing, added = expected - others, others - expected
    return (
        f"{missing.total()} of {expected.total()} rows only in the first, such as {next(iter(missing), None)}; "
        f"{added.total()} of {others.total()} only in the second, such as {next(iter(added), None)}"
    )


def _value(value: object) -> str:
    text = "" if value is None else str(value)
    if re.fullmatch(r"-?\d+(\.\d+)?(E-?\d+)?", text):
        return str(int(float(text)))
    if re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*", text):
        time = re.sub(r"(\+00:00|Z)$", "", text.replace("T", " "))
        time = time if time.count(":") == 2 else f"{time}:00"
        return re.sub(r"\.?0*$", "", time) if "." in time else time
    return text
