"""The log of a driver process: one line per record with time, level, step and epoch, on standard output."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.runtime.progress.status import Status

PERIOD = 10.0
"""Seconds between two records of the epochs of a query."""

_log = logging.getLogger("headrace.epochs")


class LineFormatter(logging.Formatter):
    """Formats a record as `time level step=... epoch=... text`."""

    def format(self, record: logging.LogRecord) -> str:
        at = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03}Z"
        fields = [
            f"{name}={value}"
            for name in ("step", "epoch")
            if (value := getattr(record, name, None)) is not None
        ]
        words = [at, f"{record.levelname.replace('WARNING', 'WARN'):<5}", *fields, record.getMessage()]
        text = " ".join(words)
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def log_to_output() -> None:
    """Write the records of Headrace to standard output, the log of the attempt."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(LineFormatter())
    logger = logging.getLogger("headrace")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False


class EpochLog:
    """Logs the epochs that each query has committed, at most one record per query in ten seconds."""

    def __init__(self, period: float = PERIOD) -> None:
        self._period = period
        self._logged: dict[str, tuple[int, int]] = {}
        self._due: dict[str, float] = {}
        self._phase = ""
        self._warnings: Mapping[str, None] = {}

    def begin_run(self) -> None:
        """Count the rows of the next run of the driver from 0."""
        self._logged = {query: (epoch, 0) for query, (epoch, _) in self._logged.items()}

    def add(self, status: Status, *, last: bool = False) -> None:
        """Log what is new in a status; all of it if it is the `last` one."""
        now = time.monotonic()
        if status.phase and status.phase != self._phase:
            _log.info("%s", status.phase)
        self._phase = status.phase
        for warning in status.warnings:
            if warning not in self._warnings:
                _log.warning("%s", warning)
        self._warnings = dict.fromkeys(status.warnings)
        for query in status.queries:
            epoch, rows = self._logged.get(query.name, (-1, 0))
            if query.epoch > epoch and (last or now >= self._due.get(query.name, 0.0)):
                first = epoch + 1
                epochs = (
                    "committed" if epoch < 0 or first == query.epoch else f"committed from epoch {first} on"
                )
                fields = {"step": query.name, "epoch": query.epoch}
                read = query.rows_in - rows
                _log.info(
                    "%s: %d %s read, %d ms for the last epoch, watermark %s",
                    epochs, read, "row" if read == 1 else "rows", query.batch_ms,
                    _format_watermark(query.watermark), extra=fields,
                )  # fmt: skip
                self._logged[query.name] = (query.epoch, query.rows_in)
                self._due[query.name] = now + self._period


def _format_watermark(watermark: str | None) -> str:
    if watermark is None:
        return "not set"
    return "end of the input" if watermark.startswith("9999-") else watermark  # a drain closes every window
