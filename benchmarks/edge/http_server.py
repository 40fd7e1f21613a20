"""A server process of the HTTP case: `python -m benchmarks.edge.http_server plain|headrace PORT DIRECTORY`."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from headrace import connect
from headrace.connectors.base import ReadContext
from headrace.connectors.http.push import PushReceiver
from headrace.connectors.write_ahead_log.log import WriteAheadLog

HOST = "127.0.0.1"


def serve_headrace(port: int, directory: Path) -> None:
    """Serve the endpoint of a source until standard input ends."""
    source = connect.http(listen=f"{HOST}:{port}", path="/events")
    receiver = PushReceiver(source, ReadContext("bench", "rows", None, None, str(directory)))
    receiver.start(WriteAheadLog(directory / "log"))
    sys.stdin.read()


def serve_by_hand(port: int, directory: Path) -> None:
    """Serve a plain endpoint."""
    import uvicorn
    from fastapi import FastAPI

    directory.mkdir(parents=True, exist_ok=True)
    app, lock, file = FastAPI(), threading.Lock(), (directory / "rows.jsonl").open("ab", buffering=0)

    @app.post("/events", status_code=202)
    def events(rows: list[dict[str, Any]]) -> dict[str, int]:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        with lock:
            file.write(lines.encode())
            os.fdatasync(file.fileno())
        return {"rows": len(rows)}

    uvicorn.run(app, host=HOST, port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    kind, port, directory = sys.argv[1:]
    serve = {"plain": serve_by_hand, "headrace": serve_headrace}[kind]
    serve(int(port), Path(directory))
