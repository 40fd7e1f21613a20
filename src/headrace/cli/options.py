"""Arguments and options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def flag(*names: str, help: str, **more: Any) -> Any:  # noqa: A002 - the name in typer
    """Declare an option without a value; the empty metavar hides `<bool>` in the help."""
    return typer.Option(*names, help=help, metavar="", **more)


PipelineFile = Annotated[Path, typer.Argument(metavar="FILE", help="A pipeline: a .py or .yaml file.")]
PipelineFiles = Annotated[list[Path], typer.Argument(metavar="FILE", help="Pipelines: .py or .yaml files.")]
PipelineName = Annotated[
    str | None, typer.Option("--pipeline", metavar="NAME", help="Which one, if the file builds several.")
]
AsJson = Annotated[bool, flag("--json", help="Print it as JSON.")]
