"""Arguments and options that commands share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.durations import microseconds
from headrace.errors import LoadError, OptionError
from headrace.runtime.options import ExecutionMode, Until


def flag(*names: str, help: str, **more: Any) -> Any:  # noqa: A002 - the name in typer
    """Declare an option without a value; the empty metavar hides `<bool>` in the help."""
    return typer.Option(*names, help=help, metavar="", **more)


PipelineFile = Annotated[Path, typer.Argument(metavar="FILE", help="A pipeline: a .py, .yaml or .sql file.")]
PipelineFiles = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="Pipelines: .py, .yaml or .sql files.")
]
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


Once = Annotated[bool, flag("--once", help="Short for `--until caught_up`.")]
Drain = Annotated[
    bool, flag("--drain", help="Short for `--until drained`; absences at the end of a pattern complete too.")
]
UntilWord = Annotated[
    Until | None,
    typer.Option(
        "--until",
        metavar="WORD",
        help="`stopped`: run until stopped, the default; `caught_up`: process the available input and exit, "
        "windows stay open for the next run; `drained`: process the available input, then fire and close "
        "every window and complete pending absences, which ends the job for good.",
    ),
]
RealTime = Annotated[bool, flag("--real-time", help="Short for `--mode real_time`.")]
ModeWord = Annotated[
    ExecutionMode | None,
    typer.Option(
        "--mode",
        metavar="WORD",
        help="`micro_batch`: the default; `real_time`: pass single rows from Kafka to Kafka within "
        "milliseconds, at least once; --every is then the length of a batch, after which offsets and state "
        "are committed and the watermark advances; default: 1 minute.",
    ),
]


def pacing_of(
    command: str,
    *,
    once: bool = False,
    drain: bool = False,
    until: Until | None = None,
    every: str | None = None,
    real_time: bool = False,
    mode: ExecutionMode | None = None,
) -> dict[str, Any]:
    """Return the options `until`, `mode` and `every` of a run; empty if the command line sets none of them.

    Raises:
        OptionError: options contradict each other.
    """
    if once and drain:
        hint = "--drain processes the available input too"
        raise OptionError("expected --once or --drain, got both", where=command, hint=hint)
    ends: dict[Until, bool] = {"caught_up": once, "drained": drain}
    short = next((word for word, is_set in ends.items() if is_set), None)
    if short and until and short != until:
        option = "--once" if once else "--drain"
        raise OptionError(
            f"expected {option} or --until {until}, got both",
            where=command,
            hint=f"{option} is short for --until {short}",
        )
    if real_time and mode == "micro_batch":
        hint = "--real-time is short for --mode real_time"
        raise OptionError("expected --real-time or --mode micro_batch, got both", where=command, hint=hint)
    if every is not None:
        microseconds(every, where="--every")
    until = short or until or "stopped"
    bounded = "" if until == "stopped" else "--once" if once else "--drain" if drain else f"--until {until}"
    real = "--real-time" if real_time else "--mode real_time" if mode == "real_time" else ""
    for other in ("--every" if every is not None else "", real):
        if bounded and other:
            hint = f"{bounded} processes the available input as fast as possible: leave out {other}"
            raise OptionError(f"expected {other} or {bounded}, got both", where=command, hint=hint)
    if not (once or drain or every or real_time or mode or until != "stopped"):
        return {}
    return {"until": until, "mode": "real_time" if real else "micro_batch", "every": every}
