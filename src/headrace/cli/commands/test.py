"""`headrace test`: run transcripts, tests of pipelines in virtual time."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.options import AsJson, check_file, flag
from headrace.cli.terminal.errors import FAILED
from headrace.cli.terminal.output import err, print_message, show_json, show_lines
from headrace.errors import LoadError

if TYPE_CHECKING:
    from headrace.testing import Outcome, Report


def run_tests(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Files of cases, or directories that hold some; default: every `*.transcript.yaml` below "
            "the current directory.",
        ),
    ] = None,
    *,
    only: Annotated[
        str, typer.Option("-k", metavar="TEXT", help="Run only cases whose name contains this.")
    ] = "",
    batch: Annotated[
        bool, flag("--batch", help="Run each case as a Spark batch too, and compare the final results.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the result as JUnit XML too, for CI servers.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Test pipelines in virtual time.

    A case is a YAML document with a pipeline and a script that feeds its sources, moves watermarks and the
    clock, kills the run, and lists the expected rows. Exit status 0: all cases passed; 1: some failed; 2: no
    cases.

    For example:

    - `headrace test`: the tests of the project in the current directory
    - `headrace test tests/`
    - `headrace test fraud_test.yaml -k late --junit report.xml`
    """
    from headrace.testing import run_files, write_junit

    for file in files or ():
        if not file.is_dir():
            check_file(file)
    files = files or _find_files()
    started = time.monotonic()
    with _running(json):
        report = run_files(files, only=only, batch=batch)
    if not report.outcomes:
        hint = f"no name contains {only!r}: leave -k out" if only else "a case has `pipeline` and `script`"
        raise LoadError("no case to run", where=", ".join(map(str, files)), hint=hint)
    if junit is not None:
        write_junit(report, junit)
    if json:
        show_json(
            {"passed": report.passed, "cases": [{**asdict(o), "passed": o.passed} for o in report.outcomes]}
        )
    else:
        _show(report, time.monotonic() - started)
    if not report.passed:
        raise typer.Exit(FAILED)


def _find_files() -> list[Path]:
    from headrace.testing.transcripts.runner import find_transcripts

    files = find_transcripts(".")
    if not files:
        raise LoadError(
            "no file named *.transcript.yaml in the current directory or below it",
            where="test",
            hint="name the files: headrace test FILE...; `headrace new` creates a project with a test",
        )
    return files


def _running(quiet: bool) -> AbstractContextManager[object]:
    console = err()
    return console.status("running cases") if console.is_terminal and not quiet else nullcontext()


def _show(report: Report, seconds: float) -> None:
    for outcome in report.outcomes:
        mark = ("✓", "good") if outcome.passed else ("✗", "bad")
        show_lines([(mark, (f" {outcome.name}", "name"), (f"  {outcome.where}", "rail"))])
        _show_failure(outcome)
    failed, total = len(report.failures), len(report.outcomes)
    cases = "1 case" if total == 1 else f"{total} cases"
    last = f"{failed} of {cases} failed" if failed else f"{cases} passed"
    print_message(f"{last} ({seconds:.1f} s)", "bad" if failed else "good")


def _show_failure(outcome: Outcome) -> None:
    show_lines([((f"    {line}", "fact"),) for line in outcome.failure.splitlines()])
