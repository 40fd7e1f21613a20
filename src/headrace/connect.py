"""Connectors, by the words that documents use: `connect.files(path="in/", format="json")`.

Each is an option model; its docstring tells what it reads and writes and what it promises. An unknown or wrong option
raises `OptionError` at once, without Spark.

>>> from headrace import connect
>>> connect.files(path="in/", format="json").kind
'files'
"""

# Constructors, by the words of documents.
from headrace.connectors.console import Console as console  # noqa: N813
from headrace.connectors.files import Files as files  # noqa: N813
from headrace.connectors.generator import Generator as generator  # noqa: N813
from headrace.connectors.kafka import Kafka as kafka  # noqa: N813
from headrace.connectors.memory import Memory as memory  # noqa: N813
from headrace.connectors.mysql import MySQL as mysql  # noqa: N813
from headrace.connectors.postgres import Postgres as postgres  # noqa: N813
from headrace.connectors.postgres_cdc import PostgresCdc as postgres_cdc  # noqa: N813
from headrace.connectors.socket import Socket as socket  # noqa: N813
from headrace.connectors.sqlite import SQLite as sqlite  # noqa: N813
from headrace.errors import did_you_mean

__all__ = [
    "console",
    "files",
    "generator",
    "kafka",
    "memory",
    "mysql",
    "postgres",
    "postgres_cdc",
    "socket",
    "sqlite",
]


def __getattr__(name: str) -> object:
    raise AttributeError(f"unknown connector `{name}`: {did_you_mean(name, __all__)}")
