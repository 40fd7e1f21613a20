"""`headrace mqtt`: a local mosquitto, and terminal commands for any MQTT broker."""

from __future__ import annotations

import dataclasses
import json as jsons
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import AsJson, flag
from headrace.cli.terminal.following import wait_for_interrupt
from headrace.cli.terminal.output import print_message, show, show_json
from headrace.errors import SetupError
from headrace.runtime.progress.interrupts import Interrupts

mqtt = typer.Typer(help="A local MQTT broker, and messages of any broker.", no_args_is_help=True)

_Url = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The broker; default: $MQTT, or mqtt://localhost:1883."),
]
_Qos = Annotated[int, typer.Option(min=0, max=2, metavar="N", help="The quality of service.")]


@mqtt.command()
def up(
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="PORT", help="The port; 0 for any free one.")
    ] = 1883,
    directory: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIRECTORY", help="The directory of its data; default: in the cache."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Start mosquitto on this machine, if it is installed; Ctrl-C stops it, the data remain.

    It accepts connections from this machine only, without a login.
    """
    from headrace.devtools import mosquitto

    with Interrupts() as interrupts:
        broker = mosquitto.start(directory, port=port)
        if json:
            show_json({"url": broker.url, "directory": str(broker.directory)})
        else:
            show(f"mosquitto is running at {broker.url}")
            print_message(f"data directory: {broker.directory}; Ctrl-C stops it")
        sys.stdout.flush()
        wait_for_interrupt(interrupts, lambda: broker.running)
        broker.stop()
    if not interrupts.count:
        hint = f"its log is in {broker.directory}"
        raise SetupError("mosquitto ended by itself", where="mqtt up", hint=hint)


@mqtt.command()
def pub(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.")],
    message: Annotated[
        str | None,
        typer.Argument(metavar="MESSAGE", help="The message; default: one for each line of standard input."),
    ] = None,
    *,
    qos: _Qos = 1,
    retain: Annotated[
        bool, flag("--retain", help="Have the broker store the message for new subscribers.")
    ] = False,
    url: _Url = None,
    json: AsJson = False,
) -> None:
    """Publish a message, or each line of the input, and wait until the broker has all of them.

    For example:

    - `headrace mqtt pub building/12/temperature 21.5 --retain`
    - `headrace mqtt pub events < events.jsonl`
    """
    from headrace.connectors.mqtt import Mqtt
    from headrace.devtools.mqtt_client import publish

    name = topic.replace("{", "{{").replace("}", "}}")
    count = publish(Mqtt(url=_address(url), topic=name, qos=qos, retain=retain), _payloads(message))
    if json:
        show_json({"topic": topic, "messages": count})
    else:
        print_message(f"{count} {'message' if count == 1 else 'messages'} to {topic}", "good")


@mqtt.command()
def sub(
    topics: Annotated[list[str], typer.Argument(metavar="FILTER", help="Topic filters: building/+/#.")],
    *,
    limit: Annotated[
        int | None, typer.Option("--max", min=1, metavar="N", help="Stop after N messages.")
    ] = None,
    qos: _Qos = 1,
    url: _Url = None,
    json: AsJson = False,
) -> None:
    """Print the messages of topics, one per line, until Ctrl-C; with --json all fields.

    For example:

    - `headrace mqtt sub 'building/+/temperature' --max 10`
    """
    from headrace.connectors.mqtt import Mqtt
    from headrace.devtools.mqtt_client import subscribe

    with Interrupts() as interrupts:
        options = Mqtt(url=_address(url), topics=topics, qos=qos)
        for seen, message in enumerate(subscribe(options, lambda: interrupts.count > 0), 1):
            line = jsons.dumps(dataclasses.asdict(message), ensure_ascii=False)
            sys.stdout.write((line if json else f"{message.topic} {message.payload}") + "\n")
            sys.stdout.flush()
            if seen == limit:
                break


def _address(url: str | None) -> str:
    return url or os.environ.get("MQTT") or "mqtt://localhost:1883"


def _payloads(message: str | None) -> Iterator[bytes]:
    if message is not None:
        yield message.encode()
        return
    for line in sys.stdin.buffer:
        yield line.removesuffix(b"\n").removesuffix(b"\r")
