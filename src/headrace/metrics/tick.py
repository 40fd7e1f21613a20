"""One tick: the metrics of a run at one moment, as a JSON document."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from headrace.runtime.progress.log import parse_time

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.runtime.progress.status import Status


class TickBuilder:
    """Builds the documents of one run."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def build(self, status: Status) -> dict[str, Any]:
        """Return the document of the present status."""
        return {
            "phase": status.phase,
            "metrics": {
                "rows_in": status.rows_in,
                "rows_out": status.rows_out,
                "late": status.late,
                "dead_letters": status.dead_letters,
                "watermark": status.watermark,
                "watermark_delay_ms": watermark_delay(status.watermark),
            },
        }


def watermark_delay(watermark: str | None) -> int | None:
    """Return the clock minus the watermark, in milliseconds."""
    return None if watermark is None else round((time.time() - parse_time(watermark)) * 1000)
