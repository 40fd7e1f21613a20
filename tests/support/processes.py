"""Processes that tests kill: forked from one that has imported the modules, so that they start quickly."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from tests.support.waiting import TIMEOUT

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "__main__",
        "tests.support.receiving",
        "tests.support.sending",
        "headrace.connectors.http.push",
        "headrace.connectors.mqtt.receiver",
        "headrace.connectors.mqtt.sink",
        "headrace.connectors.rabbitmq.receiver",
        "headrace.connectors.rabbitmq.sink",
        "headrace.connectors.smtp.sink",
        "headrace.connectors.webhook.sink",
    ]
)


def start_process(work: Callable[..., None], *words: Any) -> BaseProcess:
    """Start a process that calls a function, and return once it has sent a message over its first argument.

    Raises:
        EOFError: the process ended before.
    """
    answers, sender = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=work, args=(sender, *words), daemon=True)
    process.start()
    sender.close()
    with answers:
        assert answers.poll(TIMEOUT), "the process doesn't answer"
        answers.recv()
    return process


def report_ready(sender: Connection) -> None:
    """Let `start_process` return."""
    sender.send(True)
    sender.close()
