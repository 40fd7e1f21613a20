"""`headrace savepoint`: named copies of the checkpoint of a stopped pipeline."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.options import AsJson, CheckpointDirectory, PipelineFile, PipelineName
from headrace.cli.terminal.output import print_message, show, show_json

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

savepoint = typer.Typer(
    help="Named savepoints of a stopped pipeline: create, list, restore and delete them.",
    no_args_is_help=True,
)

SavepointName = Annotated[str, typer.Argument(metavar="NAME", help="The savepoint, such as before-v2.")]


@savepoint.command()
def create(
    file: PipelineFile,
    name: SavepointName,
    *,
    checkpoint: CheckpointDirectory = None,
    pipeline: PipelineName = None,
    json: AsJson = False,
) -> None:
    """Store the checkpoint of a pipeline that is not running under a name.

    State, offsets, exchanges and row accounting are part of it, as hard links where possible.

    For example:

    - `headrace savepoint create fraud.yaml before-v2`
    """
    from headrace.checkpoints.savepoints import create_savepoint

    graph, directory = _load(file, pipeline, checkpoint)
    created = create_savepoint(graph.name, directory, name)
    if json:
        show_json({**asdict(created), "path": str(created.path)})
    else:
        print_message(f"{graph.name}: savepoint {name} is in {created.path}", "good")


@savepoint.command("list")
def list_(
    file: PipelineFile,
    *,
    checkpoint: CheckpointDirectory = None,
    pipeline: PipelineName = None,
    json: AsJson = False,
) -> None:
    """List the savepoints of a pipeline, oldest first, with the last epoch of each query."""
    from headrace.checkpoints.savepoints import list_savepoints

    _, directory = _load(file, pipeline, checkpoint)
    savepoints = list_savepoints(directory)
    if json:
        show_json([{**asdict(each), "path": str(each.path)} for each in savepoints])
        return
    for each in savepoints:
        epochs = ", ".join(f"{query} {_epoch(last)}" for query, last in each.epochs.items())
        show(f"{each.name}  {each.created_at}  {epochs}")
    if not savepoints:
        print_message("there are no savepoints", "warn")


@savepoint.command()
def restore(
    file: PipelineFile,
    name: SavepointName,
    *,
    checkpoint: CheckpointDirectory = None,
    pipeline: PipelineName = None,
    json: AsJson = False,
) -> None:
    """List the effect on each sink, then put a savepoint in the place of the checkpoint.

    The current checkpoint is moved aside. The next run continues from the savepoint under a new checkpoint
    id. Nothing is deleted from sinks; the savepoint stays and can be restored again.

    For example:

    - `headrace savepoint restore fraud.yaml before-v2`
    """
    from headrace.checkpoints.savepoints import find_savepoint, restore_savepoint
    from headrace.runtime.fresh import describe_restore

    graph, directory = _load(file, pipeline, checkpoint)
    savepoint = find_savepoint(directory, name)
    for line in describe_restore(graph, directory, name):
        print_message(line)
    aside = restore_savepoint(graph.name, directory, name)
    if json:
        show_json({**asdict(savepoint), "moved_aside": str(aside) if aside else None})


@savepoint.command()
def delete(
    file: PipelineFile,
    name: SavepointName,
    *,
    checkpoint: CheckpointDirectory = None,
    pipeline: PipelineName = None,
    json: AsJson = False,
) -> None:
    """Delete a savepoint. The checkpoint and the sinks are not affected."""
    from headrace.checkpoints.savepoints import delete_savepoint

    graph, directory = _load(file, pipeline, checkpoint)
    delete_savepoint(directory, name)
    if json:
        show_json({"name": name, "deleted": True})
    else:
        print_message(f"{graph.name}: savepoint {name} is deleted")


def _load(file: Path, pipeline: str | None, checkpoint: Path | None) -> tuple[Graph, Path]:
    from headrace.checkpoints.directory import directory_of
    from headrace.cli.loading import load_one

    graph = load_one(file, pipeline)._plan()
    return graph, directory_of(graph.name, checkpoint)


def _epoch(last: int | None) -> str:
    return "before its first epoch" if last is None else f"at epoch {last}"
