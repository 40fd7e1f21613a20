"""Test runs of the service: checked as submissions are, in a process with limits."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.waiting import wait_until

from headrace.errors import DocumentError, OptionError, PlanError
from headrace.jobs.process import start_time
from headrace.jobs.sample_runs import MAX_RUNS, SampleRuns
from headrace.jobs.security.policy import Policy
from headrace.jobs.states import ConflictError

DOCUMENT = """name: numbers
sources: {n: {generator: {rate: 10, columns: {n: sequence}}}}
sinks: {out: {from: n, console: {}}}
"""
PREAMBLE = """
import json, os, pathlib, subprocess, sys, time
place = pathlib.Path(sys.argv[1])
request = json.loads((place / "request.json").read_text())
def answer(**content):
    (place / "result.json").write_text(json.dumps(content))
"""
OPEN = Policy(host="0.0.0.0")


def runs(code: str, policy: Policy | None = None, seconds: float = 30) -> SampleRuns:
    command = [sys.executable, "-c", PREAMBLE + code]
    return SampleRuns(policy or Policy(), command=command, seconds=seconds)


def run(code: str, policy: Policy | None = None, **options: Any) -> dict[str, Any]:
    return runs(code, policy).run(DOCUMENT, {"n": '{"n": 1}'}, **options)


def test_process_gets_document_and_rows_and_its_result_is_returned() -> None:
    result = run('answer(result={"outputs": [request["rows"], request["document"]], "dropped": 0})')
    assert result["outputs"] == [{"n": '{"n": 1}'}, DOCUMENT]


def test_problems_of_the_run_are_raised_with_their_places() -> None:
    with pytest.raises(DocumentError) as raised:
        run('answer(problems=[{"where": "rows.n:1", "what": "wrong", "hint": "right"}])')
    assert [vars(each) for each in raised.value.problems] == [
        {"where": "rows.n:1", "what": "wrong", "hint": "right"}
    ]


def test_memory_limit_of_jobs_is_that_of_the_run() -> None:
    result = run("answer(result=request['conf'])", Policy(memory_limit="512m"))
    assert result == {"spark.driver.memory": "512m"}


def test_secrets_of_the_service_are_not_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TOKEN", "hr_hidden")
    monkeypatch.setenv("HEADRACE_STORE", "postgresql://hidden")
    monkeypatch.setenv("HEADRACE_PASSWORD_FILE", "/run/secrets/hidden")
    assert "hidden" not in str(run("answer(result=dict(os.environ))"))


def test_run_beyond_its_time_limit_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = f"""
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
part = pathlib.Path({str(pids)!r} + ".part")
part.write_text(f"{{os.getpid()}} {{child.pid}}")
part.rename({str(pids)!r})
time.sleep(600)
"""
    for seconds in (2, 20, 100):  # a loaded machine needs longer to start it
        with pytest.raises(DocumentError, match=f"took longer than {seconds} seconds"):
            runs(code, seconds=seconds).run(DOCUMENT, {"n": "{}"})
        if pids.exists():
            break
    for pid in map(int, pids.read_text().split()):
        wait_until(lambda pid=pid: start_time(pid) is None)  # type: ignore[misc]


def test_process_left_behind_by_a_run_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = f"""
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path({str(file)!r}).write_text(str(child.pid))
answer(result={{}})
"""
    run(code)
    wait_until(lambda: start_time(int(file.read_text())) is None)


def test_closing_the_service_kills_its_runs(tmp_path: Path) -> None:
    started = tmp_path / "started"
    tests = runs(f"pathlib.Path({str(started)!r}).touch(); time.sleep(60)", seconds=60)

    def expect_kill() -> None:
        with pytest.raises(DocumentError, match="killed by signal 9"):
            tests.run(DOCUMENT, {"n": "{}"})

    thread = threading.Thread(target=expect_kill)
    thread.start()
    wait_until(started.exists)
    tests.close()
    thread.join(30)
    assert not thread.is_alive()


def test_end_without_a_result_is_described_without_passwords() -> None:
    code = "print('postgresql://ada:hunter2@db'); os.kill(os.getpid(), 9)"
    with pytest.raises(DocumentError, match=r"killed by signal 9(?s:.*)the memory limit is 1g") as raised:
        run("import sys; " + code.replace("; ", "; sys.stdout.flush(); "), Policy(memory_limit="1g"))
    assert "hunter2" not in str(raised.value)


def test_files_of_a_run_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert "headrace-test-" in run("answer(result={'place': str(place), 'cwd': os.getcwd()})")["cwd"]
    assert list(tmp_path.iterdir()) == []


def test_number_of_runs_is_limited(tmp_path: Path) -> None:
    tests = runs(f"pathlib.Path({str(tmp_path)!r}, str(os.getpid())).touch(); time.sleep(600)", seconds=300)

    def hold() -> None:
        with pytest.raises(DocumentError):
            tests.run(DOCUMENT, {"n": "{}"})

    threads = [threading.Thread(target=hold) for _ in range(MAX_RUNS)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(list(tmp_path.iterdir())) == MAX_RUNS)
    with pytest.raises(ConflictError, match="test runs are under way"):
        tests.run(DOCUMENT, {"n": "{}"})
    tests.close()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (DOCUMENT.replace("console: {}", "files: {path: /etc/out}"), "a path of the service's machine"),
        (DOCUMENT.replace("console: {}", "files: {path: ../../out}"), "a path of the service's machine"),
        (
            DOCUMENT.replace("sinks:", 'steps: {f: {from: n, map: {python: "os:getcwd"}}}\nsinks:'),
            "a step that loads Python",
        ),
        (
            DOCUMENT.replace(
                "sinks:", "steps: {f: {from: n, select: [\"reflect('java.lang.System', 'exit')\"]}}\nsinks:"
            ),
            "a function that calls Java",
        ),
    ],
)
def test_restricted_document_is_refused_before_a_process_starts(
    tmp_path: Path, document: str, problem: str
) -> None:
    touched = tmp_path / "started"
    tests = runs(f"pathlib.Path({str(touched)!r}).touch()", OPEN)
    with pytest.raises(DocumentError, match=problem):
        tests.run(document, {"n": "{}"})
    assert not touched.exists()


def test_restricted_service_accepts_no_working_directory(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="a working directory is not accepted"):
        run("answer(result={})", OPEN, directory=str(tmp_path))
    assert run("answer(result={'cwd': os.getcwd()})", directory=str(tmp_path))["cwd"] == str(tmp_path)


def test_wrong_document_has_its_line() -> None:
    with pytest.raises((DocumentError, PlanError), match=r"pipeline\.yaml:3:"):
        runs("").run(DOCUMENT.replace("from: n", "from: m"), {"n": "{}"})
