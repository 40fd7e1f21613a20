"""Transcripts in pytest: each case is a test.

Collected are files named `*.transcript.yaml`, and all YAML files below the directories that the setting
`headrace_transcripts` names (relative to the root of the tests). The cases of a file run
side by side, when the first of them is due; with pytest-xdist where `--dist` is `loadfile` or `loadscope`, else one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.testing.transcripts.case import Case, Unread
    from headrace.testing.transcripts.runner import Outcome

SETTING = "headrace_transcripts"
SUFFIXES = (".transcript.yaml", ".transcript.yml")


class Hooks:
    """Hooks that a `conftest.py` may answer."""

    @pytest.hookspec(firstresult=True)
    def pytest_headrace_session(self, config: pytest.Config) -> SparkSession | None:
        """The session that transcripts run in; without an answer the running one or a new one."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let a `conftest.py` give the session."""
    pluginmanager.add_hookspecs(Hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say where transcripts are."""
    parser.addini(SETTING, "directories whose YAML files are transcripts", type="args", default=[])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take a file that is a transcript by its name or its place."""
    named = file_path.name.endswith(SUFFIXES)
    placed = file_path.suffix in (".yaml", ".yml") and any(
        file_path.is_relative_to(parent.config.rootpath / directory)
        for directory in parent.config.getini(SETTING)
    )
    return TranscriptFile.from_parent(parent, path=file_path) if named or placed else None


class TranscriptFile(pytest.File):
    """A file of cases."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._outcomes: dict[str, Outcome] = {}

    def collect(self) -> Iterator[pytest.Item]:
        """Each case, under its name; a name that comes again gets a number."""
        from headrace.testing.transcripts.case import read_file

        taken: dict[str, int] = {}
        for case in read_file(self.path):
            count = taken[case.name] = taken.get(case.name, 0) + 1
            name = case.name if count == 1 else f"{case.name} ({count})"
            yield TranscriptItem.from_parent(self, name=name, case=case)

    def outcome(self, item: TranscriptItem) -> Outcome:
        """The outcome of one case; the first that is asked for runs all that were chosen from this file."""
        from headrace.testing.transcripts.runner import run_cases

        if item.name not in self._outcomes:
            spark = self.config.hook.pytest_headrace_session(config=self.config)
            chosen = self._chosen(item)
            found = run_cases([other.case for other in chosen], spark=spark)
            self._outcomes |= {other.name: outcome for other, outcome in zip(chosen, found, strict=True)}
        return self._outcomes[item.name]

    def _chosen(self, item: TranscriptItem) -> list[TranscriptItem]:
        if not whole_files(self.config):
            return [item]
        items = [other for other in self.session.items if isinstance(other, TranscriptItem)]
        return [other for other in items if other.parent is self]


class TranscriptItem(pytest.Item):
    """One case."""

    def __init__(self, *, case: Case | Unread, **given: Any) -> None:
        super().__init__(**given)
        self.case = case

    def runtest(self) -> None:
        """Run it, and fail with the difference."""
        assert isinstance(self.parent, TranscriptFile)
        outcome = self.parent.outcome(self)
        if not outcome.passed:
            raise TranscriptFailure(outcome.failure)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The difference alone: the way through the runner helps nobody."""
        if isinstance(excinfo.value, TranscriptFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the case stands."""
        line = self.case.where.split(":")[-2:-1]
        return self.path, int(line[0]) - 1 if line and line[0].isdigit() else None, self.name


def whole_files(config: pytest.Config) -> bool:
    """Whether this process runs all tests of a file; of pytest-xdist's workers others may have some of them.

    A worker isn't told how tests are spread, but it knows the command line.
    """
    given: dict[str, Any] | None = getattr(config, "workerinput", None)
    words = " ".join(given.get("mainargv", ())) if given else ""
    return given is None or re.search(r"--dist[ =]load(file|scope)\b", words) is not None


class TranscriptFailure(Exception):  # noqa: N818 - a result, not an error
    """A case did not do what its script expects."""
