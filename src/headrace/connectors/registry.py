"""Which connectors there are: ours by module, others' by the entry point `headrace.connectors`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from headrace.connectors.base import Connector
from headrace.errors import OptionError, did_you_mean

_OURS = {
    "console": "headrace.connectors.console:Console",
    "files": "headrace.connectors.files:Files",
    "generator": "headrace.connectors.generator:Generator",
    "kafka": "headrace.connectors.kafka:Kafka",
    "memory": "headrace.connectors.memory:Memory",
    "mysql": "headrace.connectors.mysql:MySQL",
    "postgres": "headrace.connectors.postgres:Postgres",
    "postgres_cdc": "headrace.connectors.postgres_cdc:PostgresCdc",
    "socket": "headrace.connectors.socket:Socket",
    "sqlite": "headrace.connectors.sqlite:SQLite",
}


@cache
def kinds() -> tuple[str, ...]:
    """The known words, sorted."""
    return tuple(sorted({*_OURS, *(point.name for point in entry_points(group="headrace.connectors"))}))


def ours() -> tuple[str, ...]:
    """The words of the connectors that come with Headrace, sorted."""
    return tuple(sorted(_OURS))


@cache
def connector(kind: str) -> type[Connector]:
    """The option model behind a word of a document.

    Raises:
        OptionError: no connector has that name; the nearest ones are listed.
    """
    if kind not in kinds():
        raise OptionError(f"there is no connector `{kind}`", hint=did_you_mean(kind, kinds()))
    if kind not in _OURS:
        point = next(iter(entry_points(group="headrace.connectors", name=kind)))
        return point.load()  # type: ignore[no-any-return]
    module, name = _OURS[kind].split(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]
