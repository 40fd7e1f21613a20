"""`headrace kafka`: a local Kafka, and terminal commands for any Kafka."""

from __future__ import annotations

import typer

from headrace.cli.commands.kafka import groups, nexmark, records, server

kafka = typer.Typer(
    help="A local Kafka server, and topics, records and groups of any Kafka.", no_args_is_help=True
)
kafka.command()(server.up)
kafka.command()(server.down)
kafka.command()(records.topics)
kafka.command()(records.produce)
kafka.command()(records.consume)
kafka.command()(nexmark.nexmark)
kafka.command()(groups.lag)
kafka.command()(groups.replay)
