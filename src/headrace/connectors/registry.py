"""The installed connectors: the built-in ones, and those of the entry point `headrace.connectors`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from headrace.connectors.base import Connector
from headrace.errors import OptionError, did_you_mean

_BUILT_IN = {
    "console": "headrace.connectors.console:Console",
    "delta": "headrace.connectors.delta:DeltaLake",
    "files": "headrace.connectors.files:Files",
    "generator": "headrace.connectors.generator:Generator",
    "http": "headrace.connectors.http:Http",
    "kafka": "headrace.connectors.kafka:Kafka",
    "kinesis": "headrace.connectors.kinesis:Kinesis",
    "memory": "headrace.connectors.memory:Memory",
    "mqtt": "headrace.connectors.mqtt:Mqtt",
    "mysql": "headrace.connectors.mysql:MySQL",
    "nexmark": "headrace.connectors.nexmark:Nexmark",
    "postgres": "headrace.connectors.postgres:Postgres",
    "postgres_cdc": "headrace.connectors.postgres_cdc:PostgresCdc",
    "rabbitmq": "headrace.connectors.rabbitmq:RabbitMQ",
    "redis": "headrace.connectors.redis:Redis",
    "smtp": "headrace.connectors.smtp:Smtp",
    "socket": "headrace.connectors.socket:Socket",
    "sqlite": "headrace.connectors.sqlite:SQLite",
    "webhook": "headrace.connectors.webhook:Webhook",
    "websocket": "headrace.connectors.websocket:WebSocket",
}


@cache
def kinds() -> tuple[str, ...]:
    """Return the names of all connectors, sorted."""
    return tuple(sorted({*_BUILT_IN, *(point.name for point in entry_points(group="headrace.connectors"))}))


def built_in() -> tuple[str, ...]:
    """Return the names of the built-in connectors, sorted."""
    return tuple(sorted(_BUILT_IN))


@cache
def connector(kind: str) -> type[Connector]:
    """Return the option model of a connector.

    Raises:
        OptionError: there is no such connector; the hint has near names.
    """
    if kind not in kinds():
        raise OptionError(f"unknown connector `{kind}`", hint=did_you_mean(kind, kinds()))
    if kind not in _BUILT_IN:
        point = next(iter(entry_points(group="headrace.connectors", name=kind)))
        return point.load()  # type: ignore[no-any-return]
    module, name = _BUILT_IN[kind].split(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]
