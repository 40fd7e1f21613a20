"""`headrace diff`: compare two versions of a pipeline before one replaces the other."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.options import AsJson, PipelineName
from headrace.cli.terminal.output import show_json, show_lines
from headrace.explain.text import Line

if TYPE_CHECKING:
    from headrace.checkpoints.comparison import Comparison, StepChange

_STYLES = {
    "compatible": "good",
    "continues": "good",
    "migrates": "warn",
    "overwritten": "warn",
    "replaced": "warn",
    "replay": "bad",
    "appended": "bad",
    "new": "label",
    "removed": "rail",
}
_WORDS = {"replay": "needs a replay"}


def diff(
    old: Annotated[
        Path,
        typer.Argument(metavar="OLD", help="The running version: its file, or its checkpoint directory."),
    ],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The next version: a .py, .yaml or .sql file.")],
    pipeline: PipelineName = None,
    json: AsJson = False,
) -> None:
    """Compare two versions of a pipeline by the state that they store, before anything stops.

    Lists for each step whether the new version resumes from its state (compatible), moves it (migrates) or
    has to read the input again (needs a replay, and from where), and for each sink the effect on its rows.
    Starts no Spark.

    For example:

    - `headrace diff fraud.yaml fraud-v2.yaml`
    - `headrace diff .headrace/fraud fraud-v2.yaml --json`
    """
    from headrace.checkpoints.comparison import compare
    from headrace.checkpoints.planned_state import state_of_checkpoint, state_of_plan
    from headrace.cli.loading import load_one

    graph = load_one(new, pipeline)._plan()
    before = state_of_checkpoint(old) if old.is_dir() else state_of_plan(load_one(old, pipeline)._plan())
    comparison = compare(before, graph)
    if json:
        show_json({"verdict": comparison.verdict, **asdict(comparison)})
        return
    show_lines(lines_of(comparison, old, new))


def lines_of(comparison: Comparison, old: Path, new: Path) -> Iterator[Line]:
    """Yield a table of the steps, one of the sinks, and the next commands."""
    yield (("steps", "heading"),)
    steps = [(change.step, change.verb, change.verdict) for change in comparison.steps]
    yield from _table(steps, [list(_step_notes(change)) for change in comparison.steps])
    yield ()
    yield (("sinks", "heading"),)
    sinks = [(change.sink, change.connector, change.verdict) for change in comparison.sinks]
    yield from _table(sinks, [[change.reason] if change.reason else [] for change in comparison.sinks])
    yield ()
    yield from _next_steps(comparison, old, new)


def _table(rows: Sequence[tuple[str, str, str]], notes: Sequence[list[str]]) -> Iterator[Line]:
    widths = [max((len(row[n]) for row in rows), default=0) for n in (0, 1)]
    for (name, kind, verdict), lines in zip(rows, notes, strict=True):
        word = _WORDS.get(verdict, verdict)
        yield (
            (f"  {name:<{widths[0]}}  ", "name"),
            (f"{kind:<{widths[1]}}  ", "verb"),
            (word, _STYLES[verdict]),
        )
        for line in lines:
            yield ((f"      {line}", "fact"),)


def _step_notes(change: StepChange) -> Iterator[str]:
    if change.renamed_from:
        yield f"the state of `{change.renamed_from}`, whose declaration is the same"
    yield from change.reasons
    start = "replay from" if change.verdict == "replay" else "reads from"
    yield from (f"{start} {position}" for position in change.replay_from)
    if change.unchecked:
        names = "the columns" if "*" in change.unchecked else ", ".join(change.unchecked)
        yield f"types of {names} are compared when the run starts"


def _next_steps(comparison: Comparison, old: Path, new: Path) -> Iterator[Line]:
    from headrace.checkpoints.savepoints import read_savepoint

    savepoint = read_savepoint(old)
    directory = Path(savepoint.directory) if savepoint else old
    name, place = shlex.quote(str(new)), _checkpoint_option(directory, comparison.new)
    if comparison.verdict == "replay":
        yield (("replay: ", "bad"), (f"headrace run {name}{place} --fresh starts all steps over", "fact"))
        return
    if savepoint:
        yield ("restore: ", "warn"), (f"headrace savepoint restore {name} {savepoint.name}{place}", "fact")
    for change in comparison.steps:
        if change.renamed_from:
            rename = f"--rename {change.renamed_from}={change.step}"
            yield ("migrate: ", "warn"), (f"headrace state {name}{place} {rename}", "fact")
    yield ("resume: ", "good"), (f"headrace run {name}{place}", "fact")


def _checkpoint_option(directory: Path, pipeline: str) -> str:
    """Return the option that names a checkpoint directory, unless it is the default of the pipeline."""
    from headrace.checkpoints.directory import directory_of

    is_default = directory.absolute() == directory_of(pipeline).absolute()
    return "" if is_default or not directory.is_dir() else f" --checkpoint {shlex.quote(str(directory))}"
