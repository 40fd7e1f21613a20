"""`headrace savepoint` for pipelines that have not run; with Spark: the page on upgrades."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

Call = Callable[..., subprocess.CompletedProcess[str]]


def test_pipeline_without_a_checkpoint_has_no_savepoints(call: Call) -> None:
    assert json.loads(call("savepoint", "list", "good.py", "--json").stdout) == []
    done = call("savepoint", "create", "good.py", "v1")
    assert done.returncode == 2
    assert ".headrace/words: there is no checkpoint" in done.stderr


def test_unknown_savepoint_is_an_error(call: Call) -> None:
    for command in ("restore", "delete"):
        done = call("savepoint", command, "good.py", "v1")
        assert done.returncode == 2
        assert "unknown savepoint `v1`" in done.stderr
