"""JUnit XML reports for CI servers."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

from headrace.testing.transcripts.runner import Outcome, Report


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
