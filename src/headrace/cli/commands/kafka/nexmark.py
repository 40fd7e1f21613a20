"""`headrace kafka nexmark`: fill topics with the events of the Nexmark benchmark."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from headrace.cli.commands.kafka.options import Servers, open_client
from headrace.cli.options import AsJson
from headrace.cli.terminal.output import print_message, show_json
from headrace.connectors.base import Reader
from headrace.connectors.generator.source import GeneratorReader
from headrace.connectors.nexmark import Nexmark, Table
from headrace.connectors.nexmark.events import TABLES, rows_among

if TYPE_CHECKING:
    from headrace.streams.pipeline import Pipeline


def nexmark(
    *,
    events: Annotated[
        int, typer.Option(min=1, metavar="N", help="The events: of 50, 1 person, 3 auctions and 46 bids.")
    ] = 1_000_000,
    rate: Annotated[
        float | None,
        typer.Option(metavar="N", help="Events per second; default: as fast as possible."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed; another one gives other events.")] = 0,
    disorder: Annotated[
        int, typer.Option(min=1, metavar="N", help="Events in a group whose times are in another order.")
    ] = 1,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Text before the names of the topics.")] = "",
    partitions: Annotated[int, typer.Option(min=1, metavar="N", help="Partitions of a created topic.")] = 4,
    servers: Servers = None,
    json: AsJson = False,
) -> None:
    """Fill the topics person, auction and bid with the events of the Nexmark benchmark, as JSON.

    The same options give the same events in every run. Topics that do not exist are created.

    For example:

    - `headrace kafka nexmark --events 100000 --prefix nexmark-`
    """
    client = open_client(servers, None)
    present = {topic.name for topic in client.topics()}
    topics = {table: f"{prefix}{table}" for table in TABLES}
    for topic in topics.values():
        if topic not in present:
            client.create(topic, partitions=partitions)
    tables = [
        _OrderedNexmark(table=table, events=events, rate=rate, seed=seed, disorder=disorder)
        for table in get_args(Table)
    ]
    with tempfile.TemporaryDirectory() as directory:
        pipeline = _pipeline(tables, topics, client.servers)
        pipeline.run(until="drained", checkpoint=f"{directory}/nexmark", progress=False if json else None)
    rows = {topic: rows_among(events, TABLES[table]) for table, topic in topics.items()}
    if json:
        show_json({"events": events, "records": rows})
    else:
        print_message(", ".join(f"{count} records to {topic}" for topic, count in rows.items()), "good")


class _OrderedNexmark(Nexmark):
    """A Nexmark source that one task reads, because two mix the times of a partition by up to a minute."""

    def reader(self) -> Reader:
        return GeneratorReader(self.as_generator(), tasks=1)


def _pipeline(tables: Sequence[Nexmark], topics: dict[str, str], servers: str) -> Pipeline:
    from headrace import Pipeline, connect

    pipeline = Pipeline("nexmark")
    for table in tables:
        sink = connect.kafka(servers=servers, topic=topics[table.table], format="json")
        pipeline.read(table.table, table).write(f"{table.table}_topic", sink)
    return pipeline
