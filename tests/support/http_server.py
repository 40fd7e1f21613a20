"""An ASGI application on a free port of this machine, served by a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from headrace.devtools.ports import free_ports
from tests.support.waiting import wait_until


@contextmanager
def serving(app: Any, port: int = 0) -> Iterator[str]:
    """Serve inside the block; yields the URL."""
    port = port or free_ports(1)[0]
    settings = uvicorn.Config(
        app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1, ws="none"
    )
    with running(uvicorn.Server(settings)) as url:
        yield url


@contextmanager
def running(server: uvicorn.Server) -> Iterator[str]:
    """Run a server inside the block; yields the URL on this machine."""
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive())
    assert server.started
    try:
        yield f"http://127.0.0.1:{server.config.port}"
    finally:
        server.should_exit = True
        thread.join()
