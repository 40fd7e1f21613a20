"""Reads hashes or JSON values by key: all keys of an Arrow batch in one round trip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from headrace.connectors.lookups import Key, LookupContext, Values
from headrace.connectors.network.lookup_values import cast_expressions, check_key_template, json_text
from headrace.connectors.redis.server import RedisServer, decode_text
from headrace.connectors.templates import template_format
from headrace.errors import SourceError

if TYPE_CHECKING:
    from headrace.connectors.redis import Redis


@dataclass(frozen=True)
class RedisTable:
    """Values whose keys are computed from the key columns."""

    server: RedisServer
    template: str
    on: tuple[str, ...]
    columns: Mapping[str, str]
    retry_timeout: float
    as_json: bool

    @property
    def address(self) -> str:
        return f"`{self.template}` of {self.server.address}"

    def connect(self) -> RedisKeyReader:
        return RedisKeyReader(self, self.server.connect())

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        return self.server.translate_error(error)

    def is_unavailable(self, error: Exception) -> bool:
        return self.server.is_unavailable(error)


class RedisKeyReader:
    """A connection that reads values by key."""

    def __init__(self, table: RedisTable, client: Any) -> None:
        self._table, self._client = table, client

    def rows(self, keys: Sequence[Key]) -> Mapping[Key, Sequence[Values]]:
        table = self._table
        name = template_format(table.template, table.on).format
        names = [name(*key) for key in keys]
        values = self._json(names) if table.as_json else self._hashes(names)
        return {key: [row] for key, row in zip(keys, values, strict=True) if row is not None}

    def close(self) -> None:
        self._client.close()

    def _hashes(self, names: Sequence[str]) -> list[Values | None]:
        with self._client.pipeline(transaction=False) as pipeline:
            for name in names:
                pipeline.hgetall(name)
            replies = pipeline.execute()
        fields = [name.encode() for name in self._table.columns]
        return [tuple(map(decode_text, map(reply.get, fields))) if reply else None for reply in replies]

    def _json(self, names: Sequence[str]) -> list[Values | None]:
        columns = [*self._table.columns]
        values = [from_json(reply) if reply else None for reply in self._client.mget(names)]
        return [
            tuple([json_text(value.get(column)) for column in columns])
            if isinstance(value, dict) and value
            else None
            for value in values
        ]


def redis_table(options: Redis, context: LookupContext) -> RedisTable:
    """Return the table of a lookup.

    Raises:
        SourceError: no key template is set, or it names other columns than `on`.
    """
    template = options.hash or options.json_
    if template is None:
        hint = 'add hash="card:{card}" or json="card:{card}"'
        raise SourceError("a lookup reads a hash or a JSON value", where=context.step, hint=hint)
    check_key_template(template, context)
    columns = cast_expressions(context)
    as_json = options.json_ is not None
    return RedisTable(options.server, template, context.on, columns, options.retry_seconds, as_json)
