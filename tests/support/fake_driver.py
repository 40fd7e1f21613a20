"""A driver process without Spark: follows the protocol of `jobs.directory` and counts rows.

It imports nothing of Headrace, so that it starts fast.

The pipeline file is a YAML document whose first line may be a comment with instructions: `# fail: 2` fails the first two
attempts, `# crash` exits without a report, `# wrong` fails for good.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    directory, number = Path(sys.argv[1]), int(sys.argv[3])
    attempt, control = directory / "attempts" / str(number), directory / "control.json"
    with (directory / "starts").open("a") as starts:
        starts.write(f"{number} {os.getpid()}\n")
    started = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    write_json(attempt / "driver.json", {"pid": os.getpid(), "started": started, "attempt": number})
    file = json.loads((directory / "job.json").read_text())["file"]
    _fail_if_requested((directory / "files" / file).read_text(), number, attempt / "exit.json")
    rows = 0
    while not control.exists():
        rows += 10
        metrics = {
            "rows_in": rows,
            "rows_out": rows - 1,
            "lag": _lag(directory),
            "watermark": "2026-03-01T12:00:00.000Z",
        }
        write_json(attempt / "status.json", {"at": time.time(), "phase": "", "metrics": metrics})
        _answer_inquiry(directory, rows)
        time.sleep(0.05)
    request = json.loads(control.read_text())["command"]
    ending = {"stop": "stopped", "drain": "drained"}[request]
    write_json(attempt / "exit.json", {"ending": ending, "at": time.time()})


def _lag(directory: Path) -> int:
    """Return the lag that a test has written, by default 5."""
    file = directory / "lag"
    return int(file.read_text()) if file.exists() else 5


def _answer_inquiry(directory: Path, rows: int) -> None:
    try:
        inquiry = json.loads((directory / "inquiry.json").read_text())
    except FileNotFoundError:
        return
    result = {"step": inquiry["step"], "rows": [{"n": rows}] * inquiry["rows"]}
    write_json(directory / "answer.json", {"id": inquiry["id"], "result": result})


def write_json(file: Path, data: dict[str, Any]) -> None:
    draft = file.with_name(f".{file.name}")
    draft.write_text(json.dumps(data))
    draft.replace(file)


def _fail_if_requested(text: str, number: int, exit_file: Path) -> None:
    word, _, value = text.splitlines()[0].removeprefix("# ").partition(": ")
    if word == "crash":
        sys.exit(3)
    if word == "wrong" or (word == "fail" and number <= int(value)):
        error = {"ending": "failed", "error": f"attempt {number} failed", "retry": word != "wrong"}
        write_json(exit_file, {**error, "at": time.time()})
        sys.exit(1)


if __name__ == "__main__":
    main()
