"""A driver process without Spark: follows the protocol of `jobs.directory` and counts rows.

The pipeline file is a YAML document whose first line may be a comment with instructions: `# fail: 2` fails the first two
attempts, `# crash` exits without a report, `# wrong` fails for good.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from headrace.jobs.directory import JobDirectory, read_json, write_json
from headrace.jobs.process import start_time


def main() -> None:
    directory, number = JobDirectory(Path(sys.argv[1])), int(sys.argv[3])
    attempt = directory.attempt(number)
    with (directory.path / "starts").open("a") as starts:
        starts.write(f"{number} {os.getpid()}\n")
    write_json(attempt.driver, {"pid": os.getpid(), "started": start_time(os.getpid()), "attempt": number})
    specification = read_json(directory.path / "job.json") or {}
    _fail_if_requested((directory.files / specification["file"]).read_text(), number, attempt.exit)
    rows = 0
    while (request := directory.read_request()) is None:
        rows += 10
        metrics = {"rows_in": rows, "rows_out": rows - 1, "lag": 5, "watermark": "2026-03-01T12:00:00.000Z"}
        write_json(attempt.status, {"at": time.time(), "phase": "", "metrics": metrics})
        time.sleep(0.05)
    write_json(attempt.exit, {"ending": {"stop": "stopped", "drain": "drained"}[request], "at": time.time()})


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
