"""Reads the logs of an attempt, that of its driver or of Spark, as records, from the end of the file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import without_passwords

LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")
"""The levels of records, in order; output of the pipeline, such as that of the console sink, has none."""
_WINDOW = 512 * 1024
_MAX_TEXT = 4000
_RECORD = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?) +"
    r"(?P<level>TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b[: ]*(?P<text>.*)"
)
_FIELD = re.compile(r"\b(step|epoch)=(\S+) ?")
_BATCH = re.compile(r"\b[Bb]atch(?:Id)?[ :=]+(\d+)\b")
_SAME = {"TRACE": "DEBUG", "WARNING": "WARN", "FATAL": "ERROR"}


@dataclass(frozen=True)
class LogRecord:
    """A record: its first line, and the lines that follow it, such as a stack trace."""

    text: str
    at: str = ""
    level: str = ""
    step: str = ""
    epoch: str = ""


@dataclass(frozen=True)
class LogPart:
    """Records of a log; `offset` is where the next read continues."""

    records: tuple[LogRecord, ...]
    offset: int


@dataclass(frozen=True)
class LogFilter:
    """The records that a page shows: of at least a level, with a text, a step and an epoch."""

    search: str = ""
    level: str = ""
    step: str = ""
    epoch: str = ""

    def accepts(self, record: LogRecord) -> bool:
        """True if the page shows a record."""
        least = LEVELS.index(self.level) if self.level in LEVELS else -1
        return (
            self.search.lower() in f"{record.at} {record.text}".lower()
            and (least < 0 or (record.level in LEVELS and LEVELS.index(record.level) >= least))
            and self.step in ("", record.step)
            and self.epoch in ("", record.epoch)
        )


def read_log(file: Path, wanted: LogFilter | None = None, *, offset: int = -1) -> LogPart:
    """Return the records after an offset; from -1, those of the last half megabyte.

    A line that is still being written is returned by the next read.
    """
    if not file.is_file():
        return LogPart((), 0)
    size = file.stat().st_size
    start = max(0, size - _WINDOW) if offset < 0 or offset > size else offset
    with file.open("rb") as log:
        log.seek(start)
        content = log.read(_WINDOW)
    complete = content[: content.rfind(b"\n") + 1]
    lines = without_passwords(complete.decode(errors="replace")).splitlines()
    if offset < 0 and start > 0:
        lines = lines[1:]  # its beginning is not in the window
    accepts = (wanted or LogFilter()).accepts
    return LogPart(tuple(filter(accepts, parse_records(lines))), start + len(complete))


def parse_records(lines: list[str]) -> list[LogRecord]:
    """Return the records of a log; a line without a time is output, or continues an error.

    >>> [record] = parse_records(["2026-03-02T09:00:00.120Z INFO  step=totals epoch=12 committed, 40 rows"])
    >>> record.level, record.step, record.epoch, record.text
    ('INFO', 'totals', '12', 'committed, 40 rows')
    """
    records: list[LogRecord] = []
    for line in lines:
        match = _RECORD.match(line)
        if match is not None:
            records.append(_record(match["at"], match["level"], match["text"]))
        elif records and records[-1].level in ("WARN", "ERROR") and _continues(line):
            before = records[-1]
            text = f"{before.text}\n{line}"[:_MAX_TEXT]
            records[-1] = LogRecord(text, before.at, before.level, before.step, before.epoch)
        else:
            level = "ERROR" if line.startswith(("error: ", "Traceback (most")) else ""
            records.append(LogRecord(line[:_MAX_TEXT], level=level))
    return records


def spark_log(checkpoint: Path, pid: int | None) -> Path:
    """Return the newest log of Spark that a driver process has written; a path without a file if none."""
    logs = sorted((checkpoint / "logs").glob(f"spark-*-{pid}.log")) if pid else []
    return logs[-1] if logs else checkpoint / "logs" / "spark.log"


def _record(at: str, level: str, text: str) -> LogRecord:
    fields = dict(_FIELD.findall(text))
    batch = _BATCH.search(text)
    epoch = fields.get("epoch") or (batch[1] if batch else "")
    shown = _FIELD.sub("", text).strip()[:_MAX_TEXT] if fields else text[:_MAX_TEXT]
    return LogRecord(shown, at, _SAME.get(level, level), fields.get("step", ""), epoch)


def _continues(line: str) -> bool:
    return line.startswith((" ", "\t", "Caused by", "at ")) or "Exception" in line or "hint:" in line
