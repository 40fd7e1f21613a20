"""`headrace drive`: the driver process of a job, started by the job service."""

from __future__ import annotations

import json
import os
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
    from headrace.access import CODE_HINT, Access, restrict, restrict_process
    from headrace.cli.loading import load_one
    from headrace.errors import OptionError
    from headrace.jobs.driver import Driver
    from headrace.jobs.logging import log_to_output
    from headrace.jobs.model import JobSettings
    from headrace.streams.pipeline import Pipeline

    log_to_output()
    specification = json.loads((directory / "job.json").read_text())
    settings = JobSettings.model_validate(specification["settings"])
    file = directory / "files" / specification["file"]
    access = Access.passed_by(os.environ)
    is_code = file.suffix == ".py"
    if access is None or access.code:
        sys.path.append(str(Path.cwd()))  # last, so that a file there does not shadow a module of Python
    if access is not None and not is_code:  # accepted Python may do anything
        restrict_process(access)

    def load() -> Pipeline:
        if is_code and access is not None and not access.code:
            raise OptionError("a Python file is not accepted", where=file.name, hint=CODE_HINT)
        with restrict(None if is_code else access):
            return load_one(file, settings.pipeline)

    with Interrupts() as interrupts:
        driver = Driver(directory, attempt, settings, interrupted=lambda: interrupts.count > 0)
        driver.run(load, on_start=interrupts.install)
