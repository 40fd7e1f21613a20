"""`headrace jobs savepoint`, `upgrade`, `restore`, `scale` and `autoscale`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.commands.service.client import Client, upload
from headrace.cli.commands.service.jobs import JobId, Url
from headrace.cli.commands.service.listing import show_state
from headrace.cli.options import AsJson, PipelineFile, check_file
from headrace.cli.terminal.output import print_message
from headrace.errors import OptionError

SavepointName = Annotated[str, typer.Argument(metavar="NAME", help="The savepoint, such as before-v2.")]


def savepoint(job: JobId, name: SavepointName, json: AsJson = False, url: Url = None) -> None:
    """Store checkpoint and files of a job under a name; a running job is stopped and started again."""
    show_state(Client(url).post(f"/jobs/{job}/savepoint", json={"name": name}), json)


def restore(job: JobId, name: SavepointName, json: AsJson = False, url: Url = None) -> None:
    """List the effect on each sink, then bring back checkpoint and files of a savepoint and start the job.

    Nothing is deleted from sinks: rows since the savepoint are overwritten (keyed sinks) or written again.
    """
    client = Client(url)
    for savepoint in client.get(f"/jobs/{job}/savepoints"):
        if savepoint["name"] == name:
            print_message(f"restoring the savepoint {name}: sinks keep their rows")
            for effect in savepoint["effects"]:
                print_message(f"  {effect}")
    show_state(client.post(f"/jobs/{job}/restore", json={"name": name}), json)


def upgrade(
    job: JobId,
    file: PipelineFile,
    data: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DATA", help="Files and directories to upload with the pipeline."),
    ] = None,
    json: AsJson = False,
    url: Url = None,
) -> None:
    """Replace the pipeline of a job and start it from its checkpoint.

    Rejected if the new pipeline needs a replay; `headrace diff` lists the reasons. Leaves a savepoint
    `before-VERSION`, to which `headrace jobs restore` goes back.

    For example:

    - `headrace jobs upgrade 3f2a9c01b7de fraud-v2.yaml`
    """
    check_file(file)
    parts = upload(file, data or [], file.resolve().parent)
    answer = Client(url).post(f"/jobs/{job}/upgrade", files=parts)
    show_state(answer, json)
    if answer["savepoint"] and not json:
        print_message(f"to go back: headrace jobs restore {job} {answer['savepoint']}")


def scale(
    job: JobId,
    *,
    partitions: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Rewrite the state in N partitions.")
    ] = None,
    executors: Annotated[
        int | None, typer.Option(metavar="M", min=1, help="Use M executors; the job runs on a cluster.")
    ] = None,
    json: AsJson = False,
    url: Url = None,
) -> None:
    """Change the number of state partitions and executors of a job.

    A running job is stopped gracefully; its next attempt rewrites the state and continues. A stopped
    job stays stopped.

    For example:

    - `headrace jobs scale 3f2a9c01b7de --partitions 16`
    - `headrace jobs scale 3f2a9c01b7de --partitions 16 --executors 4`
    """
    numbers = {"partitions": partitions, "executors": executors}
    body = {name: number for name, number in numbers.items() if number is not None}
    show_state(Client(url).post(f"/jobs/{job}/scale", json=body), json)


def autoscale(
    job: JobId,
    *,
    max_executors: Annotated[
        int | None, typer.Option("--max", metavar="M", min=1, help="The largest number of executors.")
    ] = None,
    min_executors: Annotated[
        int | None, typer.Option("--min", metavar="M", min=1, help="The smallest number; default: 1.")
    ] = None,
    lag_above: Annotated[
        int | None, typer.Option(metavar="RECORDS", min=1, help="Add executors above this lag.")
    ] = None,
    lag_below: Annotated[
        int | None,
        typer.Option(metavar="RECORDS", min=0, help="Remove executors up to this lag; default: 0."),
    ] = None,
    for_: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="How long; default: 1 minute.")
    ] = None,
    cooldown: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Between two changes; default: 5 minutes.")
    ] = None,
    partitions_per_executor: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Rewrite the state in N partitions per executor.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Remove the rule.")] = False,
    json: AsJson = False,
    url: Url = None,
) -> None:
    """Scale a job on a cluster by its lag: twice the executors above one limit, half of them at another.

    The rule applies from now on; a change restarts the job gracefully. Without a rule, `scale` changes
    the numbers once.

    For example:

    - `headrace jobs autoscale 3f2a9c01b7de --max 8 --lag-above 1000000 --lag-below 10000`
    - `headrace jobs autoscale 3f2a9c01b7de --off`
    """
    parts = {
        "max_executors": max_executors,
        "min_executors": min_executors,
        "lag_above": lag_above,
        "lag_below": lag_below,
        "duration": for_,
        "cooldown": cooldown,
        "partitions_per_executor": partitions_per_executor,
    }
    rule = {name: value for name, value in parts.items() if value is not None}
    if off == bool(rule):
        raise OptionError("expected --max and --lag-above, or --off", where="autoscale")
    show_state(Client(url).post(f"/jobs/{job}/autoscale", json={"rule": rule or None}), json)
