"""A job service whose drivers are `fake_driver`: `python -m tests.support.fake_service PORT DATA`."""

from __future__ import annotations

import sys
from pathlib import Path

from headrace.jobs.server import run_server
from headrace.jobs.service import JobService

COMMAND = (sys.executable, str(Path(__file__).with_name("fake_driver.py")))

if __name__ == "__main__":
    run_server(JobService(Path(sys.argv[2]), command=COMMAND), port=int(sys.argv[1]))
