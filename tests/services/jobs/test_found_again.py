"""A job service that is killed and started again finds every job, and starts none twice.

`python -m tests.services.jobs.test_found_again [ROUNDS]` kills it 20 times by default.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from headrace.devtools.ports import free_ports
from headrace.jobs.process import start_time
from tests.services.jobs.conftest import DOCUMENT
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[3]
JOBS = 3


class ServiceProcess:
    """A job service in a process of its own."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_ports(1)[0]
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}/api/v1", timeout=120)

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.support.fake_service", str(self.port), str(self.data)]
        self.process = subprocess.Popen(command, cwd=ROOT)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def answers(self) -> bool:
        assert self.process.poll() is None
        try:
            return self.client.get("/health").status_code == 200
        except httpx.TransportError:
            return False

    def jobs(self) -> dict[str, dict[str, Any]]:
        return {
            job["id"]: self.client.get(f"/jobs/{job['id']}").json() for job in self.client.get("/jobs").json()
        }

    def starts(self, job: str) -> list[str]:
        """The driver processes of a job, as it has recorded them itself."""
        return (self.data / "jobs" / job / "starts").read_text().splitlines()


def kill_many_times(data: Path, rounds: int) -> None:
    service = ServiceProcess(data)
    service.start()
    try:
        wait_until(service.answers)
        jobs = [service.client.post("/jobs", json={"document": DOCUMENT}).json()["id"] for _ in range(JOBS)]
        for number in range(rounds):
            if number % 2:  # otherwise it is killed while it starts or finds its jobs
                wait_until(lambda: all(job["state"] == "running" for job in service.jobs().values()))
            service.kill()
            service.start()
            wait_until(service.answers)
        check_found(service, jobs)
        for job in jobs:
            service.client.post(f"/jobs/{job}/kill")
    finally:
        service.kill()
        service.client.close()


def check_found(service: ServiceProcess, jobs: list[str]) -> None:
    """Every job runs in the one process it was started in."""
    wait_until(lambda: all(job["state"] == "running" for job in service.jobs().values()))
    actual = service.jobs()
    assert set(actual) == set(jobs)
    for job in jobs:
        started = service.starts(job)
        assert [line.split()[0] for line in started] == ["1"], started
        assert int(started[0].split()[1]) == actual[job]["pid"]
        assert start_time(actual[job]["pid"]) is not None
    rows = {job: actual[job]["metrics"]["rows_in"] for job in jobs}
    wait_until(lambda: all(service.jobs()[job]["metrics"]["rows_in"] > rows[job] for job in jobs))


def test_every_job_is_found_again_and_none_is_doubled(tmp_path: Path) -> None:
    kill_many_times(tmp_path, 3)


def test_the_jobs_go_on_while_the_service_is_down(tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path)
    service.start()
    wait_until(service.answers)
    job = service.client.post("/jobs", json={"document": DOCUMENT}).json()["id"]
    wait_until(lambda: service.jobs()[job]["state"] == "running")
    pid = service.jobs()[job]["pid"]
    service.kill()
    assert start_time(pid) is not None
    os.kill(pid, signal.SIGKILL)
    service.start()
    wait_until(service.answers)
    wait_until(lambda: service.jobs()[job]["restarts"] == 1)
    assert service.jobs()[job]["history"][0]["exit_reason"] == "ended without a report"
    service.client.post(f"/jobs/{job}/kill")
    service.kill()
    service.client.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        kill_many_times(Path(directory), int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    print("every job found again, none doubled")
