"""`headrace drive`: the driver process of a job, started by the job service."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from headrace.runtime.progress.interrupts import Interrupts


def drive(
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="The directory of the job.")],
    attempt: Annotated[int, typer.Option(metavar="NUMBER", help="The number of the attempt.")],
) -> None:
    """Run one attempt of a job. The job service starts this command; use `headrace run` to run a pipeline."""
    from headrace.access import restrict_process
    from headrace.cli.loading import load_one
    from headrace.jobs.driver import Driver
    from headrace.jobs.model import JobSettings

    specification = json.loads((directory / "job.json").read_text())
    settings = JobSettings.model_validate(specification["settings"])
    file = directory / "files" / specification["file"]
    if (access := restrict_process()) is None or access.code:
        sys.path.append(str(Path.cwd()))  # last, so that a file there does not shadow a module of Python
    with Interrupts() as interrupts:
        driver = Driver(directory, attempt, settings, interrupted=lambda: interrupts.count > 0)
        driver.run(lambda: load_one(file, settings.pipeline), on_start=interrupts.install)
