"""Arguments and options that several commands share, so that they are called and explained the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def flag(*names: str, help: str, **more: Any) -> Any:  # noqa: A002 - typer's word
    """An option that takes no value; without the empty metavar its help would say `<bool>`."""
    return typer.Option(*names, help=help, metavar="", **more)


PipelineFile = Annotated[Path, typer.Argument(metavar="FILE", help="A pipeline: a .py or .yaml file.")]
PipelineFiles = Annotated[list[Path], typer.Argument(metavar="FILE", help="Pipelines: .py or .yaml files.")]
PipelineName = Annotated[
    str | None, typer.Option("--pipeline", metavar="NAME", help="Which one, if the file builds several.")
]
AsJson = Annotated[bool, flag("--json", help="Print it as JSON.")]
