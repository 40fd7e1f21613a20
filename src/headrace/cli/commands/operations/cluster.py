"""`headrace cluster`: a Spark standalone cluster on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.options import AsJson, flag
from headrace.cli.terminal.following import wait_for_interrupt
from headrace.cli.terminal.output import print_message, show, show_json
from headrace.errors import OptionError, SetupError
from headrace.runtime.progress.interrupts import Interrupts

if TYPE_CHECKING:
    from headrace.devtools.spark_cluster import SparkCluster

cluster = typer.Typer(
    help="A Spark cluster on this machine: start, stop and inspect it.", no_args_is_help=True
)

_Directory = Annotated[
    Path | None, typer.Option("--dir", metavar="DIRECTORY", help="Logs and work files; default: the cache.")
]


@cluster.command()
def up(
    *,
    workers: Annotated[int, typer.Option(min=1, max=16, metavar="N", help="The number of workers.")] = 2,
    cores: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Cores of each worker; default: those of the machine, divided."
        ),
    ] = None,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory of each worker for executors.")] = "1g",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="PORT", help="The master's port; 0 for any free one.")
    ] = 7077,
    directory: _Directory = None,
    detach: Annotated[
        bool, flag("--detach", "-d", help="Leave it running; `cluster down` stops it.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Start a Spark standalone cluster on this machine; Ctrl-C stops it.

    For example:

    - `headrace cluster up --workers 2 --detach`
    - `headrace run fraud.yaml --master spark://127.0.0.1:7077`
    """
    from headrace.devtools import spark_cluster

    width = cores or max(1, (os.cpu_count() or 1) // workers)
    options = spark_cluster.ClusterOptions(workers, width, memory, port)
    with Interrupts() as interrupts:
        started = spark_cluster.start(directory, options, report=print_message)
        if json:
            show_json(_as_json(started))
        else:
            show(started.master)
        sys.stdout.flush()
        if detach:
            print_message(f"to stop it: headrace cluster down{f' --dir {directory}' if directory else ''}")
            return
        print_message("Ctrl-C stops it")
        wait_for_interrupt(interrupts, lambda: started.running)
        started.stop()
    if not interrupts.count:
        hint = f"its logs are in {started.directory}"
        raise SetupError("the master ended by itself", where="cluster up", hint=hint)


@cluster.command()
def down(directory: _Directory = None, json: AsJson = False) -> None:
    """Stop the cluster that `headrace cluster up --detach` started, and its executors."""
    running = _find_running(directory, "cluster down")
    running.stop()
    if json:
        show_json({"ended": running.master})
    else:
        print_message(f"stopped {running.master}; its logs remain in {running.directory}", "good")


@cluster.command()
def status(directory: _Directory = None, json: AsJson = False) -> None:
    """Show the address of the cluster and which of its processes are running."""
    running = _find_running(directory, "cluster status")
    if json:
        show_json(_as_json(running))
        return
    show(f"{running.master}  web page {running.web}")
    for node in running.nodes:
        state = "running" if node.process.running else "ended"
        show(f"{node.name}  process {node.pid}  {state}  log {running.log(node)}")


def _find_running(directory: Path | None, where: str) -> SparkCluster:
    from headrace.devtools import spark_cluster

    running = spark_cluster.running_cluster(directory)
    if running is None:
        raise OptionError(
            f"no cluster is running in {directory or spark_cluster.default_directory()}",
            where=where,
            hint="start one: headrace cluster up --detach",
        )
    return running


def _as_json(running: SparkCluster) -> dict[str, Any]:
    nodes = [
        {"name": node.name, "pid": node.pid, "running": node.process.running, "log": str(running.log(node))}
        for node in running.nodes
    ]
    return {"master": running.master, "web": running.web, "directory": str(running.directory), "nodes": nodes}
