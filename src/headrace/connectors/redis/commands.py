"""The commands that write rows: XADD, HSET, ZADD, PUBLISH, and the removal of retracted rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isnan
from typing import TYPE_CHECKING, Any

from headrace.connectors.flatten import literal
from headrace.connectors.redis.ledger import Command
from headrace.connectors.row_encoding import Fields, encode_text, encode_value, find_column
from headrace.connectors.templates import template_expression

if TYPE_CHECKING:
    from headrace.connectors.redis import Redis

_REMOVED = ("pane", "change")
"""Columns that mark changes of earlier rows; a hash does not store them."""


def row_expressions(options: Redis, fields: Fields, where: str) -> list[str]:
    """Return the expressions of a row: whether it removes its key, the name, the member and the content.

    Raises:
        DeliveryError: an option names an unknown column.
    """
    name = options.stream or options.hash or options.sorted_set or options.channel or ""
    member = template_expression(options.member, fields, where) if options.member else "''"
    return [
        f"{_removal(fields)} as removal",
        f"{template_expression(name, fields, where)} as name",
        f"{member} as member",
        f"{_content(options, fields, where)} as content",
    ]


def commands_of(options: Redis, rows: Iterable[tuple[Any, ...]]) -> Iterator[Command]:
    """Yield the commands of rows, in their order."""
    for removal, name, member, content in rows:
        if options.stream is not None:
            limit = ("MAXLEN", "~", options.max_length) if options.max_length else ()
            yield ("XADD", name, *limit, "*", *(_pairs(content) or ("", "")))
        elif options.channel is not None:
            yield ("PUBLISH", name, content)
        elif options.hash is not None:
            yield ("DEL", name)  # a column that is null now must not keep its old value
            if not removal and (pairs := _pairs(content)):
                yield ("HSET", name, *pairs)
        elif removal or content is None or isnan(content):
            yield ("ZREM", name, member)
        else:
            yield ("ZADD", name, content, member)


def _content(options: Redis, fields: Fields, where: str) -> str:
    """Return the expression of a score, of a message, or of the fields of a hash or an entry."""
    if options.score is not None:
        return f"cast({find_column(options.score, fields, where).path} as double)"
    names = list(options.value) or [name for name in fields if options.hash is None or name not in _REMOVED]
    chosen = {name: find_column(name, fields, where) for name in names}
    if options.channel is not None:
        return encode_value(options.encoding, chosen, where)
    if options.encoding is not None or options.field is not None:
        record = encode_value(options.encoding, chosen, where)
        binary = options.encoding is not None and options.encoding.is_binary
        text = record if binary else f"cast({record} as string)"
        return f"map({literal(options.field or 'value')}, {text})"
    pairs = (f"{literal(name)}, {encode_text(field)}" for name, field in chosen.items())
    return f"map_filter(map({', '.join(pairs)}), (k, v) -> v is not null)"


def _removal(fields: Fields) -> str:
    """Return the condition that a row retracts or deletes an earlier one."""
    conditions = []
    if "pane" in fields and isinstance(fields["pane"].kind, dict):
        conditions.append(f"{fields['pane'].path}.`retraction`")
    if "change" in fields:
        kind = fields["change"].kind
        path = fields["change"].path if kind == "string" else f"{fields['change'].path}.`op`"
        conditions.append(f"{path} in ('delete', 'update_before')")
    return f"coalesce({' or '.join(conditions)}, false)" if conditions else "false"


def _pairs(content: Any) -> tuple[Any, ...]:
    """Return the fields of an entry or hash as arguments; Arrow returns a map as pairs."""
    pairs = content.items() if isinstance(content, dict) else content
    return tuple(part for pair in pairs for part in pair)
