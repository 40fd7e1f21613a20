"""`headrace check`: find the mistakes of pipelines without running them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.cli.options import AsJson, PipelineFiles, flag
from headrace.cli.terminal.errors import INVALID, show_problems, show_warnings
from headrace.cli.terminal.output import show, show_json
from headrace.errors import HeadraceError, Problem
from headrace.plan.graph import Graph
from headrace.runtime.progress.row_accounting import count_of
from headrace.steps.patterns.match_rules import MatchRules


def check(
    files: PipelineFiles,
    spark: Annotated[
        bool,
        flag("--spark", help="Let Spark analyse all expressions too, types included; starts a JVM."),
    ] = False,
    json: AsJson = False,
) -> None:
    """Find the mistakes of pipelines without running them.

    Lists all problems of all files with location and hint, and warnings about valid plans. Exit status 0: all
    plans are valid; 2: some are not.

    For example:

    - `headrace check pipeline.py pipeline.yaml`

    - `headrace check --spark pipeline.yaml`
    """
    results = [_check_file(file, spark=spark) for file in files]
    if json:
        show_json([result.plain() for result in results])
    else:
        for result in results:
            result.show()
    if any(result.problems for result in results):
        raise typer.Exit(INVALID)


@dataclass(frozen=True)
class _Result:
    """The problems and warnings of one file."""

    file: Path
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...] = ()
    pipelines: tuple[str, ...] = ()

    def show(self) -> None:
        show_problems(self.problems)
        show_warnings(self.warnings)
        if not self.problems:
            show(f"{self.file}: fine ({'; '.join(self.pipelines)})", "good")

    def plain(self) -> dict[str, Any]:
        return {
            "file": str(self.file),
            "ok": not self.problems,
            "problems": [asdict(problem) for problem in self.problems],
            "warnings": [asdict(warning) for warning in self.warnings],
        }


def _check_file(file: Path, *, spark: bool) -> _Result:
    from headrace.cli import loading
    from headrace.plan.warnings import warnings_of

    try:
        pipelines = loading.load_all(file)
    except HeadraceError as error:
        return _Result(file, error.problems)
    problems = tuple(problem for pipeline in pipelines for problem in loading.check(pipeline))
    problems += tuple(problem for pipeline in pipelines for problem in _rule_problems(pipeline._graph))
    problems += tuple(problem for pipeline in pipelines for problem in _missing_inputs(pipeline._graph))
    if spark and not problems:
        problems = tuple(problem for pipeline in pipelines for problem in _analyse(pipeline._graph))
    if problems:
        return _Result(file, problems)
    warnings = tuple(warning for pipeline in pipelines for warning in warnings_of(pipeline._graph))
    summaries = (
        f"{p.name}, {count_of(len(p._graph.nodes), 'step')}, {count_of(len(p._graph.sinks), 'sink')}"
        for p in pipelines
    )
    return _Result(file, (), warnings, tuple(summaries))


def _rule_problems(graph: Graph) -> Iterator[Problem]:
    """Yield the problems of rules in files; database tables are not read."""
    for node in graph.of(MatchRules):
        if isinstance(node.table, str):
            from headrace.rules.listing import rules_as_steps

            try:
                yield from rules_as_steps(graph, node)[1]
            except HeadraceError as error:
                yield from error.problems


def _missing_inputs(graph: Graph) -> Iterator[Problem]:
    """Yield a problem for each input that does not exist, as far as this machine can see it."""
    for node in graph:
        for connector in node.read_connectors:
            if problem := connector.input_problem():
                yield Problem(graph.where(node), *problem)


def _analyse(graph: Graph) -> list[Problem]:
    from headrace.runtime.queries.analysis import analyse

    try:
        return analyse(graph)
    except HeadraceError as error:
        return list(error.problems)
