"""`headrace why`: why a pattern has, or has not, matched for a key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import AsJson, PipelineFile, PipelineName, flag
from headrace.cli.terminal.output import show_json, show_lines


def why(
    file: PipelineFile,
    *,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY",
            help="Which key: its value; of several columns `--key a=1 --key b=2`, or the values with commas between.",
        ),
    ] = None,
    step: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this step; all with a pattern if not said.")
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Only this rule, where a table has the patterns; all if not said."),
    ] = None,
    rows: Annotated[
        int, typer.Option(metavar="N", min=1, help="Tell of so many of the key's last rows.")
    ] = 5,
    no_input: Annotated[
        bool, flag("--no-input", help="Look at the checkpoint only; don't read the sources again.")
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIRECTORY", help="The pipeline's directory; .headrace/NAME if not said."),
    ] = None,
    json: AsJson = False,
    pipeline: PipelineName = None,
) -> None:
    """Tell why a pattern has, or has not, matched for a key.

    From the checkpoint: the key's partial matches with their rows, the step that each waits for and its condition,
    when it times out, and the rows that wait for the watermark. From the input, read again: the key's last rows, each
    with the conditions it was tested for, whether they held, and on which values. Reads only; a running pipeline may be
    asked. Starts Spark.

    Where the patterns come from a table of rules, each rule in force answers, by id and version. Of rules that the key's
    last rows have not begun only the very last row is told; --rule tells all of one.

    For example:

    - `headrace why fraud.yaml --key 4711`
    - `headrace why fraud.py --step small_then_large --key card=4711 --key country=FI --rows 20`
    - `headrace why fraud.py --key 4711 --rule small_then_large`
    - `headrace why fraud.py --key 4711 --json`
    """
    from headrace.cli.loading import load_one
    from headrace.cli.terminal.render_why import lines_of
    from headrace.debugging.why import why_of

    graph = load_one(file, pipeline).check()
    directory = checkpoint or Path(".headrace") / graph.name
    answers = why_of(
        graph, directory, key=key or [], step=step, rule=rule, rows=rows, read_input=not no_input
    )
    if json:
        steps = [answer.as_json() for answer in answers]
        show_json({"pipeline": graph.name, "checkpoint": str(directory), "steps": steps})
        return
    for answer in answers:
        show_lines(lines_of(answer, whole=rule is not None))
