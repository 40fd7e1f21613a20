"""`headrace jobs` and `headrace users` against a real service."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from headrace.cli.app import app, main
from headrace.cli.commands.service.client import Client
from headrace.cli.commands.service.serve import _take_secrets
from headrace.errors import OptionError
from headrace.jobs.app import create_app
from headrace.jobs.security.policy import Policy
from headrace.jobs.security.principals import PrincipalStore
from headrace.jobs.service import JobService
from headrace.jobs.store.database import Database
from tests.services.jobs.conftest import DOCUMENT
from tests.support.fake_service import COMMAND
from tests.support.http_server import serving
from tests.support.waiting import wait_until


class Terminal:
    """Runs commands against one service."""

    def __init__(self, url: str) -> None:
        self.url = url

    def run(self, *words: str) -> str:
        result = CliRunner().invoke(app, ["jobs", *words, "--url", self.url], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))


@pytest.fixture
def terminal(client: httpx.Client) -> Iterator[Terminal]:
    return Terminal(str(client.base_url))  # type: ignore[return-value]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "numbers.yaml"
    file.write_text(DOCUMENT)
    return file


def submit(terminal: Terminal, file: Path, *words: str) -> str:
    created = terminal.json("submit", str(file), *words)
    assert set(created) == {"id", "state"}
    wait_until(lambda: terminal.json("show", created["id"])["state"] == "running")
    return str(created["id"])


def test_a_job_is_submitted_shown_stopped_restarted_cloned_and_deleted(
    terminal: Terminal, file: Path
) -> None:
    job = submit(terminal, file)
    shown = terminal.json("show", job)
    assert {"state", "attempts", "pid", "error", "metrics"} <= set(shown)
    names = {"rows_in", "rows_out", "late", "dead_letters", "watermark", "lag", "latency_ms"}
    assert names <= set(shown["metrics"])
    terminal.run("stop", job)
    wait_until(lambda: terminal.json("show", job)["state"] == "stopped")
    assert terminal.json("restart", job)["state"] == "starting"
    clone = terminal.json("clone", job)["id"]
    assert terminal.json("kill", job)["state"] == "killed"
    assert terminal.json("delete", job) == {"id": job, "deleted": True}
    assert [each["id"] for each in terminal.json("list")] == [clone]


def test_a_job_on_this_machine_runs_in_the_directory_of_its_file(
    terminal: Terminal, file: Path, service: JobService
) -> None:
    assert service.get(submit(terminal, file)).directory == str(file.parent)


def test_data_is_uploaded_on_request(terminal: Terminal, file: Path, service: JobService) -> None:
    (file.parent / "events").mkdir()
    (file.parent / "events" / "first.jsonl").write_text("{}")
    job = submit(terminal, file, str(file.parent / "events"), "--restarts", "7")
    assert service.get(job).directory is None
    assert service.get(job).settings.restart_limit == 7
    assert (service.directory(job).files / "events" / "first.jsonl").read_text() == "{}"


def test_lists_and_jobs_are_shown_as_text(terminal: Terminal, file: Path) -> None:
    assert "headrace jobs submit" in terminal.run("list")
    job = submit(terminal, file)
    assert "numbers" in terminal.run("list")
    assert "running" in terminal.run("show", job)
    assert terminal.json("logs", job) == {"id": job, "logs": ""}


def test_rows_of_a_running_job_are_sampled(terminal: Terminal, file: Path) -> None:
    job = submit(terminal, file)
    first, second = terminal.run("sample", job, "--step", "n", "--rows", "2").splitlines()
    assert json.loads(first)["n"] == json.loads(second)["n"] > 0
    assert terminal.json("sample", job, "--step", "n", "--rows", "1")["step"] == "n"


@pytest.mark.parametrize("job", ["0123456789ab", "numbers"])
def test_an_unknown_job_is_an_error(terminal: Terminal, job: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        main(["jobs", "show", job, "--url", terminal.url])
    assert exited.value.code == 2
    assert f"error: jobs: no job has the id '{job}'\n  hint: headrace jobs list" in capsys.readouterr().err


def test_all_problems_of_a_document_are_shown(
    terminal: Terminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("name: p\nsources:\n  a: {file: {}}\n  b: {memory: {rowz: []}}\n")
    with pytest.raises(SystemExit):
        main(["jobs", "submit", str(file), "--url", terminal.url])
    errors = capsys.readouterr().err
    assert "wrong.yaml:3:7: unknown connector `file`" in errors
    assert "wrong.yaml:4:16: memory: unknown option `rowz`" in errors


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--once", "--drain"), "submit: expected --once or --drain, got both"),
        (("--every", "soon"), "--every: expected a duration, got 'soon'"),
        (("--memory", "2x"), "hint: Memory of the driver, as 1g"),
    ],
)
def test_invalid_settings_are_rejected(
    terminal: Terminal, file: Path, words: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        main(["jobs", "submit", str(file), *words, "--url", terminal.url])
    assert exited.value.code == 2
    assert text in capsys.readouterr().err


def serve(*words: str) -> int | str | None:
    with pytest.raises(SystemExit) as exited:
        main(["serve", *words])
    return exited.value.code


def test_a_port_in_use_is_an_error(
    client: httpx.Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = str(client.base_url.port)
    assert serve("--port", port, "--data", str(tmp_path / "second")) == 1
    assert capsys.readouterr().err.startswith(f"error: 127.0.0.1:{port}: cannot listen: ")


def test_a_data_directory_that_cannot_be_written_is_an_error(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve("--port", "0", "--data", str(file)) == 2
    assert "cannot write there" in capsys.readouterr().err


def test_an_invalid_memory_limit_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert serve("--port", "0", "--data", str(tmp_path), "--memory-limit", "2x") == 2
    assert "--memory-limit: expected a size such as 512m or 2g, got '2x'" in capsys.readouterr().err


def test_a_service_that_is_away_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["jobs", "list", "--url", "http://127.0.0.1:9"])
    assert "headrace serve" in capsys.readouterr().err


def test_an_open_address_without_a_user_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        main(["serve", "--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path / "data")])
    assert exited.value.code == 2
    assert "headrace users add" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["list"], ["delete", "ada"]])
def test_users_in_a_directory_without_a_service(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match="there is no job service"):
        app(["users", *command], standalone_mode=False)
    assert list(tmp_path.iterdir()) == []


def test_password_and_store_come_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = {"HEADRACE_PASSWORD": "a long password\n", "HEADRACE_STORE": f"{tmp_path}/own.db\n"}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        monkeypatch.setenv(f"{name}_FILE", str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["users", "add", "ada"]).exit_code == 0
    assert (tmp_path / "own.db").exists()
    assert "ada operator" in CliRunner().invoke(app, ["users", "list"]).output
    database = Database(str(tmp_path / "own.db"))
    assert PrincipalStore(database).log_in("ada", "a long password") is not None
    database.close()


def test_token_of_requests_comes_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy(login=True, token="hr_admin")
    service = JobService(tmp_path / "data", command=COMMAND, period=0.05, policy=policy)
    (tmp_path / "token").write_text("hr_admin\n")
    monkeypatch.setenv("HEADRACE_TOKEN_FILE", str(tmp_path / "token"))
    with closing(service), serving(create_app(service)) as url:
        assert Client(url).get("/jobs") == []
    (tmp_path / "token").unlink()
    with pytest.raises(OptionError, match=r"`HEADRACE_TOKEN` cannot be read from .*token: No such file"):
        Client(url).get("/jobs")


def test_service_takes_its_secrets_out_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("hr_admin\n")
    monkeypatch.setenv("HEADRACE_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("HEADRACE_STORE_FILE", str(tmp_path / "store"))
    assert _take_secrets() == "hr_admin"
    assert not {"HEADRACE_TOKEN_FILE", "HEADRACE_STORE_FILE"} & set(os.environ)


def test_users_are_added_listed_and_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_PASSWORD", "a long password")
    place = ["--data", str(tmp_path)]
    runner = CliRunner()
    assert runner.invoke(app, ["users", "add", "ada", "--role", "viewer", *place]).exit_code == 0
    assert "ada viewer" in runner.invoke(app, ["users", "list", *place]).output
    assert runner.invoke(app, ["users", "token", "ada", *place]).output.startswith("hr_")
    assert runner.invoke(app, ["users", "delete", "ada", *place]).exit_code == 0
    runner.invoke(app, ["users", "token", "ci", *place])
    listed = runner.invoke(app, ["users", "list", *place]).output
    assert listed == "ci operator token (command line)\n"
    [token] = json.loads(runner.invoke(app, ["users", "list", "--json", *place]).output)
    assert set(token) == {"name", "role", "label", "created", "expires", "kind"}
    assert runner.invoke(app, ["users", "delete", "ci", *place]).output == "ci deleted\n"
    assert runner.invoke(app, ["users", "delete", "ci", *place]).exit_code != 0
