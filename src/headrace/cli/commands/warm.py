"""`headrace warm`: keep a started JVM for the next runs."""

from __future__ import annotations

import json as json_module
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import flag, parse_pairs
from headrace.cli.terminal.output import print_message

START_SECONDS = 120.0


def warm(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A pipeline, for the jars of its connectors.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark's master, such as local[2].")
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark; repeatable.")
    ] = None,
    idle: Annotated[
        str, typer.Option("--idle", metavar="DURATION", help="End after this time without a run.")
    ] = "30 minutes",
    stop: Annotated[bool, flag("--stop", help="Stop all warm sessions of this user.")] = False,
) -> None:
    """Keep a started Spark, so that the next runs in this directory begin at once.

    `run`, `test`, `check --spark`, `why`, the SQL shell and Python programs use it, one at a time, if their
    settings of Spark are the same; others start their own. Modules are loaded anew for each run.

    For example:

    - `headrace warm`
    - `headrace warm fraud.yaml --conf spark.driver.memory=2g --idle "2 hours"`
    - `headrace warm --stop`
    """
    from headrace.durations import microseconds
    from headrace.spark.warm import client, places

    if stop:
        stopped = sum(client.stop(place) for place in list(places.sockets()))
        print_message(f"stopped {stopped} warm session{'' if stopped == 1 else 's'}", "good")
        return
    seconds = microseconds(idle, where="--idle") / 1e6
    settings = parse_pairs(conf, where="--conf", example="spark.driver.memory=2g")
    request: dict[str, object] = {"master": master, "conf": settings, "jars": _jars(file)}
    place = _place(request)
    if place.exists():
        print_message("a warm session with these settings runs already", "good")
        return
    _start(place, seconds, json_module.dumps(request))
    print_message(f"warm: runs in {Path.cwd()} with these settings begin at once", "good")


def _jars(file: Path | None) -> list[str]:
    if file is None:
        return []
    from headrace.cli.loading import load_one
    from headrace.spark.jars import jars_for

    graph = load_one(file, None)._plan()
    return [str(jar) for jar in jars_for(graph.connectors)]


def _place(request: dict[str, object]) -> Path:
    from headrace.spark.session import settings_for
    from headrace.spark.warm.places import socket_of

    return socket_of(settings_for("headrace-warm", **request))  # type: ignore[arg-type]


def _start(place: Path, idle: float, request: str) -> None:
    """Start the server and wait for its socket.

    Raises:
        SetupError: Spark did not start.
    """
    from headrace.errors import SetupError

    command = [sys.executable, "-m", "headrace.spark.warm.server", str(place), "--idle", str(idle)]
    log = place.with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with log.open("w") as output:
        server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=output, text=True, start_new_session=True
        )
    assert server.stdin is not None
    server.stdin.write(request)
    server.stdin.close()
    deadline = time.monotonic() + START_SECONDS
    while not place.exists():
        if server.poll() is not None or time.monotonic() > deadline:
            server.kill()
            lines = log.read_text().strip().splitlines()
            raise SetupError(lines[-1] if lines else "Spark did not start in time", where="warm")
        time.sleep(0.05)
