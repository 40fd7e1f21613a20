"""`headrace run`: a pipeline from a file, followed until it ends or is told to."""

from __future__ import annotations

import os
import shlex
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.options import PipelineFile, PipelineName, flag
from headrace.cli.terminal.errors import INTERRUPTED, show_warnings
from headrace.cli.terminal.following import follow
from headrace.cli.terminal.interrupts import Interrupts
from headrace.cli.terminal.output import err, say
from headrace.cli.terminal.summary import Ending, Summary
from headrace.cli.terminal.views import View, view_for
from headrace.connectors.base import Guarantee
from headrace.durations import microseconds
from headrace.errors import HeadraceError, OptionError

if TYPE_CHECKING:
    from headrace.runtime.run import Running


def run(
    file: PipelineFile,
    *,
    once: Annotated[
        bool, flag("--once", help="Take what is there and stop; open windows stay open.")
    ] = False,
    finish: Annotated[
        bool, flag("--finish", help="Take what is there, end the input for good, close every window.")
    ] = False,
    every: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help='How often a batch runs, as "10 seconds"; else as fast as it can.'
        ),
    ] = None,
    real_time: Annotated[
        bool,
        flag(
            "--real-time",
            help="Milliseconds from Kafka to Kafka, at least once; --every is then how often offsets and state are "
            "committed and the watermark moves, a minute if not said.",
        ),
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY", help="Where the run remembers its position; .headrace/NAME if not said."
        ),
    ] = None,
    guarantee: Annotated[
        Guarantee | None,
        typer.Option(
            metavar="WORD",
            help="Refuse to run with less than at_most_once, at_least_once or exactly_once; else the best there is.",
        ),
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="MASTER", help="Spark's master, as local[4] or spark://host:7077.")
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark's; may be repeated.")
    ] = None,
    pipeline: PipelineName = None,
    status_every: Annotated[
        str,
        typer.Option(metavar="DURATION", help="How often a status line comes where there is no terminal."),
    ] = "10 seconds",
    quiet: Annotated[bool, flag("--quiet", "-q", help="No status and no summary.")] = False,
    json: Annotated[
        bool, flag("--json", help="Status and summary as JSON lines on standard output.")
    ] = False,
) -> None:
    """Run a pipeline until its input ends or Ctrl-C.

    The first Ctrl-C lets the batch under way finish and says how to go on from there; the second stops at once, which
    loses nothing either: the next run does the open batch again.

    For example:

    - `headrace run fraud.yaml --once`
    - `headrace run fraud.py --every "5 seconds" --conf spark.driver.memory=2g`
    - `headrace run fraud.yaml --real-time`
    """
    from headrace.cli.loading import load_one
    from headrace.plan.warnings import warnings_of

    _agreeing(once, finish, every)
    if real_time and (once or finish):
        hint = "leave --real-time out to take what is there"
        raise OptionError(
            f"expected --real-time or {'--once' if once else '--finish'}, got both", where="run", hint=hint
        )
    settings = _settings(conf or [])
    period = microseconds(status_every, where="--status-every") / 1_000_000
    chosen = load_one(file, pipeline)
    show_warnings(warnings_of(chosen.check()))
    view = view_for(chosen.name, period=period, quiet=quiet, json=json)
    began = time.monotonic()
    with Interrupts() as interrupts:
        with _starting(chosen.name, quiet or json):
            running = chosen.start(
                once=once,
                finish=finish,
                every=every,
                real_time=real_time,
                checkpoint=checkpoint,
                guarantee=guarantee,
                master=master,
                conf=settings,
            )
        interrupts.take()
        _follow(running, view, interrupts)
    ending: Ending = "drained" if interrupts.count else "finished" if finish else "done"
    seconds = time.monotonic() - began
    command = "" if ending == "finished" else _command()
    view.end(Summary(chosen.name, ending, seconds, running.status(), running.directory.path, command))


def _agreeing(once: bool, finish: bool, every: str | None) -> None:
    """Refuse options that contradict each other, or can't be read, before Spark starts."""
    if once and finish:
        hint = "--finish takes what is there too"
        raise OptionError("expected --once or --finish, got both", where="run", hint=hint)
    if every is not None:
        microseconds(every, where="--every")
    if every is not None and (once or finish):
        hint = "with --once and --finish batches run as fast as they can: leave --every out"
        raise OptionError(
            f"expected --every or {'--once' if once else '--finish'}, got both", where="run", hint=hint
        )


def _starting(name: str, quiet: bool) -> AbstractContextManager[object]:
    """Spark takes some seconds to start: on a terminal, say so meanwhile."""
    console = err()
    return console.status(f"{name}: starting Spark") if console.is_terminal and not quiet else nullcontext()


def _follow(running: Running, view: View, interrupts: Interrupts) -> None:
    try:
        follow(running, view, interrupts)
    except KeyboardInterrupt:
        say("stopped at once; the batch under way is done again by the next run", "warn")
        say(f"to go on: {_command()}")
        _leave(INTERRUPTED)
    except HeadraceError:
        say(
            f"the run of {running.graph.name} failed; Spark's log is in {running.directory.path / 'logs'}",
            "bad",
        )
        raise


def _leave(status: int) -> None:
    """End this process now: Spark's Java goes with it, and the epoch that is open stays uncommitted."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _settings(given: list[str]) -> dict[str, str]:
    settings = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise OptionError(
                f"expected KEY=VALUE, got {item!r}", where="--conf", hint="such as spark.driver.memory=2g"
            )
        settings[key.strip()] = value.strip()
    return settings


def _command() -> str:
    """The command as it was typed, to be typed again."""
    return shlex.join(["headrace", *sys.argv[1:]])
