"""`headrace state`: show the state in a checkpoint by step and key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.options import AsJson, CheckpointDirectory, PipelineFile, PipelineName
from headrace.cli.terminal.output import print_message, show_json, show_lines
from headrace.errors import OptionError
from headrace.runtime.progress.row_accounting import count_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.debugging.state import StepState
    from headrace.explain.text import Line
    from headrace.plan.graph import Graph

_NOUNS = {
    "windows": ("open window", "open windows"),
    "waiting": ("row waiting", "rows waiting"),
    "kept": ("kept time", "kept times"),
    "values": ("result", "results"),
    "matches": ("partial match", "partial matches"),
}
_MAX_KEYS = 10_000
"""The maximum number of keys per step among which near keys are searched."""
_MAX_LINES = 5
"""The maximum number of windows or rows shown per key; JSON has all."""


def state(
    file: PipelineFile,
    *,
    checkpoint: CheckpointDirectory = None,
    step: Annotated[str | None, typer.Option(metavar="NAME", help="Only this step.")] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="Only this key; the values of several columns are separated by commas."
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="The maximum number of keys shown per step; all are counted."),
    ] = 20,
    repartition: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Rewrite the state in N partitions; the pipeline must not be running."
        ),
    ] = None,
    rename: Annotated[
        str | None,
        typer.Option(
            metavar="OLD=NEW",
            help="Move the state of a step that was renamed in the file; the pipeline must not be running.",
        ),
    ] = None,
    json: AsJson = False,
    pipeline: PipelineName = None,
) -> None:
    """Show the state in the checkpoint of a pipeline.

    For each stateful step: the last committed epoch and the watermark, the number of keys and open windows,
    and for each key its windows (bounds, rows, results so far, the last pane), buffered rows, stored times of
    `distinct`, or running results. Reads only, also from a running pipeline. Starts Spark.

    For example:

    - `headrace state fraud.yaml`
    - `headrace state fraud.py --step totals --key 4711 --json`
    - `headrace state fraud.py --repartition 16`
    - `headrace state fraud.py --rename sums=totals`
    """
    from headrace.checkpoints.directory import directory_of
    from headrace.checkpoints.layout import find_orphans
    from headrace.cli.loading import load_one
    from headrace.debugging.state import state_of

    graph = load_one(file, pipeline)._plan()
    directory = directory_of(graph.name, checkpoint)
    if rename is not None:
        _rename(graph, directory, rename)
        return
    if repartition is not None:
        _repartition(graph, directory, repartition, step)
    states = state_of(graph, directory, step=step, key=key, limit=limit)
    if key is not None and states and not any(item.stored.keys for item in states):
        raise _unknown_key(key, state_of(graph, directory, step=step, limit=_MAX_KEYS))
    orphans = find_orphans(graph, directory) if step is None else []
    if json:
        steps = [item.as_json() for item in states]
        show_json({"pipeline": graph.name, "checkpoint": str(directory), "steps": steps, "orphans": orphans})
        return
    for item in states:
        show_lines(lines_of(item))
    if not states:
        print_message("no step of the pipeline has state there", "warn")
    for name in orphans:
        print_message(
            f"{name}: the plan no longer has it; its checkpoint is in {directory / 'queries' / name}", "warn"
        )


def _unknown_key(key: str, states: list[StepState]) -> OptionError:
    from headrace.debugging.state import near_keys

    steps = ", ".join(f"`{item.step}`" for item in states)
    near = ", ".join(near_keys(states, key))
    hint = f"near keys: {near}" if near else "leave --key out to list the keys"
    return OptionError(f"the state of {steps} has no key {key}", where="--key", hint=hint)


def _rename(graph: Graph, directory: Path, names: str) -> None:
    from headrace.checkpoints.rename import rename_state

    old, equals, new = names.partition("=")
    if not (old and equals and new):
        raise OptionError(f"expected OLD=NEW, got {names!r}", where="--rename", hint="such as sums=totals")
    rename_state(graph, directory, old, new)
    print_message(f"{new}: has the state of {old}")


def _repartition(graph: Graph, directory: Path, partitions: int, step: str | None) -> None:
    from headrace.checkpoints.repartition import repartition

    for name, (before, after) in repartition(graph, directory, partitions, step=step).items():
        note = "had them already" if before == after else f"had {before}"
        print_message(f"{name}: {after} partitions ({note})")


def lines_of(state: StepState) -> Iterator[Line]:
    """Return the state of a step as lines."""
    progress, entries = state.progress, state.stored
    epoch = "no epoch finished yet" if progress.epoch is None else f"epoch {progress.epoch}"
    mark = (
        "the input has ended" if progress.watermark == "end" else f"watermark {progress.watermark or 'none'}"
    )
    yield ((state.step, "name"), (f"  {state.verb}", "verb"), (f"  {epoch}, {mark}", "fact"))
    counted = [count_of(entries.keys, "key")]
    counted += [
        f"{n:,} {_NOUNS[kind][n != 1]}" for kind, n in sorted(entries.counts.items()) if kind in _NOUNS
    ]
    yield ((f"  {', '.join(counted)}", "fact"),)
    for entry in entries.entries:
        yield from _key_lines(entry)
    if (more := entries.keys - len(entries.entries)) > 0:
        yield ((f"  ... and {count_of(more, 'more key')} (--limit, --key)", "rail"),)
    yield ()


def _key_lines(entry: dict[str, Any]) -> Iterator[Line]:
    key = ", ".join(f"{name}={value}" for name, value in entry["key"].items()) or "all rows"
    texts = [_plain(entry[kind]) for kind in ("values", "state", "stored") if kind in entry]
    yield ((f"  {key}", "label"), ("".join(f"  {text}" for text in texts), "fact"))
    lines = [_window(window) for window in entry.get("windows", ())]
    lines += [_match(match) for match in entry.get("matches", ())]
    lines += [_row(row) for row in entry.get("waiting", ())]
    lines += [f"kept: {time}" for time in entry.get("kept", ())]
    for line in lines[:_MAX_LINES]:
        yield ((f"    {line}", "fact"),)
    if len(lines) > _MAX_LINES:
        yield ((f"    ... and {len(lines) - _MAX_LINES} more (--json has all)", "rail"),)


def _window(window: dict[str, Any]) -> str:
    bounds = f"[{window['start']}, {window['end']})" if window["start"] else "global"
    if window.get("number") is not None:
        bounds = f"#{window['number']} from {window['start']} to {window['end']}"
    known = f"  {count_of(window['rows'], 'row')}" if "rows" in window else ""
    if window.get("unshown") not in (None, window.get("rows")):
        known += f" ({window['unshown']} not shown yet)"
    pane = f"  last pane {window['last_pane']}" if window.get("last_pane") is not None else ""
    values = "closed" if window["values"] is None else _plain(window["values"])
    return f"{bounds}{known}{pane}  {values}"


def _match(match: dict[str, Any]) -> str:
    """Describe a match; a complete one waits for those that started before it."""
    taken = ", ".join(f"{step} {len(rows)}" for step, rows in match["matched"].items() if rows)
    waits = "  complete" if match["complete"] else ""
    rule = f"{match['rule']} {match['version']}: " if "rule" in match else ""
    return f"{rule}from {match['start']} to {match['end']}  {taken}{waits}"


def _row(row: dict[str, Any]) -> str:
    """Describe a row that later results of a trailing window still need."""
    return f"{'kept' if row.get('panes') else 'waits'}: {row['time']}  {_plain(row['row'])}"


def _plain(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
