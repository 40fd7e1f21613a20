"""`headrace kafka topics`, `produce` and `consume`."""

from __future__ import annotations

import dataclasses
import json as jsons
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.commands.kafka.options import From, Servers, Settings, Topic, open_client
from headrace.cli.options import AsJson, flag, parse_pairs
from headrace.cli.terminal.output import print_message, show_json, show_table
from headrace.errors import OptionError
from headrace.runtime.progress.interrupts import Interrupts

if TYPE_CHECKING:
    from headrace.devtools.kafka_records import Record


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
    servers: Servers = None,
    settings: Settings = None,
    json: AsJson = False,
) -> None:
    """List topics; create or delete one.

    For example:

    - `headrace kafka topics --create payments --partitions 8`
    """
    if create and delete:
        raise OptionError("expected --create or --delete, got both", where="kafka topics")
    client = open_client(servers, settings)
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
    rows = [(t.name, str(t.partitions), str(t.replication), str(t.records)) for t in listed]
    show_table(("topic", "partitions", "replication", "offsets"), rows)


def produce(
    topic: Topic,
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
    servers: Servers = None,
    settings: Settings = None,
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
    client = open_client(servers, settings)
    client.require(topic)
    sent = client.produce(topic, _with_keys(_lines(file), key, separator), partition=partition)
    if json:
        show_json({"topic": topic, "records": sent})
    else:
        print_message(f"{sent} records to {topic}", "good")


def consume(
    topic: Topic,
    *,
    start: From = "earliest",
    limit: Annotated[
        int | None, typer.Option("--max", min=1, metavar="N", help="Stop after N records.")
    ] = None,
    follow: Annotated[bool, flag("--follow", "-f", help="Wait for more records, until Ctrl-C.")] = False,
    group: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Read as a member of this group, and commit."),
    ] = None,
    servers: Servers = None,
    settings: Settings = None,
    json: AsJson = False,
) -> None:
    """Print the values of the records of a topic, one per line; with --json all fields.

    Records of aborted transactions are skipped.

    For example:

    - `headrace kafka consume alerts --from -10`
    - `headrace kafka consume alerts --from 2026-03-01T12:00:00Z --follow --json`
    """
    client = open_client(servers, settings)
    with Interrupts() as interrupts:
        records = client.consume(
            topic, start=start, group=group, follow=follow, ended=lambda: interrupts.count > 0
        )
        for seen, record in enumerate(records, 1):
            _print(record, json)
            if seen == limit:
                break


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
