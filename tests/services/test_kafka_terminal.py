"""`headrace kafka` against a real broker, and what Kafka itself promises to those who use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from typer.testing import CliRunner, Result

from headrace.cli.app import app
from headrace.devtools import kafka_server
from headrace.devtools.kafka_client import Client
from headrace.errors import HeadraceError, OptionError, SetupError, SourceError
from tests.support.waiting import TIMEOUT

Topic = Callable[..., str]


def call(client: Client, *arguments: str, stdin: str = "") -> str:
    """Return the standard output of a command."""
    return invoke(client, *arguments, stdin=stdin).stdout


def invoke(client: Client, *arguments: str, stdin: str = "") -> Result:
    done = CliRunner().invoke(app, ["kafka", *arguments, "--servers", client.servers], input=stdin)
    if done.exception is not None:
        raise done.exception
    return done


def test_topics_are_created_listed_and_deleted(client: Client) -> None:
    call(client, "topics", "--create", "made-here", "--partitions", "2", "--config", "retention.ms=60000")
    assert ["made-here", "2", "1", "0"] in [line.split() for line in call(client, "topics").splitlines()]
    listed = json.loads(call(client, "topics", "--json"))
    assert {"name": "made-here", "partitions": 2, "replication": 1, "records": 0} in listed
    with pytest.raises(
        OptionError, match="kafka topics: topic `made-here`: Topic 'made-here' already exists"
    ):
        call(client, "topics", "--create", "made-here")
    call(client, "topics", "--delete", "made-here")
    with pytest.raises(OptionError, match=r"kafka: unknown topic `made-here` at .*\n  hint: "):
        call(client, "consume", "made-here")
    with pytest.raises(
        OptionError, match=r"--config: expected KEY=VALUE, got 'x'\n  hint: such as retention.ms=3600000"
    ):
        call(client, "topics", "--create", "t", "--config", "x")
    with pytest.raises(OptionError, match="kafka topics: expected --create or --delete, got both"):
        call(client, "topics", "--create", "t", "--delete", "u")


def test_topics_are_filled_with_the_events_of_nexmark(client: Client) -> None:
    arguments = ["nexmark", "--events", "500", "--prefix", "nx-", "--partitions", "2"]
    filled = json.loads(call(client, *arguments, "--json"))
    assert filled == {"events": 500, "records": {"nx-person": 10, "nx-auction": 30, "nx-bid": 460}}
    bids = [json.loads(line) for line in call(client, "consume", "nx-bid").splitlines()]
    assert len(bids) == 460
    assert {*bids[0]} == {"auction", "bidder", "price", "channel", "url", "date_time", "extra"}
    again = invoke(client, *arguments).stderr
    assert (
        again.splitlines()[-1] == "10 records to nx-person, 30 records to nx-auction, 460 records to nx-bid"
    )
    assert len(call(client, "consume", "nx-bid").splitlines()) == 920


def test_events_of_nexmark_are_in_order_of_time_in_each_partition(client: Client) -> None:
    call(client, "nexmark", "--events", "10000", "--prefix", "ordered-", "--partitions", "2")
    records = [json.loads(line) for line in call(client, "consume", "ordered-bid", "--json").splitlines()]
    assert len(records) == 9200
    for partition in (0, 1):
        bids = sorted(
            (r["offset"], json.loads(r["value"])["date_time"]) for r in records if r["partition"] == partition
        )
        assert bids
        times = [time for _, time in bids]
        assert times == sorted(times)


def test_lines_go_in_with_a_key_and_come_out_again(client: Client, topic: Topic, tmp_path: Path) -> None:
    name = topic(partitions=3)
    lines = [json.dumps({"card": f"c{n % 3}", "n": n}) for n in range(9)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    assert (
        json.loads(call(client, "produce", name, str(tmp_path / "in.jsonl"), "--key", "card", "--json"))[
            "records"
        ]
        == 9
    )
    call(client, "produce", name, "--separator", ":", stdin="c1:last\nnokey\n")
    records = [json.loads(line) for line in call(client, "consume", name, "--json").splitlines()]
    assert sorted(r["value"] for r in records) == sorted([*lines, "last", "nokey"])
    by_key = {key: [r for r in records if r["key"] == key] for key in ("c0", "c1", "c2")}
    assert all(len({r["partition"] for r in actual}) == 1 for actual in by_key.values())
    assert [r["value"] for r in by_key["c1"]] == [
        lines[1],
        lines[4],
        lines[7],
        "last",
    ]  # order within a partition
    with pytest.raises(
        OptionError, match=r"kafka produce: line 1: expected a JSON object with the field `card`, got 'x'"
    ):
        call(client, "produce", name, "--key", "card", stdin="x\n")
    with pytest.raises(OptionError, match=r"kafka produce: /not/there cannot be read: No such file"):
        call(client, "produce", name, "/not/there")
    with pytest.raises(OptionError, match=r"kafka: expected a partition of `.*`, from 0 to 2, got 7"):
        call(client, "produce", name, "--partition", "7", stdin="x\n")
    for words, got in (
        (["--separator", ""], "an empty --separator"),
        (["--separator", ":", "--key", "k"], "both"),
    ):
        with pytest.raises(OptionError, match=f"kafka produce: expected --key or --separator, got {got}"):
            call(client, "produce", name, *words, stdin="x\n")


def test_bytes_that_are_no_text_are_sent_as_they_are(client: Client, topic: Topic, tmp_path: Path) -> None:
    name = topic()
    (tmp_path / "in").write_bytes(b"\xff\xfe:\x80\r\nk:\n")
    call(client, "produce", name, str(tmp_path / "in"), "--separator", ":")
    item = member(client, "bytes", name)
    actual = messages(item, 2)
    item.close()
    assert [(message.key(), message.value()) for message in actual] == [(b"\xff\xfe", b"\x80"), (b"k", b"")]
    assert call(client, "consume", name) == "\N{REPLACEMENT CHARACTER}\n\n"


def test_a_place_is_an_end_an_offset_or_a_time(client: Client, topic: Topic) -> None:
    name = topic("a", "b", "c")

    def start(place: str, *more: str) -> list[str]:
        return call(client, "consume", name, "--from", place, *more).split()

    assert (start("earliest"), start("latest"), start("1"), start("-1")) == (
        ["a", "b", "c"],
        [],
        ["b", "c"],
        ["c"],
    )
    assert (start("2000-01-01"), start("2100-01-01T00:00:00Z")) == (["a", "b", "c"], [])
    assert start("earliest", "--max", "2") == ["a", "b"]
    for wrong in ("noon", "--5"):
        with pytest.raises(
            OptionError, match=f"--from: expected earliest, latest, an offset or a time, got '{wrong}'"
        ):
            list(client.consume(name, start=wrong))
    assert (start("3"), start("-9")) == ([], ["a", "b", "c"])
    behind = rf"--from: expected an offset of `{name}`, which ends at 3, got 4\n  hint: `latest` is its end"
    with pytest.raises(OptionError, match=behind):
        start("4")
    with pytest.raises(OptionError, match=behind):
        client.replay("nobody", name, "4")
    with pytest.raises(
        OptionError,
        match=rf"--from: expected earliest or latest for a group, got '1'\n  hint: .* replay new {name} "
        r"--from 1",
    ):
        start("1", "--group", "new")


def test_ctrl_c_ends_a_reader_that_nothing_comes_to(client: Client, topic: Topic) -> None:
    name = topic("a")
    command = [sys.executable, "-m", "headrace.cli.app", "kafka", "consume", name, "--follow"]
    command += ["--servers", client.servers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "a\n"
        reader.send_signal(signal.SIGINT)
        assert reader.wait(timeout=TIMEOUT) == 0


def test_a_setting_that_there_is_not_is_reported(client: Client) -> None:
    with pytest.raises(
        OptionError, match=r'kafka: invalid settings: No such configuration property: "colour"'
    ):
        call(client, "topics", "--set", "colour=red")


def test_members_of_a_group_share_the_partitions_and_every_group_gets_everything(
    client: Client, topic: Topic
) -> None:
    name = topic(partitions=4)
    pair = [member(client, "sharing", name) for _ in range(2)]
    alone = member(client, "alone", name)
    settle(pair, lambda: all(len(item.assignment()) == 2 for item in pair))
    for number in range(4):
        client.produce(name, [(None, f"{number}-{n}") for n in range(3)], partition=number)
    shares = [read_values(item, 6) for item in pair]
    assert sorted(shares[0] + shares[1]) == sorted(read_values(alone, 12))
    assert set(shares[0]).isdisjoint(shares[1])
    for item in (*pair, alone):
        item.commit(asynchronous=False)
        item.close()
    assert sum(item.lag for item in client.lag("sharing")) == 0


def test_a_group_is_moved_by_offset_and_by_time_and_reads_again(client: Client, topic: Topic) -> None:
    name = topic("a", "b", "c")
    item = member(client, "again", name)
    assert read_values(item, 3) == ["a", "b", "c"]
    item.commit(asynchronous=False)
    with pytest.raises(
        OptionError, match=r"kafka replay: group `again` cannot be moved: .*\n  hint: stop its members first"
    ):
        call(client, "replay", "again", name, "--from", "1")
    item.close()
    assert call(client, "lag", "again").split()[-3:] == ["3", "3", "0"]
    call(client, "replay", "again", name, "--from", "1")
    assert [item.lag for item in client.lag("again")] == [2]
    assert json.loads(call(client, "replay", "again", name, "--from", "2000-01-01", "--json"))[0]["lag"] == 3
    assert call(client, "consume", name, "--group", "again").split() == ["a", "b", "c"]
    assert call(client, "replay", "again", name, "--from", "latest").split()[-1] == "0"
    with pytest.raises(
        OptionError, match=r"kafka lag: unknown group `agian` at .*\n  hint: did you mean `again`"
    ):
        client.lag("agian")


def test_replay_of_a_pipelines_group_prints_a_warning(client: Client, topic: Topic) -> None:
    from confluent_kafka import TopicPartition

    name = topic("a", "b")
    item = member(client, "fraud.tx", name)
    assert read_values(item, 2) == ["a", "b"]
    item.commit(offsets=[TopicPartition(name, 0, 2, "headrace")], asynchronous=False)
    item.close()
    result = invoke(client, "replay", "fraud.tx", name, "--from", "earliest")
    assert "warning: `fraud.tx` is the group of a pipeline" in result.stderr
    assert "warning" not in invoke(client, "replay", "fraud.tx", name, "--from", "latest").stderr


def test_a_server_that_is_away_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.devtools.kafka_client.TIMEOUT", 1.0)
    with pytest.raises(
        SourceError,
        match=r"kafka: no Kafka server answers at 127\.0\.0\.1:1: .*\n  hint: check that it is running",
    ):
        Client("127.0.0.1:1")


def test_a_broker_is_refused_a_port_that_is_taken_and_a_directory_in_use(
    broker: kafka_server.Cluster, tmp_path: Path
) -> None:
    port = broker.brokers[0].port
    with pytest.raises(
        SetupError, match=rf"kafka up: port {port} cannot be used: .*\n  hint: take another with --port"
    ):
        kafka_server.start(tmp_path, port=port)
    with pytest.raises(
        SetupError, match=r"kafka up: a Kafka cluster is already running in .*, at 127\.0\.0\.1:\d+"
    ):
        kafka_server.start(broker.directory)
    with pytest.raises(
        HeadraceError, match=r"kafka down: no Kafka is running in .*\n  hint: if it uses another directory"
    ):
        call_bare("down", "--dir", str(tmp_path))


def test_a_broker_that_cannot_start_reports_the_reason(tmp_path: Path) -> None:
    with pytest.raises(
        SetupError, match=r"kafka up: .* cannot be formatted as a Kafka directory: .*num\.partitions"
    ):
        kafka_server.start(tmp_path, port=0, settings={"num.partitions": "many"})
    (tmp_path / "node-1" / "data").mkdir(parents=True)
    (tmp_path / "node-1" / "data" / "meta.properties").write_text("version=9\n")
    with pytest.raises(
        SetupError, match=r"kafka up: broker 1 did not start: .*\n  hint: its log has more: .*server\.log"
    ):
        kafka_server.start(tmp_path, port=0)


def test_records_that_are_not_written_are_reported(
    client: Client, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = topic(**{"max.message.bytes": "200"})
    with pytest.raises(
        SourceError, match=rf"kafka: 1 of 1 records were not written to `{name}`: .*size too large"
    ):
        client.produce(name, [("k", "v" * 1000)])
    monkeypatch.setitem(sys.modules, "confluent_kafka.admin", None)
    with pytest.raises(
        SetupError,
        match=r"kafka: confluent-kafka cannot be imported: .*\n  hint: pip install 'headrace\[kafka\]'",
    ):
        Client(client.servers)


def test_up_runs_in_the_foreground_until_ctrl_c_and_keeps_its_data(
    broker: kafka_server.Cluster, tmp_path: Path
) -> None:
    command = [
        sys.executable,
        "-m",
        "headrace.cli.app",
        "kafka",
        "up",
        "--port",
        "0",
        "--dir",
        str(tmp_path),
        "--json",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    text = ""
    while not text.endswith("\n}\n"):
        text += (line := process.stdout.readline())
        assert line, process.communicate()
    actual = json.loads(text)
    Client(actual["servers"]).create("kept", partitions=1)
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, talk
    assert "Ctrl-C stops it\nstopping\n" in talk
    assert kafka_server.running_cluster(tmp_path) is None
    assert (tmp_path / "node-1" / "data" / "kept-0").is_dir()
    with pytest.raises(ProcessLookupError):
        os.kill(actual["brokers"][0]["pid"], 0)


def call_bare(*arguments: str) -> None:
    done = CliRunner().invoke(app, ["kafka", *arguments])
    if done.exception is not None:
        raise done.exception


def member(client: Client, group: str, topic: str) -> Any:
    """A consumer in a group, as anybody's program would have."""
    item = Consumer(
        {
            "bootstrap.servers": client.servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    item.subscribe([topic])
    return item


def settle(members: Iterable[Any], holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not holds():
        assert time.monotonic() < deadline, "the group didn't settle"
        for item in members:
            item.poll(0.05)


def read_values(item: Any, count: int) -> list[str]:
    """The values of so many records that a member gets."""
    return [message.value().decode() for message in messages(item, count)]


def messages(item: Any, count: int) -> list[Any]:
    """So many records that a member gets, however long the group takes to give it a share."""
    actual: list[Any] = []
    deadline = time.monotonic() + TIMEOUT
    while len(actual) < count:
        assert time.monotonic() < deadline, f"expected {count} records, got {actual}"
        message = item.poll(0.5)
        if message is not None and message.error() is None:
            actual.append(message)
    return actual
