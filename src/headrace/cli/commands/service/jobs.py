"""`headrace jobs`: submit, list, show, stop and delete jobs of a job service."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.commands.service.client import Client, upload
from headrace.cli.commands.service.listing import describe_job, list_jobs, show_state
from headrace.cli.options import (
    AsJson,
    Drain,
    ModeWord,
    Once,
    PipelineFile,
    PipelineName,
    RealTime,
    UntilWord,
    check_file,
    pacing_of,
    parse_pairs,
)
from headrace.cli.terminal.output import show, show_json

jobs = typer.Typer(no_args_is_help=True, help="Submit, list, show, stop, drain and delete jobs.")

JobId = Annotated[str, typer.Argument(metavar="ID", help="The id of a job.")]
Url = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The job service; default: HEADRACE_URL, or port 8642 of this machine."),
]


@jobs.command()
def submit(
    file: PipelineFile,
    data: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DATA", help="Files and directories to upload with the pipeline."),
    ] = None,
    *,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name of the job; default: the pipeline's.")
    ] = None,
    until: UntilWord = None,
    once: Once = False,
    drain: Drain = False,
    every: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Interval between micro-batches.")
    ] = None,
    mode: ModeWord = None,
    real_time: RealTime = False,
    master: Annotated[str | None, typer.Option(metavar="MASTER", help="The Spark master.")] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory of the driver process, as 1g.")
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A Spark setting; may be repeated.")
    ] = None,
    restarts: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Restarts after consecutive failures; default: 3.")
    ] = None,
    pipeline: PipelineName = None,
    json: AsJson = False,
    url: Url = None,
) -> None:
    """Submit a pipeline as a job.

    Without DATA, a service on this machine runs the job in the directory of the file, so relative paths mean
    the same as with `headrace run`. With DATA, the files are uploaded and the job runs in its own directory.

    For example:

    - `headrace jobs submit fraud.yaml`
    - `headrace jobs submit fraud.py homes.csv events/ --url http://jobs.example:8642`
    """
    check_file(file)
    pacing = pacing_of(
        "submit", once=once, drain=drain, until=until, every=every, real_time=real_time, mode=mode
    )
    settings = pacing | {
        "master": master,
        "memory": memory,
        "conf": parse_pairs(conf, where="--conf", example="spark.driver.memory=2g"),
        "restart_limit": restarts,
        "pipeline": pipeline,
    }
    client = Client(url)
    form = {"settings": jsonlib.dumps({key: value for key, value in settings.items() if value is not None})}
    if name:
        form["name"] = name
    base = file.resolve().parent
    if client.is_local and not data:
        form["directory"] = str(base)
    created = client.post("/jobs", data=form, files=upload(file, data or [], base))
    show_state(created, json)


@jobs.command("list")
def list_(
    state: Annotated[str | None, typer.Option(metavar="STATE", help="Only jobs in this state.")] = None,
    json: AsJson = False,
    url: Url = None,
) -> None:
    """List all jobs, the newest first."""
    listed = Client(url).get("/jobs", state=state)
    show_json(listed) if json else list_jobs(listed)


@jobs.command("show")
def show_job(job: JobId, json: AsJson = False, url: Url = None) -> None:
    """Show a job: state, attempts, last error and metrics."""
    details = Client(url).get(f"/jobs/{job}")
    show_json(details) if json else describe_job(details)


@jobs.command()
def logs(
    job: JobId,
    attempt: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="The attempt; default: the last one.")
    ] = None,
    json: AsJson = False,
    url: Url = None,
) -> None:
    """Print the log of a job."""
    text = Client(url).get(f"/jobs/{job}/logs", attempt=attempt)
    show_json({"id": job, "logs": text}) if json else typer.echo(text, nl=False)


@jobs.command()
def sample(
    job: JobId,
    step: Annotated[
        str, typer.Option(metavar="STEP", help="A step, `step.output`, or a sink: the rows it reads.")
    ],
    rows: Annotated[int, typer.Option(metavar="NUMBER", help="The maximum number of rows.")] = 10,
    json: AsJson = False,
    url: Url = None,
) -> None:
    """Print rows that pass an edge of a running job in the next micro-batch, one JSON object per line."""
    sampled = Client(url).get(f"/jobs/{job}/samples", step=step, rows=str(rows))
    if json:
        show_json(sampled)
        return
    for row in sampled["rows"]:
        typer.echo(jsonlib.dumps(row, ensure_ascii=False))
    if not sampled["rows"]:
        show(f"no row passed `{step}` within 10 seconds")


@jobs.command()
def stop(job: JobId, json: AsJson = False, url: Url = None) -> None:
    """Stop a job gracefully: finish the current micro-batch, commit, exit."""
    _request(job, "stop", url, json)


@jobs.command()
def drain(job: JobId, json: AsJson = False, url: Url = None) -> None:
    """Drain a job: read the present input, fire and close every window, complete absences, end for good."""
    _request(job, "drain", url, json)


@jobs.command()
def kill(job: JobId, json: AsJson = False, url: Url = None) -> None:
    """Kill the process of a job; a restart processes the current micro-batch again."""
    _request(job, "kill", url, json)


@jobs.command()
def restart(job: JobId, json: AsJson = False, url: Url = None) -> None:
    """Start a job again from its checkpoint; a running job is stopped gracefully first."""
    _request(job, "restart", url, json)


@jobs.command()
def clone(job: JobId, json: AsJson = False, url: Url = None) -> None:
    """Submit the files and settings of a job as a new job."""
    _request(job, "clone", url, json)


@jobs.command()
def delete(job: JobId, json: AsJson = False, url: Url = None) -> None:
    """Delete a job that has ended, with its files and its checkpoint."""
    Client(url).delete(f"/jobs/{job}")
    show_json({"id": job, "deleted": True}) if json else show(f"{job} deleted")


def _request(job: str, verb: str, url: str | None, json: bool) -> None:
    show_state(Client(url).post(f"/jobs/{job}/{verb}"), json)
