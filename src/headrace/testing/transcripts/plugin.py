"""The pytest plugin: each case of a transcript is a test.

It collects files named `*.transcript.yaml` and all YAML files below the directories of the setting
`headrace_transcripts` (relative to the root directory). The first test of a file runs all its cases
concurrently; under pytest-xdist only with `--dist loadfile` or `loadscope`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.testing.transcripts import SUFFIXES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.testing.transcripts.case import Case, InvalidCase
    from headrace.testing.transcripts.report import Outcome

SETTING = "headrace_transcripts"


class Hooks:
    """Hooks that a `conftest.py` can implement."""

    @pytest.hookspec(firstresult=True)
    def pytest_headrace_session(self, config: pytest.Config) -> SparkSession | None:
        """Return the session for transcripts; default: the active one or a new one."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the hooks."""
    pluginmanager.add_hookspecs(Hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the setting."""
    parser.addini(SETTING, "directories whose YAML files are transcripts", type="args", default=[])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a file that is a transcript by name or directory."""
    named = file_path.name.endswith(SUFFIXES)
    placed = file_path.suffix in (".yaml", ".yml") and any(
        file_path.is_relative_to(parent.config.rootpath / directory)
        for directory in parent.config.getini(SETTING)
    )
    return TranscriptFile.from_parent(parent, path=file_path) if named or placed else None


class TranscriptFile(pytest.File):
    """A file of cases."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._outcomes: dict[str, Outcome] = {}

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the cases by name; a repeated name gets a number."""
        from headrace.testing.transcripts.case import read_file

        taken: dict[str, int] = {}
        for case in read_file(self.path):
            count = taken[case.name] = taken.get(case.name, 0) + 1
            name = case.name if count == 1 else f"{case.name} ({count})"
            yield TranscriptItem.from_parent(self, name=name, case=case)

    def outcome(self, item: TranscriptItem) -> Outcome:
        """Return the outcome of a case; the first call runs all selected cases of the file."""
        from headrace.testing.transcripts.runner import run_cases

        if item.name not in self._outcomes:
            spark = self.config.hook.pytest_headrace_session(config=self.config)
            chosen = self._select_cases(item)
            outcomes = run_cases([other.case for other in chosen], spark=spark)
            self._outcomes |= {other.name: outcome for other, outcome in zip(chosen, outcomes, strict=True)}
        return self._outcomes[item.name]

    def _select_cases(self, item: TranscriptItem) -> list[TranscriptItem]:
        if not whole_files(self.config):
            return [item]
        items = [other for other in self.session.items if isinstance(other, TranscriptItem)]
        return [other for other in items if other.parent is self]


class TranscriptItem(pytest.Item):
    """One case."""

    def __init__(self, *, case: Case | InvalidCase, **options: Any) -> None:
        super().__init__(**options)
        self.case = case

    def runtest(self) -> None:
        """Run the case; fail with the difference."""
        assert isinstance(self.parent, TranscriptFile)
        outcome = self.parent.outcome(self)
        if not outcome.passed:
            raise TranscriptFailure(outcome.failure)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the difference without the frames of the runner."""
        if isinstance(excinfo.value, TranscriptFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the location of the case."""
        line = self.case.where.split(":")[-2:-1]
        return self.path, int(line[0]) - 1 if line and line[0].isdigit() else None, self.name


def whole_files(config: pytest.Config) -> bool:
    """Return true if this process runs all tests of a file; pytest-xdist may split them between workers.

    A worker does not receive the distribution mode, but it has the command line.
    """
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    words = " ".join(worker.get("mainargv", ())) if worker else ""
    return worker is None or re.search(r"--dist[ =]load(file|scope)\b", words) is not None


class TranscriptFailure(Exception):  # noqa: N818 - a result, not an error
    """A case whose output differs from its script."""
