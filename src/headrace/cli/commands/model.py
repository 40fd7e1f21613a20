"""`headrace model`: models that learn in a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import CheckpointDirectory, PipelineFile, PipelineName
from headrace.cli.terminal.output import print_message
from headrace.runtime.progress.row_accounting import count_of

model = typer.Typer(help="Models that learn in a pipeline.", no_args_is_help=True)


@model.command()
def export(
    file: PipelineFile,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write, such as risk.pkl.")],
    *,
    step: Annotated[
        str | None, typer.Option(metavar="NAME", help="The step; needed if several learn.")
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="The key of the model, as for `headrace why`."),
    ] = None,
    checkpoint: CheckpointDirectory = None,
    pipeline: PipelineName = None,
) -> None:
    """Write the model of a step with `learn` to a file, as it was after the last committed epoch.

    The file is a pickle, which Python loads with `pickle.load`. Reads only, also from a running pipeline.
    Starts Spark.

    For example:

    - `headrace model export fraud.yaml risk.pkl`
    - `headrace model export rooms.py kitchen.pkl --step forecasts --key kitchen`
    """
    from headrace.checkpoints.directory import directory_of
    from headrace.cli.loading import load_one
    from headrace.debugging.model_export import export_model

    graph = load_one(file, pipeline)._plan()
    exported = export_model(graph, directory_of(graph.name, checkpoint), key=key or [], step=step)
    output.write_bytes(exported.content)
    print_message(
        f"{output}: the model of {exported.step}, which has learned {count_of(exported.rows, 'row')} "
        f"(epoch {exported.epoch})"
    )
