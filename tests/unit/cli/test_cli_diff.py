"""`headrace diff` prints a table, or JSON, and the command that comes next."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support.checkpoints import write_epochs

from headrace.checkpoints.layout import renew_checkpoint_id
from headrace.checkpoints.planned_state import state_of_plan
from headrace.checkpoints.savepoints import create_savepoint
from headrace.checkpoints.signatures import write_signature
from headrace.cli.loading import load_one

Call = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[[str, str], Path]

PIPELINE = """
from headrace import Pipeline, connect

words = Pipeline("words")
lines = words.read("lines", connect.files(path="in/"), format="csv", schema="word string, n int")
counts = lines.key_by("word").aggregate("{step}", n="{aggregate}")
counts.write("table", connect.sqlite(path="words.db", table="counts", key=["word"]))
"""


def versions(write: Write, step: str, aggregate: str) -> tuple[str, str]:
    write("old.py", PIPELINE.format(step="counts", aggregate="count(*)"))
    write("new.py", PIPELINE.format(step=step, aggregate=aggregate))
    return "old.py", "new.py"


def test_replay_is_listed_with_its_start_and_its_effect(call: Call, write: Write) -> None:
    done = call("diff", *versions(write, "counts", "sum(n)"))
    assert done.returncode == 0
    assert "counts  aggregate  needs a replay" in done.stdout
    assert "aggregates were `count(*)`, are `sum(n)`" in done.stdout
    assert "replay from lines (files" in done.stdout
    assert "rows with the same key (word) are overwritten" in done.stdout
    assert "headrace run new.py --fresh" in done.stdout


def test_migration_is_listed_with_its_command(call: Call, write: Write) -> None:
    done = call("diff", *versions(write, "tally", "count(*)"))
    assert "tally  aggregate  migrates" in done.stdout
    assert "headrace state new.py --rename counts=tally" in done.stdout


def test_json_has_the_verdict_of_each_step_and_sink(call: Call, write: Write) -> None:
    data = json.loads(call("diff", *versions(write, "counts", "count(*)"), "--json").stdout)
    assert (data["verdict"], data["steps"][0]["verdict"]) == ("compatible", "compatible")
    assert data["sinks"][0]["verdict"] == "continues"


def store_checkpoint(file: str, place: Path) -> None:
    [(name, state)] = state_of_plan(load_one(Path(file))._plan()).queries.items()
    checkpoint = place / "queries" / name
    write_epochs(checkpoint)
    renew_checkpoint_id(checkpoint)
    write_signature(checkpoint, state.signature)


def test_next_commands_name_the_checkpoint_directory_and_the_savepoint(
    call: Call, write: Write, here: Path
) -> None:
    old, new = versions(write, "counts", "count(*)")
    store_checkpoint(old, here / ".headrace" / "words")
    store_checkpoint(old, here / "shared")
    create_savepoint("words", here / "shared", "v1")
    assert call("diff", ".headrace/words", new).stdout.endswith("resume: headrace run new.py\n")
    assert call("diff", "shared", new).stdout.endswith("resume: headrace run new.py --checkpoint shared\n")
    lines = call("diff", "shared.savepoints/v1", new).stdout.splitlines()
    place = f"--checkpoint {here / 'shared'}"
    assert lines[-2:] == [
        f"restore: headrace savepoint restore new.py v1 {place}",
        f"resume: headrace run new.py {place}",
    ]


def test_directory_without_a_checkpoint_is_an_error(call: Call, here: Path) -> None:
    (here / "empty").mkdir()
    done = call("diff", "empty", "good.py")
    assert done.returncode == 2
    assert "there is no checkpoint" in done.stderr
