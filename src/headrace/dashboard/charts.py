"""The charts of a job: their titles, units and series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

RANGES = {"5 min": 300, "15 min": 900, "1 h": 3_600, "6 h": 21_600, "24 h": 86_400}
"""The time ranges of the metrics page, in seconds."""
PHASES = {
    "addBatch": "process",
    "queryPlanning": "plan",
    "latestOffset": "find rows",
    "getBatch": "open rows",
    "walCommit": "store plan",
    "commitOffsets": "commit",
    "commitBatch": "commit",
    "triggerExecution": "whole",
}
"""The phases of a batch, by the names that Spark reports."""


@dataclass(frozen=True)
class Chart:
    """One chart; `series` maps columns of the history to labels."""

    id: str
    title: str
    unit: str
    series: tuple[tuple[str, str], ...]
    scale: str = "linear"
    prefix: str = ""
    """Prefix of further columns; those with the highest values are series, too."""
    instead_of: str = ""
    """The chart that this one replaces if that has no values."""
    words: Mapping[str, str] = field(default_factory=dict)
    """The labels of further columns, by their names without the prefix."""


THROUGHPUT = Chart("throughput", "Throughput", "rows/s", (("rate_in", "in"), ("rate_out", "out")))
LATENCY = Chart(
    "latency", "End-to-end latency", "ms", (("p50", "p50"), ("p95", "p95"), ("p99", "p99")), "log"
)
LAG = Chart("lag", "Lag", "rows", (("lag", "lag"),))
DELAY = Chart("delay", "Watermark delay", "s", (("watermark_delay", "delay"),))
BATCH = Chart("batch", "Batch duration", "ms", (("batch_ms", "batch"),), instead_of="lag")
OVERVIEW = (THROUGHPUT, LATENCY, LAG, BATCH, DELAY)
ALL = (
    THROUGHPUT,
    LATENCY,
    Chart("lag", "Lag per partition", "rows", (("lag", "total"),), prefix="lag/"),
    DELAY,
    Chart("batch", "Batch duration by phase", "ms", (("batch_ms", "batch"),), prefix="phase/", words=PHASES),
    Chart("state", "State", "B", (("state_bytes", "bytes"),)),
    Chart("late", "Late data", "rows", (("late", "total"),)),
    Chart("dead_letters", "Dead letters", "records", (("dead_letters", "total"),)),
)
