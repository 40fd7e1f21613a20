"""Arguments and options that commands share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.durations import microseconds
from headrace.errors import LoadError, OptionError


def flag(*names: str, help: str, **more: Any) -> Any:  # noqa: A002 - the name in typer
    """Declare an option without a value; the empty metavar hides `<bool>` in the help."""
    return typer.Option(*names, help=help, metavar="", **more)


PipelineFile = Annotated[Path, typer.Argument(metavar="FILE", help="A pipeline: a .py or .yaml file.")]
PipelineFiles = Annotated[list[Path], typer.Argument(metavar="FILE", help="Pipelines: .py or .yaml files.")]
PipelineName = Annotated[
    str | None, typer.Option("--pipeline", metavar="NAME", help="The pipeline, if the file builds several.")
]
CheckpointDirectory = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint", metavar="DIRECTORY", help="The checkpoint directory; default: .headrace/NAME."
    ),
]
AsJson = Annotated[bool, flag("--json", help="Print the result as JSON.")]


def parse_pairs(items: Iterable[str] | None, *, where: str, example: str) -> dict[str, str]:
    """Return the settings of a repeated option KEY=VALUE.

    Raises:
        OptionError: an item has another form.
    """
    pairs = {}
    for item in items or ():
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise OptionError(f"expected KEY=VALUE, got {item!r}", where=where, hint=f"such as {example}")
        pairs[key.strip()] = value.strip()
    return pairs


def secret_variable(name: str) -> str | None:
    """Return an environment variable, or the content of the file that `NAME_FILE` names; None if empty.

    Raises:
        OptionError: the file cannot be read.
    """
    from headrace.yaml.variables import read_variable

    return read_variable(name, os.environ) or None


def check_file(file: Path) -> None:
    """Raise `LoadError` if a file does not exist."""
    if not file.is_file():
        raise LoadError("no such file", where=str(file), hint=f"the current directory is {Path.cwd()}")


def check_pacing(command: str, once: bool, drain: bool, every: str | None, real_time: bool) -> None:
    """Reject options that contradict each other before the file is loaded."""
    if once and drain:
        hint = "--drain processes the available input too"
        raise OptionError("expected --once or --drain, got both", where=command, hint=hint)
    if every is not None:
        microseconds(every, where="--every")
    bounded = "--once" if once else "--drain" if drain else ""
    for other, set_ in (("--every", every is not None), ("--real-time", real_time)):
        if bounded and set_:
            hint = f"{bounded} processes the available input as fast as possible: leave out {other}"
            raise OptionError(f"expected {other} or {bounded}, got both", where=command, hint=hint)
