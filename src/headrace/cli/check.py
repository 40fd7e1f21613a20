"""`headrace check`: everything that is wrong with pipelines, without running them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from headrace.cli.failures import WRONG, problems_in, show_problems
from headrace.cli.options import AsJson, PipelineFiles
from headrace.cli.output import show, show_json
from headrace.errors import HeadraceError, Problem


def check(
    files: PipelineFiles,
    json: AsJson = False,
) -> None:
    """Find everything that is wrong with pipelines, without running them.

    All problems of all files are listed, each with its place and a hint. Exit status 0: all can be run; 2: some can't.

    For example:

    - `headrace check pipeline.py pipeline.yaml`
    """
    results = [_checked(file) for file in files]
    if json:
        show_json([_plain(result) for result in results])
    else:
        for result in results:
            _show(result)
    if any(problems for _, _, problems in results):
        raise typer.Exit(WRONG)


_Result = tuple[Path, list[str], tuple[Problem, ...]]


def _checked(file: Path) -> _Result:
    from headrace.cli import loading

    try:
        pipelines = loading.load_all(file)
    except HeadraceError as error:
        return file, [], problems_in(error)
    said = [
        f"{p.name}, {_count(len(p.graph.nodes), 'step')}, {_count(len(p.graph.sinks), 'sink')}"
        for p in pipelines
    ]
    return file, said, tuple(problem for pipeline in pipelines for problem in loading.check(pipeline))


def _show(result: _Result) -> None:
    file, said, problems = result
    if problems:
        show_problems(problems)
    else:
        show(f"{file}: fine ({'; '.join(said)})", "good")


def _plain(result: _Result) -> dict[str, Any]:
    file, _, problems = result
    listed = [{"where": found.where, "what": found.what, "hint": found.hint} for found in problems]
    return {"file": str(file), "ok": not problems, "problems": listed}


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"
