"""The examples of `headrace.testing` are true.

They run cases, so they need Spark; others are tested without.
"""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from headrace import testing
from headrace.testing import delivery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("place", "name"), [*((testing, name) for name in ["", *testing.__all__]), (delivery, "check_source")]
)
def test_an_example_of_testing_is_true(
    place: ModuleType, name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("docs", "tests"):  # examples name files of the repository, and write their own
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    thing = getattr(place, name) if name else place
    module = inspect.getmodule(thing)
    runner = doctest.DocTestRunner()
    actual = doctest.DocTestFinder(recurse=False)
    [test] = actual.find(thing, name or "testing", module=module, globs=vars(module).copy())
    runner.run(test)
    assert (runner.failures, runner.tries > 0) == (0, True)
