"""`headrace serve`: the job service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.terminal.output import say

HOST, PORT = "127.0.0.1", 8642


def serve(
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = HOST,
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="The port.")] = PORT,
    data: Annotated[
        Path, typer.Option(metavar="DIRECTORY", help="The directory of jobs, checkpoints and history.")
    ] = Path(".headrace/service"),
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="HEADRACE_STORE",
            help="The store as a PostgreSQL URL; default: a SQLite file in the data directory.",
        ),
    ] = None,
) -> None:
    """Run jobs: REST, metrics and live pages in one process.

    Each job is a process of its own: jobs go on while the service is down, and the next service finds them.

    For example:

    - `headrace serve`
    - `headrace serve --data /var/lib/headrace --store postgresql://headrace@db/jobs`
    """
    from headrace.jobs.server import run_server
    from headrace.jobs.service import JobService

    service = JobService(data, store=store)
    say(f"jobs: http://{host}:{port}  data: {service.data}")
    run_server(service, host=host, port=port)
