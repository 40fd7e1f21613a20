"""Constructors of the connectors, by their names in documents: `connect.files(path="in/", format="json")`.

Each is an option model; its docstring describes the data, the options and the delivery guarantee. An unknown
or invalid option raises `OptionError` immediately, without Spark.

>>> from headrace import connect
>>> connect.files(path="in/", format="json").kind
'files'
"""

from headrace.connectors.console import Console as console  # noqa: N813
from headrace.connectors.delta import DeltaLake as delta  # noqa: N813
from headrace.connectors.files import Files as files  # noqa: N813
from headrace.connectors.generator import Generator as generator  # noqa: N813
from headrace.connectors.http import Http as http  # noqa: N813
from headrace.connectors.kafka import Kafka as kafka  # noqa: N813
from headrace.connectors.kinesis import Kinesis as kinesis  # noqa: N813
from headrace.connectors.memory import Memory as memory  # noqa: N813
from headrace.connectors.mqtt import Mqtt as mqtt  # noqa: N813
from headrace.connectors.mysql import MySQL as mysql  # noqa: N813
from headrace.connectors.nexmark import Nexmark as nexmark  # noqa: N813
from headrace.connectors.postgres import Postgres as postgres  # noqa: N813
from headrace.connectors.postgres_cdc import PostgresCdc as postgres_cdc  # noqa: N813
from headrace.connectors.rabbitmq import RabbitMQ as rabbitmq  # noqa: N813
from headrace.connectors.redis import Redis as redis  # noqa: N813
from headrace.connectors.smtp import Smtp as smtp  # noqa: N813
from headrace.connectors.socket import Socket as socket  # noqa: N813
from headrace.connectors.sqlite import SQLite as sqlite  # noqa: N813
from headrace.connectors.webhook import Webhook as webhook  # noqa: N813
from headrace.connectors.websocket import WebSocket as websocket  # noqa: N813
from headrace.errors import did_you_mean

__all__ = [
    "console",
    "delta",
    "files",
    "generator",
    "http",
    "kafka",
    "kinesis",
    "memory",
    "mqtt",
    "mysql",
    "nexmark",
    "postgres",
    "postgres_cdc",
    "rabbitmq",
    "redis",
    "smtp",
    "socket",
    "sqlite",
    "webhook",
    "websocket",
]


def __getattr__(name: str) -> object:
    raise AttributeError(f"unknown connector `{name}`: {did_you_mean(name, __all__)}")
