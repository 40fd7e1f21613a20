"""Progress reports of Spark as JSON, read through the kernel.

A listener in Python costs tenths of a second per report, on one of two cores.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def listen_to_progress(
    spark: Any, on_report: Callable[[dict[str, Any]], None], timeout: float = 30
) -> Iterator[None]:
    """Pass each report of a query that runs in the block to `on_report`, including those after its end."""
    queue = spark._jvm.org.apache.spark.sql.headrace.ProgressReports(spark._jsparkSession)
    ended = threading.Event()

    def take() -> None:
        while (report := queue.next()).runId() is not None:
            if (text := report.json()) is None:
                ended.set()
            else:
                on_report(json.loads(text))

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    try:
        yield
        ended.wait(timeout)
    finally:
        queue.close()
        thread.join(timeout)
