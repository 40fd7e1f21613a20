"""A paused job at full rate: the memory and disk of an MQTT source whose query reads nothing.

Messages of 1 KB are published at QoS 1 as fast as the broker accepts them; those that the source does not
receive in time are dropped by the broker. The source runs in a process of its own, once with
`overflow="drop_oldest"`, which receives all the time, and once with `backpressure`, which stops at the limit
of its log. Fails if the log exceeds its limit, or if memory still grows in the second half of the pause.
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.devtools import mosquitto

LIMIT = 32 << 20
"""The limit of the log, in bytes."""
GROWTH = 16 << 20
"""The growth of memory in the second half of the pause that counts as noise."""
PAYLOAD = b"." * 1000
_BURST = 200
_MB = 1 << 20


def measure_pause(directory: Path, seconds: float) -> None:
    """Print the largest memory and disk use of a paused source, for both ways to handle a full log."""
    for overflow in ("drop_oldest", "backpressure"):
        # The broker holds a bounded number of messages for a client that is too slow.
        settings = {"persistence": "false", "max_inflight_messages": "1000", "max_queued_messages": "10000"}
        broker = mosquitto.start(directory / f"{overflow}-broker", port=0, settings=settings)
        try:
            with source_process(broker.url, directory / overflow, overflow) as process:
                flood(broker.port, seconds)
                output, _ = process.communicate()  # closes its standard input
        finally:
            broker.stop()
        report(overflow, seconds, json.loads(output))


def report(overflow: str, seconds: float, result: dict[str, Any]) -> None:
    """Print the figures of a source process, and check them."""
    samples = result["samples"]
    disk = max(size for size, _ in samples)
    memory = [size for _, size in samples]
    half = len(memory) // 2
    start, first, second = memory[0], max(memory[:half]), max(memory[half:])
    print(
        f"{overflow}, paused for {seconds:g} s: {result['received']:,} messages received "
        f"({result['received'] / seconds:,.0f}/s), {result['dropped']:,} dropped; at most {disk / _MB:.0f} of "
        f"{LIMIT // _MB} MB on disk; memory {start // _MB} MB at the start, at most {first // _MB} MB in the "
        f"first half and {second // _MB} MB in the second"
    )
    assert disk <= LIMIT, "the log is larger than its limit"
    assert second - first <= GROWTH, "memory grows while the job is paused"


@contextmanager
def source_process(url: str, directory: Path, overflow: str) -> Iterator[subprocess.Popen[str]]:
    """Run a source inside the block; it prints a line when it receives, and its figures at the end."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.edge.paused_source",
        url,
        str(directory),
        overflow,
        str(LIMIT),
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def flood(port: int, seconds: float) -> None:
    """Publish at QoS 1 without a client library, which would limit the rate; acknowledgements are discarded."""
    connect_packet = b"\x10\x11\x00\x04MQTT\x04\x02\x00\x3c\x00\x05flood"
    burst = b"".join(map(_publish_packet, range(1, _BURST + 1)))
    with socket.create_connection((mosquitto.HOST, port), timeout=60) as connection:
        connection.sendall(connect_packet)
        answers = connection.makefile("rb")
        assert answers.read(4)[3] == 0, "the broker refuses the connection"
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            connection.sendall(burst)
            answers.read(4 * _BURST)


def _publish_packet(packet_id: int) -> bytes:
    topic = b"bench/1/temperature"
    content = struct.pack("!H", len(topic)) + topic + struct.pack("!H", packet_id) + PAYLOAD
    return bytes((0x32, len(content) % 128 | 0x80, len(content) // 128)) + content
