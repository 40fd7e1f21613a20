"""Run the card-fraud example as a job with its live page: `python -m examples.demo`, in the root.

Alerts are printed on the terminal as well. On a terminal the input is repeated, as of the last hours, and the
page stays open until Ctrl-C; with `--once`, in CI and without a terminal, the demo ends after the input.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import uvicorn

from headrace.dashboard.stored.logs import read_log
from headrace.jobs.app import create_app
from headrace.jobs.model import Job, JobSettings
from headrace.jobs.service import JobService
from headrace.jobs.states import ConflictError
from headrace.jobs.submission import Submission

EXAMPLE = Path(__file__).parent / "card_fraud"
SPEED = "speed: 120}"
HOURS = 6
"""How often the events of one hour are repeated for the live page: nine minutes at the speed of the demo."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
NEXT = """\
What to try next:
  sqlite3 {directory}/fraud.db 'select * from tested'        the cards that were being tested
  .venv/bin/headrace explain {directory}/pipeline.yaml       what Spark runs for it
  .venv/bin/headrace serve                                   run your own jobs; the page is at port 8642
  less examples/card_fraud/README.md                         what to notice, and what to change
  less docs/tutorial/index.md                                your own pipeline, in six steps"""


def main() -> None:
    """Start the service, submit the job, and follow it."""
    options = parse_options()
    directory = options.directory.absolute()
    copy_example(directory, options.speed or (120 if options.once else 40))
    if not options.once:
        move_to_present(directory / "events.jsonl")
    service = JobService(directory / ".headrace" / "service")
    try:
        with serve(service, options.port) as address:
            job = submit(service, directory, once=options.once, master=options.master)
            page = f"{address}/jobs/{job.id}"
            print(f"The live page: {page}", flush=True)
            if not options.once:
                print("Alerts follow as soon as Spark has started. Ctrl-C ends the demo.\n", flush=True)
            if not options.once and has_display():
                webbrowser.open(page)
            follow(service, job, stay=not options.once)
        print(f"\nThe tables abroad, tested and totals are in {options.directory}/fraud.db.")
        print(NEXT.format(directory=options.directory))
        sys.exit(0 if service.get(job.id).error is None else 1)
    finally:
        service.close()


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Card fraud as a live job.")
    parser.add_argument("--directory", type=Path, default=Path("build/demo"))
    parser.add_argument("--once", action="store_true", default=not sys.stdout.isatty() or "CI" in os.environ)
    parser.add_argument("--speed", type=int, help="how many times as fast as recorded")
    parser.add_argument("--port", type=int, default=8642)
    parser.add_argument("--master")
    return parser.parse_args()


def copy_example(directory: Path, speed: int) -> None:
    """Make a fresh copy of the example."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(EXAMPLE, directory)
    document = directory / "pipeline.yaml"
    document.write_text(document.read_text().replace(SPEED, f"speed: {speed}}}"))


def move_to_present(events: Path, hours: int = HOURS) -> None:
    """Repeat the events of one hour, so that they are those of the last hours.

    At more than the speed of the clock, the job reads them as if it caught up with a backlog.
    """
    lines = events.read_text().splitlines()
    first = min(datetime.fromisoformat(match[0]) for line in lines if (match := _TIME.search(line)))
    began = _window_of(datetime.now(UTC)) - timedelta(hours=hours) - _window_of(first)
    events.write_text(
        "".join(f"{_move(line, began, hour)}\n" for hour in range(hours) for line in lines if line.strip())
    )


def _window_of(moment: datetime) -> datetime:
    """Return the start of the window of ten minutes; events that share one still do after the move."""
    return moment.replace(minute=moment.minute // 10 * 10, second=0, microsecond=0)


def _move(line: str, began: timedelta, hour: int) -> str:
    """Return an event with a later time and an id of its own."""

    def later(match: re.Match[str]) -> str:
        moved = datetime.fromisoformat(match[0]) + began + timedelta(hours=hour)
        return moved.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    return _TIME.sub(later, line).replace('"p-', f'"p{hour + 1}-', 1)


def submit(service: JobService, directory: Path, *, once: bool, master: str | None) -> Job:
    """Submit the pipeline; relative paths refer to the copy of the example."""
    document = (directory / "pipeline.yaml").read_bytes()
    settings = JobSettings(until="drained" if once else None, master=master, restart_limit=0)
    return service.submit(
        Submission("pipeline.yaml", {"pipeline.yaml": document}, directory=str(directory), settings=settings)
    )


@contextmanager
def serve(service: JobService, port: int) -> Iterator[str]:
    """Serve REST and pages on loopback, on another port if this one is taken."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            create_app(service), log_level="warning", ws="none", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def follow(service: JobService, job: Job, *, stay: bool) -> None:
    """Print the output of the job until it has ended; on Ctrl-C, stop it, and on another one, kill it."""
    log, offset, handled = service.directory(job.id).attempt(1).log, 0, 0
    interrupts: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    while True:
        current = service.get(job.id)
        part = read_log(log, offset=offset)
        offset = part.offset
        for record in part.records:
            if record.level != "INFO":
                print(record.text, flush=True)
        if not current.state.active and (interrupts or not stay):
            break
        if len(interrupts) > handled:
            handled = len(interrupts)
            end(service, current, at_once=handled > 1)
        time.sleep(0.2)
    print_summary(service, current)


def end(service: JobService, job: Job, *, at_once: bool) -> None:
    """Stop the job gracefully, or kill it."""
    with suppress(ConflictError):  # it may have been stopped on its page
        if at_once:
            service.kill(job.id)
        else:
            print("\nStopping after the current micro-batch; Ctrl-C again ends it at once.", flush=True)
            service.stop_job(job.id)


def print_summary(service: JobService, job: Job) -> None:
    """Print the state of the job and its counts."""
    metrics = service.snapshot(job)["metrics"]
    counts = f"read {metrics['rows_in']} rows, wrote {metrics['rows_out']}"
    error = f", {job.error}" if job.error else ""
    print(f"{job.name} {job.state}: {counts}, dead letters {metrics['dead_letters']}{error}")


def has_display() -> bool:
    """True if a browser can be opened."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


if __name__ == "__main__":
    main()
