"""`headrace kafka lag` and `replay`: consumer groups."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.commands.kafka.options import From, Servers, Settings, Topic, open_client
from headrace.cli.options import AsJson
from headrace.cli.terminal.output import print_message, show_json, show_table

if TYPE_CHECKING:
    from headrace.devtools.kafka_records import Lag


def lag(
    group: Annotated[str | None, typer.Argument(metavar="GROUP", help="One group; default: all.")] = None,
    servers: Servers = None,
    settings: Settings = None,
    json: AsJson = False,
) -> None:
    """Show the lag of consumer groups, those of pipelines (`<pipeline>.<source>`) included."""
    _show_lag(open_client(servers, settings).lag(group), json)


def replay(
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The consumer group.")],
    topic: Topic,
    *,
    start: From,
    servers: Servers = None,
    settings: Settings = None,
    json: AsJson = False,
) -> None:
    """Move a consumer group to another offset of a topic.

    The group must have no active members. The offsets of a pipeline are in its checkpoint, not in its group:
    to replay a pipeline, run it with another checkpoint and `start: {time: ...}`.

    For example:

    - `headrace kafka replay billing payments --from 2026-03-01T12:00:00Z`
    """
    client = open_client(servers, settings)
    if client.is_pipeline_group(group):
        print_message(
            f"warning: `{group}` is the group of a pipeline, which reads from the offsets of its checkpoint; "
            "to read again, run it with another checkpoint and `start`",
            "warn",
        )
    _show_lag(client.replay(group, topic, start), json)


def _show_lag(lags: list[Lag], json: bool) -> None:
    if json:
        show_json([dataclasses.asdict(lag) | {"lag": lag.lag} for lag in lags])
        return
    numbers = [(lag.partition, lag.offset, lag.end, lag.lag) for lag in lags]
    rows = [(lag.group, lag.topic, *map(str, cells)) for lag, cells in zip(lags, numbers, strict=True)]
    show_table(("group", "topic", "partition", "offset", "end", "lag"), rows)
