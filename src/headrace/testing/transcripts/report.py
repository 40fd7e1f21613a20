"""Outcomes of cases, and JUnit XML reports of them for CI servers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as Xml


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case; `failure` is empty if it passed, otherwise location and reason.

    >>> Outcome("sums", "sums.yaml:1:1").passed, Outcome("sums", "sums.yaml:1:1", "no row came").passed
    (True, False)
    """

    name: str
    where: str
    failure: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.failure


@dataclass(frozen=True)
class Report:
    """The outcomes of a run in the order of the files. A run without cases has not passed.

    >>> Report((Outcome("sums", "sums.yaml:1:1"),)).passed, Report(()).passed
    (True, False)
    """

    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """True if there are cases and all of them passed."""
        return bool(self.outcomes) and all(outcome.passed for outcome in self.outcomes)

    @property
    def failures(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if not outcome.passed)


def write_junit(report: Report, path: str | Path) -> None:
    """Write a report to a file, with a suite for each file of cases.

    >>> from headrace.testing import Outcome, Report
    >>> write_junit(Report((Outcome("amounts add up", "totals.transcript.yaml:1:1"),)), "junit.xml")
    >>> "amounts add up" in Path("junit.xml").read_text()
    True
    """
    root = Xml.Element("testsuites", name="headrace test")
    for file in dict.fromkeys(_file(outcome) for outcome in report.outcomes):
        _suite(root, file, [outcome for outcome in report.outcomes if _file(outcome) == file])
    Xml.indent(root)
    Xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _suite(root: Xml.Element, file: str, outcomes: list[Outcome]) -> None:
    failed = sum(not outcome.passed for outcome in outcomes)
    seconds = f"{sum(outcome.seconds for outcome in outcomes):.3f}"
    suite = Xml.SubElement(
        root, "testsuite", name=file, tests=str(len(outcomes)), failures=str(failed), errors="0", time=seconds
    )
    for outcome in outcomes:
        case = Xml.SubElement(
            suite, "testcase", classname=file, name=outcome.name, file=file, time=f"{outcome.seconds:.3f}"
        )
        if not outcome.passed:
            failure = Xml.SubElement(case, "failure", message=outcome.failure.splitlines()[0])
            failure.text = outcome.failure


def _file(outcome: Outcome) -> str:
    return outcome.where.split(":")[0]
