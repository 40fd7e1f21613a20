"""Messages that arrive over MQTT and HTTP: through Headrace's receivers, and by plain scripts.

All contenders acknowledge what is durable: a message or request is answered after an fsync that covers it.

*MQTT*: the broker holds the messages in persistent sessions, one per run; a run connects and ends when all
messages are acknowledged. The plain script uses paho, writes payloads to a file and acknowledges groups.

*HTTP*: clients post batches of 100 rows over several connections to a server process. The plain endpoint uses
FastAPI, writes the rows to a file, and answers after fsync.

*Paused*: an MQTT source whose query reads nothing, at full rate, with a log of 32 MB that drops the oldest
messages; memory and disk must stay bounded.

`python -m benchmarks edge --messages 50000 --rows 100000 --runs 3 --pause 10`
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from benchmarks.harness import Measured, compare
from headrace import connect
from headrace.connectors.base import ReadContext
from headrace.connectors.http.push import PushReceiver
from headrace.connectors.mqtt.receiver import MqttReceiver
from headrace.connectors.write_ahead_log.log import LogSettings, WriteAheadLog
from headrace.devtools import mosquitto
from headrace.devtools.ports import free_ports

TOPIC = "bench/1/temperature"
BATCH = 100
CONNECTIONS = 8
WARM_UP = 1
PLAIN_MQTT, PLAIN_HTTP, OURS = "paho by hand", "FastAPI by hand", "Headrace"


def main() -> None:
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pause", type=float, default=10, help="seconds; 0 for none")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.serve:
        return serve(*words.serve)
    with tempfile.TemporaryDirectory(prefix="headrace-edge-") as place:
        measure_mqtt(Path(place), words.messages, words.runs)
        measure_http(Path(place), words.rows, words.runs)
        if words.pause:
            measure_pause(Path(place), words.pause)
    return None


def measure_mqtt(place: Path, messages: int, runs: int) -> list[Measured]:
    """Receive messages at QoS 1 that wait in the sessions of a broker."""
    settings = {"max_inflight_messages": "0", "persistence": "false"}
    broker = mosquitto.start(place / "broker", port=0, settings=settings)
    sessions = {name: [f"{name}-{run}" for run in range(runs + WARM_UP)] for name in ("paho", "ours")}
    try:
        for client_id in (*sessions["paho"], *sessions["ours"]):
            _subscribe(broker, client_id)
        publish(broker, messages)

        def plain() -> None:
            receive_by_hand(broker, sessions["paho"].pop(), place, messages)

        def ours() -> None:
            receive_through_headrace(broker, sessions["ours"].pop(), place, messages)

        contenders = {PLAIN_MQTT: plain, OURS: ours}
        return compare("MQTT in at QoS 1", contenders, rows=messages, runs=runs, warm_up=WARM_UP)
    finally:
        broker.stop()


def publish(broker: mosquitto.Broker, messages: int) -> None:
    """Publish readings at QoS 1."""
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
    client.max_inflight_messages_set(0)  # with a limit, paho searches all messages for each answer
    client.connect(mosquitto.HOST, broker.port)
    client.loop_start()
    for first in range(0, messages, 10_000):
        numbers = range(first, min(first + 10_000, messages))
        for info in [client.publish(TOPIC, json.dumps({"id": n, "celsius": 21.5}), 1) for n in numbers]:
            info.wait_for_publish()
    client.disconnect()
    client.loop_stop()


def _subscribe(broker: mosquitto.Broker, client_id: str) -> None:
    source = connect.mqtt(url=broker.url, topics=["bench/+/temperature"], client_id=client_id)
    with tempfile.TemporaryDirectory() as place:
        log = WriteAheadLog(Path(place) / "log")
        receiver = MqttReceiver(source, ReadContext("bench", "rows", None, None, place))
        receiver.start(log)
        receiver.stop()
        log.close()


def receive_by_hand(broker: mosquitto.Broker, client_id: str, place: Path, messages: int) -> None:
    """Receive as a user of paho does: write and sync the messages that are waiting, then acknowledge them."""
    waiting: queue.SimpleQueue[paho.MQTTMessage] = queue.SimpleQueue()
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id, protocol=paho.MQTTv5, manual_ack=True)
    client.on_message = lambda _, __, message: waiting.put(message)
    client.connect(mosquitto.HOST, broker.port, clean_start=False)
    client.loop_start()
    stored = 0
    with (place / f"{client_id}.log").open("wb") as file:
        while stored < messages:
            group = [waiting.get()]
            with suppress(queue.Empty):
                while True:
                    group.append(waiting.get_nowait())
            file.write(b"".join(message.payload + b"\n" for message in group))
            file.flush()
            os.fsync(file.fileno())
            for message in group:
                client.ack(message.mid, message.qos)
            stored += len(group)
    client.disconnect()
    client.loop_stop()


def receive_through_headrace(broker: mosquitto.Broker, client_id: str, place: Path, messages: int) -> None:
    """Receive with the source's receiver and its write-ahead log."""
    source = connect.mqtt(url=broker.url, topics=["bench/+/temperature"], client_id=client_id)
    directory = place / client_id
    log = WriteAheadLog(directory / "log")
    receiver = MqttReceiver(source, ReadContext("bench", "rows", None, None, str(directory)))
    (directory / "subscriptions.json").write_text('["bench/+/temperature"]')
    receiver.start(log)
    while log.end < messages:
        time.sleep(0.01)
    receiver.stop()
    log.close()


def measure_http(place: Path, rows: int, runs: int) -> list[Measured]:
    """Post batches to a plain endpoint and to a source."""
    with serving("plain", place) as plain, serving("headrace", place) as ours:
        contenders = {PLAIN_HTTP: lambda: post(plain, rows), OURS: lambda: post(ours, rows)}
        return compare("HTTP push in batches of 100", contenders, rows=rows, runs=runs, warm_up=WARM_UP)


@contextmanager
def serving(kind: str, place: Path) -> Iterator[int]:
    """Run a server in a process; yields its port."""
    port = free_ports(1)[0]
    words = [sys.executable, "-m", "benchmarks.edge", "--serve", kind, str(port), str(place / kind)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def serve(kind: str, port: str, directory: str) -> None:
    """Serve until the process is killed."""
    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    if kind == "headrace":
        source = connect.http(listen=f"127.0.0.1:{port}", path="/events")
        receiver = PushReceiver(source, ReadContext("bench", "rows", None, None, directory))
        receiver.start(WriteAheadLog(place / "log"))
        sys.stdin.read()
    else:
        _serve_by_hand(int(port), place / "rows.jsonl")


def _serve_by_hand(port: int, path: Path) -> None:
    import uvicorn
    from fastapi import FastAPI

    app, lock, file = FastAPI(), threading.Lock(), path.open("ab")

    @app.post("/events", status_code=202)
    def events(rows: list[dict[str, Any]]) -> dict[str, int]:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        with lock:
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())
        return {"rows": len(rows)}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


def post(port: int, rows: int) -> None:
    """Post rows over several connections."""
    share = rows // BATCH // CONNECTIONS
    body = json.dumps([{"id": number, "celsius": 21.5} for number in range(BATCH)]).encode()
    head = f"POST /events HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                for _ in range(share):
                    connection.sendall(head.encode() + body)
                    answer = connection.recv(4096)
                    while b"}" not in answer:
                        answer += connection.recv(4096)
                    assert b" 202 " in answer, answer
        except BaseException as error:
            failures.append(error)

    _in_threads(work, CONNECTIONS)
    if failures:
        raise failures[0]


def _in_threads(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure_pause(place: Path, seconds: float) -> None:
    """Print the memory and disk that a source uses whose query is paused while messages arrive."""
    limit = 32 << 20
    broker = mosquitto.start(place / "paused", port=0, settings={"persistence": "false"})
    log = WriteAheadLog(place / "paused-log", LogSettings(limit=limit, overflow="drop_oldest"))
    source = connect.mqtt(url=broker.url, topics=["bench/#"], client_id="paused")
    receiver = MqttReceiver(source, ReadContext("bench", "rows", None, None, str(place / "paused-source")))
    receiver.start(log)
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
    client.max_inflight_messages_set(0)
    client.connect(mosquitto.HOST, broker.port)
    client.loop_start()
    before, largest = _memory(), 0
    deadline, payload = time.monotonic() + seconds, b'{"padding": "%s"}' % (b"." * 1000)
    while time.monotonic() < deadline:
        for info in [client.publish(TOPIC, payload, 1) for _ in range(500)]:
            info.wait_for_publish()
        largest = max(largest, sum(path.stat().st_size for path in (place / "paused-log").glob("*.log")))
    client.disconnect()
    client.loop_stop()
    receiver.stop()
    counters = log.counters
    log.close()
    broker.stop()
    growth = _memory() - before
    print(
        f"paused for {seconds:g} s: {counters.received:,} messages, {largest >> 20} MB of at most "
        f"{limit >> 20} MB on disk, memory grew by {growth >> 20} MB, {counters.dropped_oldest:,} dropped"
    )
    assert largest <= limit, "the log is larger than its limit"


def _memory() -> int:
    """Return the largest memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
