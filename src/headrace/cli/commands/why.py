"""`headrace why`: explain the results of a pattern, a detector or an online model for a key."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.options import AsJson, CheckpointDirectory, PipelineFile, PipelineName, flag
from headrace.cli.terminal.output import show_json, show_lines


def why(
    file: PipelineFile,
    *,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY",
            help="The value of the key; of several columns `--key a=1 --key b=2`, or the values separated by "
            "commas.",
        ),
    ] = None,
    step: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this step; default: all that can be explained.")
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Only this rule of a rule table; default: all."),
    ] = None,
    rows: Annotated[
        int, typer.Option(metavar="N", min=1, help="The number of last rows of the key to show.")
    ] = 5,
    no_input: Annotated[bool, flag("--no-input", help="Read only the checkpoint, not the sources.")] = False,
    checkpoint: CheckpointDirectory = None,
    json: AsJson = False,
    pipeline: PipelineName = None,
) -> None:
    """Explain why a pattern did or did not match for a key, and the results of detectors and online models.

    From the checkpoint: the partial matches of the key with their rows, the next step of each with its
    condition and timeout, and the buffered rows. From the replayed input: the last rows of the key, each with
    the tested conditions, their results and values. Reads only, also from a running pipeline. Starts Spark.

    For a rule table, the report covers every active rule by id and version. Rules that none of the last rows
    started are summarised by the last row; --rule shows one rule in full.

    For a detector, the report has what the last rows were compared with, what was expected and which
    condition decided; for an online model, its features and, if it is linear, their contributions.

    For example:

    - `headrace why fraud.yaml --key 4711`
    - `headrace why fraud.py --step small_then_large --key card=4711 --key country=FI --rows 20`
    - `headrace why fraud.py --key 4711 --rule small_then_large`
    - `headrace why fraud.py --key 4711 --json`
    """
    from headrace.checkpoints.directory import directory_of
    from headrace.cli.loading import load_one
    from headrace.cli.terminal.render_why import lines_of
    from headrace.debugging.why import why_of

    graph = load_one(file, pipeline)._plan()
    directory = directory_of(graph.name, checkpoint)
    answers = why_of(
        graph, directory, key=key or [], step=step, rule=rule, rows=rows, read_input=not no_input
    )
    if json:
        steps = [answer.as_json() for answer in answers]
        show_json({"pipeline": graph.name, "checkpoint": str(directory), "steps": steps})
        return
    for answer in answers:
        show_lines(lines_of(answer, whole=rule is not None))
