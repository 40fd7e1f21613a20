"""Errors become messages and exit statuses; tracebacks are shown on request only."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from headrace.cli.terminal import errors as failures
from headrace.errors import DeliveryError, HeadraceError, OptionError, PlanError, Problem, SetupError

Write = Callable[[str, str], Path]
Call = Callable[..., subprocess.CompletedProcess[str]]


def test_version_is_the_package_s(call: Call) -> None:
    done = call("--version")
    assert (done.returncode, done.stdout) == (0, f"headrace {version('headrace')}\n")


def test_without_a_command_the_help_names_them_all(call: Call) -> None:
    done = call()
    assert all(word in done.stdout + done.stderr for word in ("check", "explain", "--traceback"))


def test_a_wrong_word_is_a_usage_error_with_the_nearest_one(call: Call) -> None:
    done = call("chek")
    assert done.returncode == 2
    assert "check" in done.stderr
    assert done.stdout == ""


def test_a_good_file_checks_and_a_broken_one_gives_status_2_and_all_problems(
    write: Write, call: Call
) -> None:
    write(
        "bad.py",
        """
        from headrace import Pipeline
        from parts import Log

        p = Pipeline("p")
        lines = p.read("lines", Log(), format="text")
        lines.key_by("wrd").aggregate("counts", n="count(*)").write("out", Log(), mode="append")
        """,
    )
    assert call("check", "good.py").stdout == "good.py: fine (words, 4 steps, 1 sink)\n"
    done = call("check", "good.py", "bad.py")
    assert done.returncode == 2
    assert "bad.py:6: `counts`: unknown key column `wrd`" in done.stderr
    assert "hint: Known: value" in done.stderr
    assert "a running aggregate changes its rows, so mode append is not possible" in done.stderr
    assert "2 problems" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_warning_is_reported_and_the_file_is_fine(write: Write, call: Call) -> None:
    write(
        "idle.py",
        "from headrace import Pipeline\nfrom parts import Log\nPipeline('p').read('a', Log(), "
        "format='text')\n",
    )
    done = call("check", "idle.py")
    assert (done.returncode, done.stdout) == (0, "idle.py: fine (p, 1 step, 0 sinks)\n")
    assert done.stderr.startswith(
        "warning: idle.py:3: `a`: no sink depends on it, so it does not run\n  hint: end it with"
    )


def test_check_as_json_lists_files_and_problems(call: Call) -> None:
    done = call("check", "good.py", "nope.py", "--json")
    good, nope = json.loads(done.stdout)
    assert good == {"file": "good.py", "ok": True, "problems": [], "warnings": []}
    assert nope["problems"][0]["what"] == "no such file"
    assert done.returncode == 2


def test_a_traceback_is_shown_only_on_demand_and_anywhere_in_the_line(write: Write, call: Call) -> None:
    write("broken.py", "1 / 0\n")
    plain, asked = call("check", "broken.py"), call("explain", "broken.py", "--traceback")
    assert "Traceback" not in plain.stderr
    assert "Traceback" in asked.stderr
    assert "error: broken.py:1: ZeroDivisionError: division by zero" in asked.stderr
    assert "Traceback" in call("explain", "broken.py", HEADRACE_TRACEBACK="1").stderr


def test_a_process_ends_with_the_status_and_the_message_on_standard_error(
    write: Write, process: Call
) -> None:
    write("broken.py", "1 / 0\n")
    done = process("explain", "broken.py")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: broken.py:1: ZeroDivisionError: division by zero\n")
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr


def test_an_unexpected_error_is_one_line_and_its_traceback_is_kept(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(here / "cache"))
    monkeypatch.setattr("sys.argv", ["headrace", "run", "my file.py"])
    assert failures.report(RuntimeError("the sky fell\nand more")) == 1
    message = capsys.readouterr().err
    assert message.startswith("error: unexpected RuntimeError: the sky fell\n")
    assert "headrace run 'my file.py' --traceback" in message
    (log,) = (here / "cache" / "logs").glob("headrace-*.log")
    assert str(log) in message
    assert "and more" in log.read_text()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OptionError("wrong"), 2),
        (PlanError([Problem("a", "b"), Problem("c", "d")]), 2),
        (SetupError("no Java"), 1),
        (DeliveryError("full"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_the_exit_status_distinguishes_wrong_input_from_a_failed_run(
    error: BaseException, status: int
) -> None:
    assert failures.report(error) == status


def test_every_problem_of_an_error_is_shown_with_its_hint(capsys: pytest.CaptureFixture[str]) -> None:
    failures.report(HeadraceError("what [b]it[/b] is", where="where", hint="what to do"))
    assert capsys.readouterr().err == "error: where: what [b]it[/b] is\n  hint: what to do\n"


def test_a_reader_that_has_seen_enough_ends_the_command_quietly(here: Path) -> None:
    import shlex
    import sys

    command = f"{shlex.quote(sys.executable)} -m headrace.cli.app explain good.py --json | head -c 5"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("headrace ch", {"check", "checkpoint"}),
        ("headrace run x.py --guarantee at_", {"at_most_once", "at_least_once"}),
        ("headrace new x --template w", {"word_count"}),
        ("headrace connectors so", {"socket"}),
        ("headrace jars fetch ", {"kafka", "kafka-broker", "s3"}),
    ],
)
def test_the_shell_completes_commands_and_values(call: Call, typed: str, offered: set[str]) -> None:
    place = str(len(typed.split(" ")) - 1)
    done = call(_HEADRACE_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=place)
    assert set(done.stdout.split()) == offered


@pytest.mark.parametrize(
    "command",
    [
        "run",
        "check",
        "explain",
        "test",
        "new",
        "to-yaml",
        "diff",
        "connectors",
        "migrate",
        "schema",
        "doctor",
    ],
)
def test_the_help_of_a_command_has_an_example(call: Call, command: str) -> None:
    assert f"headrace {command}" in call(command, "--help").stdout.split("For example:")[1]


def test_check_reports_input_files_that_do_not_exist(write: Write, call: Call) -> None:
    write(
        "missing.yaml",
        """
        name: missing
        sources: {tx: {files: {path: nowhere/tx.json}, schema: card string}}
        steps: {home: {from: tx, lookup: {files: {path: homes.csv}, schema: "card string, home string", on: card}}}
        sinks: {out: {from: home, console: {}}}
        """,
    )
    done = call("check", "missing.yaml")
    assert done.returncode == 2
    assert "`tx`: no such file or directory: nowhere/tx.json" in done.stderr
    assert "`home`: no such file or directory: homes.csv" in done.stderr


@pytest.mark.parametrize("words", [(), ("run",), ("jobs", "submit")])
def test_help_shows_no_type_of_options_without_a_value(words: tuple[str, ...], call: Call) -> None:
    done = call(*words, "--help")
    assert done.returncode == 0
    assert "--help" in done.stdout
    assert "<bool>" not in done.stdout


def test_duration_of_warm_sessions_has_its_option_as_place(call: Call) -> None:
    assert "--idle: expected a duration, got 'soon'" in call("warm", "--idle", "soon").stderr
