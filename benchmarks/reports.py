"""What Spark reports of micro-batches while a side of a benchmark runs, for next to nothing.

A listener in Python takes tenths of a second for each report, on one of two cores.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def reports(spark: Any, heard: Callable[[dict[str, Any]], None], patience: float = 30) -> Iterator[None]:
    """Hand each report of a query that runs inside to `heard`, also those that come a little after its end."""
    message = spark._jvm.org.apache.spark.sql.headrace.ProgressReports(spark._jsparkSession)
    ended = threading.Event()

    def take() -> None:
        while (report := message.next()).runId() is not None:
            if (text := report.json()) is None:
                ended.set()
            else:
                heard(json.loads(text))

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    try:
        yield
        ended.wait(patience)
    finally:
        message.close()
        thread.join(patience)
