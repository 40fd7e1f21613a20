"""The JUnit report: suites by file, failures with their text."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

from headrace.testing.transcripts.report import Outcome, Report, write_junit


def test_a_report_has_a_suite_for_each_file(tmp_path: Path) -> None:
    report = Report(
        (
            Outcome("one", "a.yaml:1:1", seconds=0.5),
            Outcome(
                "two", "a.yaml:9:1", "a.yaml:12:5: out: expected 1 row, no rows came\n  missing {n: 1}", 1.0
            ),
            Outcome("three", "b.yaml:1:1"),
        )
    )
    write_junit(report, tmp_path / "junit.xml")
    suites = Xml.parse(tmp_path / "junit.xml").getroot().findall("testsuite")
    assert [(s.get("name"), s.get("tests"), s.get("failures"), s.get("time")) for s in suites] == [
        ("a.yaml", "2", "1", "1.500"),
        ("b.yaml", "1", "0", "0.000"),
    ]
    failure = suites[0].findall("testcase")[1].find("failure")
    assert failure is not None
    assert failure.get("message") == "a.yaml:12:5: out: expected 1 row, no rows came"
    assert "missing {n: 1}" in (failure.text or "")


def test_a_report_passes_only_if_something_ran() -> None:
    assert not Report(()).passed
    assert Report((Outcome("one", "a"),)).passed
    assert [outcome.name for outcome in Report((Outcome("x", "a", "no"),)).failures] == ["x"]
