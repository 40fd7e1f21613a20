"""Run cases: apply each script line to the pipeline and compare each `expect`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import DocumentError, HeadraceError
from headrace.lowering.code.aggregates import as_aggregate_error
from headrace.lowering.decode import as_source_error
from headrace.spark.session import open_session
from headrace.steps.endpoints.sink import Sink
from headrace.testing.transcripts import SUFFIXES
from headrace.testing.transcripts.case import Case, InvalidCase, read_case, read_file
from headrace.testing.transcripts.report import Outcome, Report
from headrace.testing.transcripts.results.batch import batch_failures, late_outputs
from headrace.testing.transcripts.results.compare import compare
from headrace.testing.transcripts.results.contents import remaining_rows
from headrace.testing.transcripts.results.outputs import Output
from headrace.testing.transcripts.runs.kernel import KernelRun
from headrace.testing.transcripts.runs.kernel_cases import runs_in_kernel
from headrace.testing.transcripts.runs.lines import apply_line
from headrace.testing.transcripts.runs.spark import SparkRun
from headrace.testing.transcripts.script import Contents, End, Expect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIDE_BY_SIDE = 4
"""Number of concurrent cases; micro-batches of a few rows mostly wait."""


def run_case(
    document: str | Mapping[str, Any] | Case, *, batch: bool = False, spark: SparkSession | None = None
) -> Outcome:
    """Run one case from YAML text, a mapping or `read_case`.

    Args:
        document: the case.
        batch: also run it as a Spark batch, and compare the final results.
        spark: a session opened by Headrace; default: a new one.

    Raises:
        DocumentError: the case is invalid; lists every error.

    >>> outcome = run_case('''
    ... name: amounts add up
    ... pipeline:
    ...   sources: {tx: {memory: {}, schema: "card string, amount int"}}
    ...   steps: {totals: {from: tx, key_by: card, aggregate: {total: sum(amount)}}}
    ... script:
    ...   - rows: {tx: [{card: a, amount: 1}, {card: a, amount: 2}]}
    ...   - expect: {totals: [{card: a, total: 3}]}
    ... ''')
    >>> outcome.passed
    True
    """
    case = document if isinstance(document, Case) else read_case(document)
    return _run(case, spark or test_session(), batch)


def run_cases(
    cases: Sequence[Case | InvalidCase],
    *,
    batch: bool = False,
    spark: SparkSession | None = None,
    side_by_side: int = SIDE_BY_SIDE,
) -> list[Outcome]:
    """Run cases concurrently in one session; outcomes are in the order of the cases.

    >>> from headrace.testing import read_file
    >>> cases = read_file("tests/transcripts/beam/trigger_transcripts.yaml")
    >>> [outcome.passed for outcome in run_cases(cases[:2])]
    [True, True]
    """
    if not any(isinstance(case, Case) for case in cases):
        return [_unread(case) for case in cases if isinstance(case, InvalidCase)]
    session = spark or test_session()
    with ThreadPoolExecutor(side_by_side, thread_name_prefix="case") as pool:
        return list(pool.map(lambda case: _outcome(case, session, batch), cases))


def run_files(
    paths: Iterable[str | Path],
    *,
    only: str = "",
    batch: bool = False,
    spark: SparkSession | None = None,
    side_by_side: int = SIDE_BY_SIDE,
) -> Report:
    """Run the cases of files, and of all YAML files below directories.

    Args:
        paths: files and directories.
        only: run only cases whose name contains this text.
        batch: also run each case as a Spark batch, and compare the final results.
        spark: a session opened by Headrace; default: a new one.
        side_by_side: the number of concurrent cases.

    >>> run_files(["tests/transcripts/beam"], only="fixed default").passed
    True
    """
    cases = [case for path in files_of(paths) for case in _read(path) if only in case.name]
    return Report(tuple(run_cases(cases, batch=batch, spark=spark, side_by_side=side_by_side)))


def files_of(paths: Iterable[str | Path]) -> list[Path]:
    """Return the files of the paths: each file, and the YAML files below each directory, in order."""
    files: list[Path] = []
    for path in map(Path, paths):
        inside = sorted([*path.rglob("*.yaml"), *path.rglob("*.yml")]) if path.is_dir() else [path]
        files += inside
    return files


def find_transcripts(directory: str | Path) -> list[Path]:
    """Return the files named `*.transcript.yaml` below a directory, in order, without hidden directories.

    >>> find_transcripts("examples/card_fraud")
    [PosixPath('examples/card_fraud/pipeline.transcript.yaml')]
    """
    root = Path(directory)
    files = (path for suffix in SUFFIXES for path in root.rglob(f"*{suffix}"))
    return sorted(
        path for path in files if not any(part.startswith(".") for part in path.relative_to(root).parts)
    )


def start_run(case: Case, spark: SparkSession, *, also: tuple[str, ...] = ()) -> SparkRun | KernelRun:
    """Start the run of a case: in the in-process driver if it can run the case, otherwise through Spark."""
    return KernelRun(spark, case) if runs_in_kernel(case) else SparkRun(spark, case, also=also)


def test_session() -> SparkSession:
    """Return the session that tests share: the active one, or a new one."""
    return open_session("headrace-test")


test_session.__test__ = False  # type: ignore[attr-defined]  # not a test for pytest


def _read(path: Path) -> list[Case | InvalidCase]:
    try:
        return read_file(path)
    except DocumentError as error:
        return [InvalidCase(path.name, str(path), error)]


def _outcome(case: Case | InvalidCase, spark: SparkSession, batch: bool) -> Outcome:
    return _run(case, spark, batch) if isinstance(case, Case) else _unread(case)


def _unread(case: InvalidCase) -> Outcome:
    return Outcome(case.name, case.where, _format_error(case.error))


def _run(case: Case, spark: SparkSession, batch: bool) -> Outcome:
    started = time.monotonic()
    failure = _failure(case, spark, batch)
    return Outcome(case.name, case.where, failure, time.monotonic() - started)


def _failure(case: Case, spark: SparkSession, batch: bool) -> str:
    where = case.where
    run = None
    try:
        run = start_run(case, spark, also=late_outputs(case) if batch else ())
        for index, line in enumerate(case.script):
            where = line.where
            apply_line(line, run, kill=case.kills_in(index))
            if isinstance(line, Expect) and (failure := _compare_waiting(line, case, run)):
                return failure
        return _find_uncompared(case, run) or (_batch(case, run) if batch else "")
    except Exception as error:  # any exception fails this case only
        return f"{where}: the run failed\n{_format_error(error)}"
    finally:
        if run is not None:
            run.close()


def _compare_waiting(line: Expect, case: Case, run: SparkRun | KernelRun) -> str:
    """Compare the rows of a line; whole contents may need time to pass without rows."""
    failure = _compare(line, case, run)
    if failure and isinstance(line, Contents) and isinstance(run, SparkRun) and not run.ended:
        for _ in run.wait():
            if not (failure := _compare(line, case, run)):
                break
    return failure


def _compare(line: Expect, case: Case, run: SparkRun | KernelRun) -> str:
    actual = {name: _actual(line, name, case, run) for name in line.outputs}
    differences = {name: compare(name, expected, actual[name]) for name, expected in line.outputs.items()}
    messages = [
        f"{line.places[name]}: {difference}" for name, difference in differences.items() if difference
    ]
    return "\n".join(messages)


def _actual(line: Expect, name: str, case: Case, run: SparkRun | KernelRun) -> Sequence[Output]:
    """Return the rows that a line compares: those since the last comparison, or all that remain."""
    rows = run.take(name)
    if not isinstance(line, Contents):
        return rows
    sink = case.graph.nodes[name]
    assert isinstance(sink, Sink)
    return remaining_rows(run.all_rows(name), getattr(sink.connector, "key", ()))


def _find_uncompared(case: Case, run: SparkRun | KernelRun) -> str:
    """Return rows that no `expect` compared; a sink in complete mode leaves none."""
    messages = []
    for name in case.compared:
        difference = compare(name, (), [] if run.is_complete(name) else run.take(name))
        if difference:
            messages.append(f"{case.where}: at the end of the script\n{difference}")
    return "\n".join(messages)


def _batch(case: Case, run: SparkRun | KernelRun) -> str:
    """Return the difference to the same case as a batch.

    Empty if Spark's operators dropped late rows, which are unknown, or rows were late for some of their
    windows.
    """
    if not any(isinstance(line, End) for line in case.script):
        run.end()
    if run.dropped_rows or run.missed_windows:
        return ""
    failures = batch_failures(run, case, late_outputs(case))
    return "\n".join(f"{case.where}: {failure}" for failure in failures)


def _format_error(error: Exception) -> str:
    """Format the error that ended a run, in one line for Spark errors."""
    known = error if isinstance(error, HeadraceError) else as_source_error(error) or as_aggregate_error(error)
    if known is not None:
        return str(known)
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip()]
    messages = [line for line in lines if not line.startswith("An error occurred while calling")]
    return f"{type(error).__name__}: {messages[0]}" if messages else type(error).__name__
