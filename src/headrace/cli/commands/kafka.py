"""`headrace kafka`: a local Kafka, and terminal commands for any Kafka."""

from __future__ import annotations

import dataclasses
import json as jsons
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.options import AsJson, flag, parse_pairs
from headrace.cli.terminal.following import wait_for_interrupt
from headrace.cli.terminal.output import print_message, show, show_json
from headrace.errors import OptionError, SetupError
from headrace.runtime.progress.interrupts import Interrupts

if TYPE_CHECKING:
    from headrace.devtools.kafka_client import Client
    from headrace.devtools.kafka_records import Lag, Record

kafka = typer.Typer(
    help="A local Kafka server, and topics, records and groups of any Kafka.", no_args_is_help=True
)

_Servers = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="The brokers; default: $KAFKA, that of `kafka up`, or localhost:9092."
    ),
]
_Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A setting of librdkafka, such as security.protocol=SASL_SSL."
    ),
]
_Directory = Annotated[
    Path | None,
    typer.Option("--dir", metavar="DIRECTORY", help="The directory of its data; default: in the cache."),
]
_Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.")]
_From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="PLACE",
        help="earliest, latest, an offset (-5: the last five) or a time in ISO form.",
    ),
]


@kafka.command()
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
    detach: Annotated[bool, flag("--detach", "-d", help="Leave it running; `kafka down` ends it.")] = False,
    json: AsJson = False,
) -> None:
    """Start Kafka on this machine; Ctrl-C stops it, the data remain.

    For example:

    - `headrace kafka up`
    - `headrace kafka up --brokers 3 --detach`
    """
    from headrace.devtools import kafka_server
    from headrace.spark.startup import progress

    with Interrupts() as interrupts:
        with progress("jars") as watch:
            cluster = kafka_server.start(
                directory, port=port, brokers=brokers, watch=watch, report=print_message
            )
        if json:
            show_json(_as_json(cluster))
        else:
            show(f"Kafka answers at {cluster.servers}")
            print_message(f"its data are in {cluster.directory}")
        sys.stdout.flush()
        if detach:
            print_message(f"headrace kafka down{f' --dir {directory}' if directory else ''} ends it")
            return
        print_message("Ctrl-C ends it")
        wait_for_interrupt(interrupts, lambda: cluster.running)
        print_message("ending")
        cluster.stop()
    if not interrupts.count:
        raise SetupError(
            "a broker ended by itself", where="kafka up", hint=f"its log is in {cluster.directory}"
        )


@kafka.command()
def down(directory: _Directory = None, json: AsJson = False) -> None:
    """Stop the Kafka that `headrace kafka up --detach` started."""
    from headrace.devtools import kafka_server

    cluster = kafka_server.running_cluster(directory)
    if cluster is None:
        place = directory or kafka_server.default_directory()
        raise OptionError(
            f"no Kafka of {place} runs", where="kafka down", hint="is it in another directory? --dir"
        )
    cluster.stop()
    if json:
        show_json({"ended": cluster.servers, "directory": str(cluster.directory)})
    else:
        print_message(f"ended; its data stay in {cluster.directory}", "good")


@kafka.command()
def topics(
    *,
    create: Annotated[str | None, typer.Option(metavar="NAME", help="Create a topic.")] = None,
    delete: Annotated[
        str | None, typer.Option(metavar="NAME", help="Delete a topic and its records.")
    ] = None,
    partitions: Annotated[int, typer.Option(min=1, metavar="N", help="Partitions of a created topic.")] = 4,
    replication: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="The replication factor; default: the server's."),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting of a created topic, as retention.ms=3600000."),
    ] = None,
    servers: _Servers = None,
    settings: _Settings = None,
    json: AsJson = False,
) -> None:
    """List topics; create or delete one.

    For example:

    - `headrace kafka topics --create payments --partitions 8`
    """
    if create and delete:
        raise OptionError("expected --create or --delete, got both", where="kafka topics")
    client = _client(servers, settings)
    if create:
        client.create(
            create,
            partitions=partitions,
            replication=replication,
            settings=parse_pairs(config, where="--config", example="retention.ms=3600000"),
        )
        print_message(f"created {create}", "good")
    if delete:
        client.delete(delete)
        print_message(f"deleted {delete}", "good")
    if create or delete:
        return
    listed = client.topics()
    if json:
        show_json([dataclasses.asdict(topic) for topic in listed])
        return
    _table(
        ("topic", "partitions", "copies", "offsets"),
        [(t.name, t.partitions, t.replication, t.records) for t in listed],
    )


@kafka.command()
def produce(
    topic: _Topic,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The lines to send; default: standard input.")
    ] = None,
    *,
    key: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="The field of each JSON line that is the record's key."),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The text between key and value in each line.")
    ] = None,
    partition: Annotated[int | None, typer.Option(metavar="N", help="Send all to this partition.")] = None,
    servers: _Servers = None,
    settings: _Settings = None,
    json: AsJson = False,
) -> None:
    """Send each line as a record and wait until all are written.

    For example:

    - `headrace kafka produce payments payments.jsonl --key card`
    - `echo 'a:1' | headrace kafka produce pairs --separator :`
    """
    if separator == "" or (key and separator):
        got = "both" if separator else "an empty --separator"
        raise OptionError(f"expected --key or --separator, got {got}", where="kafka produce")
    client = _client(servers, settings)
    client.require(topic)
    sent = client.produce(topic, _with_keys(_lines(file), key, separator), partition=partition)
    if json:
        show_json({"topic": topic, "records": sent})
    else:
        print_message(f"{sent} records to {topic}", "good")


@kafka.command()
def consume(
    topic: _Topic,
    *,
    start: _From = "earliest",
    limit: Annotated[
        int | None, typer.Option("--max", min=1, metavar="N", help="Stop after N records.")
    ] = None,
    follow: Annotated[bool, flag("--follow", "-f", help="Wait for more records, until Ctrl-C.")] = False,
    group: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Read as a member of this group, and commit."),
    ] = None,
    servers: _Servers = None,
    settings: _Settings = None,
    json: AsJson = False,
) -> None:
    """Print the values of the records of a topic, one per line; with --json all fields.

    Records of aborted transactions are skipped.

    For example:

    - `headrace kafka consume alerts --from -10`
    - `headrace kafka consume alerts --from 2026-03-01T12:00:00Z --follow --json`
    """
    client = _client(servers, settings)
    with Interrupts() as interrupts:
        records = client.consume(
            topic, start=start, group=group, follow=follow, ended=lambda: interrupts.count > 0
        )
        for seen, record in enumerate(records, 1):
            _print(record, json)
            if seen == limit:
                break


@kafka.command()
def lag(
    group: Annotated[str | None, typer.Argument(metavar="GROUP", help="One group; default: all.")] = None,
    servers: _Servers = None,
    settings: _Settings = None,
    json: AsJson = False,
) -> None:
    """Show the lag of consumer groups, those of pipelines (`<pipeline>.<source>`) included."""
    _show_lag(_client(servers, settings).lag(group), json)


@kafka.command()
def replay(
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The consumer group.")],
    topic: _Topic,
    *,
    start: _From,
    servers: _Servers = None,
    settings: _Settings = None,
    json: AsJson = False,
) -> None:
    """Move a consumer group to another offset of a topic.

    The group must have no active members. The offsets of a pipeline are in its checkpoint, not in its group:
    to replay a pipeline, run it with another checkpoint and `start: {time: ...}`.

    For example:

    - `headrace kafka replay billing payments --from 2026-03-01T12:00:00Z`
    """
    client = _client(servers, settings)
    if client.is_pipeline_group(group):
        print_message(
            f"warning: `{group}` is the group of a pipeline, which reads from the offsets of its checkpoint; "
            "to read again, run it with another checkpoint and `start`",
            "warn",
        )
    _show_lag(client.replay(group, topic, start), json)


def _client(servers: str | None, settings: list[str] | None) -> Client:
    from headrace.devtools.kafka_client import Client
    from headrace.devtools.kafka_server import running_cluster

    address = servers or os.environ.get("KAFKA")
    if address is None:
        cluster = running_cluster()
        address = cluster.servers if cluster else "localhost:9092"
    return Client(address, parse_pairs(settings, where="--set", example="security.protocol=SASL_SSL"))


def _as_json(cluster: Any) -> dict[str, Any]:
    return {
        "servers": cluster.servers,
        "directory": str(cluster.directory),
        "brokers": [dataclasses.asdict(broker) for broker in cluster.brokers],
    }


def _lines(file: Path | None) -> Iterator[bytes]:
    """Yield the lines as bytes, which may be invalid UTF-8."""
    if file is None:
        yield from map(_line, sys.stdin.buffer)
        return
    try:
        with file.open("rb") as lines:
            yield from map(_line, lines)
    except OSError as error:
        raise OptionError(f"{file} cannot be read: {error.strerror}", where="kafka produce") from error


def _with_keys(
    lines: Iterator[bytes], field: str | None, separator: str | None
) -> Iterator[tuple[str | bytes | None, bytes]]:
    for number, line in enumerate(lines, 1):
        if separator is not None:
            key, separated, value = line.partition(separator.encode())
            yield (key, value) if separated else (None, line)
        elif field is not None:
            yield _field(line, field, number), line
        else:
            yield None, line


def _field(line: bytes, field: str, number: int) -> str | None:
    try:
        value = jsons.loads(line)[field]
    except (ValueError, KeyError, TypeError):
        raise OptionError(
            f"line {number}: expected a JSON object with the field `{field}`, got {_start(line)!r}",
            where="kafka produce",
            hint="leave --key out to send records without a key",
        ) from None
    return None if value is None else value if isinstance(value, str) else jsons.dumps(value)


def _line(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _start(line: bytes) -> str:
    return line.decode(errors="replace")[:60]


def _print(record: Record, json: bool) -> None:
    if json:
        sys.stdout.write(jsons.dumps(dataclasses.asdict(record), ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"{record.value if record.value is not None else ''}\n")
    sys.stdout.flush()


def _show_lag(lags: list[Lag], json: bool) -> None:
    if json:
        show_json([dataclasses.asdict(lag) | {"lag": lag.lag} for lag in lags])
        return
    rows = [(lag.group, lag.topic, lag.partition, lag.offset, lag.end, lag.lag) for lag in lags]
    _table(("group", "topic", "partition", "offset", "end", "lag"), rows)


def _table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    texts = [head, *(tuple(map(str, row)) for row in rows)]
    widths = [max(len(row[place]) for row in texts) for place in range(len(head))]
    for row in texts:
        show("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
