"""A server with the interface of Kinesis (moto) for tests, on a free port."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from tests.support.servers import WAIT, free_port


@dataclass(frozen=True)
class KinesisServer:
    """A running server."""

    endpoint: str

    def client(self) -> Any:
        import boto3

        return boto3.client("kinesis", region_name="eu-north-1", endpoint_url=self.endpoint)

    def create(self, stream: str, shards: int = 2) -> None:
        client = self.client()
        client.create_stream(StreamName=stream, ShardCount=shards)
        client.get_waiter("stream_exists").wait(StreamName=stream, WaiterConfig={"Delay": 1})

    def put(self, stream: str, records: list[tuple[str, bytes]]) -> None:
        entries = [{"PartitionKey": key, "Data": value} for key, value in records]
        self.client().put_records(StreamName=stream, Records=entries)

    def values(self, stream: str) -> list[bytes]:
        """Return all records, shard by shard."""
        client, values = self.client(), []
        for shard in client.list_shards(StreamName=stream)["Shards"]:
            iterator = client.get_shard_iterator(
                StreamName=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            values += [record["Data"] for record in client.get_records(ShardIterator=iterator)["Records"]]
        return values


@contextmanager
def running_kinesis() -> Iterator[KinesisServer]:
    """Run a server for the block."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = KinesisServer(f"http://127.0.0.1:{port}")
    try:
        _wait(server.endpoint, process)
        yield server
    finally:
        process.kill()
        process.wait()


def _wait(endpoint: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + WAIT
    while True:
        try:
            with urlopen(f"{endpoint}/moto-api/", timeout=5):
                return
        except (URLError, OSError):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the Kinesis server does not start") from None
            time.sleep(0.1)
