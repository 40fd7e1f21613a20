"""CPU time of the write-ahead log per message: `python -m benchmarks.write_ahead_log [directory of another src]`.

With the sources of another version, runs alternate between that version and this one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

MESSAGES = 100_000
RUNS = 3


def measure() -> None:
    """Append, read and reopen a log; print CPU time per message, and the time to open it."""
    from headrace.connectors.write_ahead_log import Message
    from headrace.connectors.write_ahead_log.log import WriteAheadLog

    body = b'{"sensor": %6d, "value": 21.5, "unit": "celsius", "x": "................"}'
    messages = [Message(body % number, {"topic": "a/b/c"}) for number in range(MESSAGES)]
    with tempfile.TemporaryDirectory() as place:
        log, durable = WriteAheadLog(Path(place)), threading.Event()
        begun = time.process_time()
        for message in messages[:-1]:
            log.submit([message], lambda: None)
        log.submit(messages[-1:], durable.set)
        durable.wait()
        appended = time.process_time()
        size = sum(len(records) for _, records in log.read(0, MESSAGES))
        read = time.process_time()
        log.close()
        opening = time.perf_counter()
        WriteAheadLog(Path(place)).close()
        opened = time.perf_counter() - opening
    per_message = 1e6 / MESSAGES
    print(
        f"append {(appended - begun) * per_message:.2f} µs, read {(read - appended) * per_message:.3f} µs, "
        f"open {opened:.2f} s, {size / MESSAGES:.0f} bytes per record"
    )


def main() -> None:
    """Run the measurement in processes of their own."""
    sources = [*sys.argv[1:], str(Path(__file__).parents[1] / "src")]
    for _ in range(RUNS):
        for source in sources:
            print(f"{source}: ", end="", flush=True)
            command = [sys.executable, "-c", "from benchmarks.write_ahead_log import measure; measure()"]
            path = os.pathsep.join([source, str(Path(__file__).parents[1])])
            subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=True)


if __name__ == "__main__":
    main()
