"""The package as a whole: what it exports, what importing it costs, and that its examples are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import headrace

NEEDS_SPARK = tuple(
    f"headrace.{package}."
    for package in [
        "spark",
        "lowering",
        "runtime",
        "checkpoints",
        "rules",
        "debugging",
        "devtools",
        "testing",
        "cli",
    ]
)
PIPELINE = """
import sys
from headrace import Pipeline, connect, windows
p = Pipeline("p")
tx = p.read("tx", connect.files(path="in"), format="json", schema="card string, ts timestamp")
panes = tx.event_time("ts").key_by("card").window(windows.tumbling("1 minute")).aggregate("w", n="count(*)")
panes.write("out", connect.files(path="out", format="json"))
p.check()
print(sorted(name for name in sys.modules if name.split(".")[0] in ("pyspark", "py4j", "pandas", "pyarrow")))
"""


def modules() -> list[str]:
    actual = (info.name for info in pkgutil.walk_packages(headrace.__path__, "headrace."))
    return [
        "headrace",
        *(
            name
            for name in actual
            if not f"{name}.".startswith(NEEDS_SPARK) and not name.endswith((".source", ".sink", ".lower"))
        ),
    ]


def test_the_root_is_small_sorted_and_complete() -> None:
    assert headrace.__all__ == sorted(headrace.__all__)
    assert len(headrace.__all__) <= 40
    assert all(getattr(headrace, name).__doc__ for name in headrace.__all__)


def test_pandas_is_installed_without_extras() -> None:
    """Spark imports pandas before it sends Arrow batches to Python, for example to a processor."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert [name for name in project["dependencies"] if name.startswith("pandas")]


def test_building_a_pipeline_imports_no_pyspark() -> None:
    done = subprocess.run([sys.executable, "-c", PIPELINE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_are_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some examples write files
    assert doctest.testmod(importlib.import_module(name)).failed == 0
