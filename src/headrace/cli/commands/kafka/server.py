"""`headrace kafka up` and `down`: Kafka on this machine."""

from __future__ import annotations

import dataclasses
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
    from headrace.devtools.kafka_server import Cluster

_Directory = Annotated[
    Path | None,
    typer.Option("--dir", metavar="DIRECTORY", help="The directory of its data; default: in the cache."),
]


def up(
    *,
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, metavar="PORT", help="The first broker's port; 0 for any free one."),
    ] = 9092,
    brokers: Annotated[
        int,
        typer.Option(
            min=1,
            max=9,
            metavar="N",
            help="The number of brokers; with three or more, topics are replicated.",
        ),
    ] = 1,
    directory: _Directory = None,
    detach: Annotated[bool, flag("--detach", "-d", help="Leave it running; `kafka down` stops it.")] = False,
    json: AsJson = False,
) -> None:
    """Start Kafka on this machine; Ctrl-C stops it, the data remain.

    For example:

    - `headrace kafka up`
    - `headrace kafka up --brokers 3 --detach`
    """
    from headrace.devtools import kafka_server
    from headrace.spark.download_progress import progress

    with Interrupts() as interrupts:
        with progress("jars") as watch:
            cluster = kafka_server.start(
                directory, port=port, brokers=brokers, watch=watch, report=print_message
            )
        if json:
            show_json(_as_json(cluster))
        else:
            show(f"Kafka is running at {cluster.servers}")
            print_message(f"data directory: {cluster.directory}")
        sys.stdout.flush()
        if detach:
            print_message(f"to stop it: headrace kafka down{f' --dir {directory}' if directory else ''}")
            return
        print_message("Ctrl-C stops it")
        wait_for_interrupt(interrupts, lambda: cluster.running)
        print_message("stopping")
        cluster.stop()
    if not interrupts.count:
        raise SetupError(
            "a broker ended by itself", where="kafka up", hint=f"its log is in {cluster.directory}"
        )


def down(directory: _Directory = None, json: AsJson = False) -> None:
    """Stop the Kafka that `headrace kafka up --detach` started."""
    from headrace.devtools import kafka_server

    cluster = kafka_server.running_cluster(directory)
    if cluster is None:
        raise OptionError(
            f"no Kafka is running in {directory or kafka_server.default_directory()}",
            where="kafka down",
            hint="if it uses another directory, set --dir",
        )
    cluster.stop()
    if json:
        show_json({"ended": cluster.servers, "directory": str(cluster.directory)})
    else:
        print_message(f"stopped; its data remain in {cluster.directory}", "good")


def _as_json(cluster: Cluster) -> dict[str, Any]:
    return {
        "servers": cluster.servers,
        "directory": str(cluster.directory),
        "brokers": [dataclasses.asdict(broker) for broker in cluster.brokers],
    }
