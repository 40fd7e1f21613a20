"""Background threads that report their failures."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.spark.gateway import ConnectionLostError


def start_thread(
    name: str, work: Callable[[], None], *, on_failure: Callable[[BaseException], None]
) -> threading.Thread:
    """Run `work` in a daemon thread; pass its exception to `on_failure`.

    A lost connection to the JVM is ignored: it fails the queries as well, which report it.
    """

    def guard() -> None:
        try:
            work()
        except (ConnectionError, ConnectionLostError):
            return
        except BaseException as error:
            on_failure(error)

    thread = threading.Thread(target=guard, name=f"headrace {name}", daemon=True)
    thread.start()
    return thread
