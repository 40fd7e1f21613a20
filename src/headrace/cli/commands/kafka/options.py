"""Options of the Kafka commands, and the client that they describe."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.options import parse_pairs

if TYPE_CHECKING:
    from headrace.devtools.kafka_client import Client

Servers = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="The brokers; default: $KAFKA, those of `kafka up`, or localhost:9092."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A setting of librdkafka, such as security.protocol=SASL_SSL."
    ),
]
Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.")]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="POSITION",
        help="earliest, latest, an offset (-5: the last five) or a time in ISO form.",
    ),
]


def open_client(servers: str | None, settings: list[str] | None) -> Client:
    """Connect to the brokers of an option, of $KAFKA, or of `kafka up`."""
    from headrace.devtools.kafka_client import Client
    from headrace.devtools.kafka_server import running_cluster

    address = servers or os.environ.get("KAFKA")
    if address is None:
        cluster = running_cluster()
        address = cluster.servers if cluster else "localhost:9092"
    return Client(address, parse_pairs(settings, where="--set", example="security.protocol=SASL_SSL"))
