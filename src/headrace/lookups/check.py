"""Check the options of a lookup, some of which require `load="key"` or `load="table"`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.connectors.base import Connector
from headrace.steps.traits import Finding

if TYPE_CHECKING:
    from headrace.lookups.declare import Lookup

_KEY_OPTIONS = ("cache", "ttl", "concurrency")


def check_loading(node: Lookup) -> Iterator[Finding]:
    """Yield the problems of a lookup's options."""
    yield from _check_table(node)
    for option in _KEY_OPTIONS if node.load == "table" else ():
        if getattr(node, option) != getattr(type(node), option):
            yield _finding(option, f'`{option}` is an option of load="key"', "remove it, or set load='key'")
    if node.load == "key" and node.refresh is not None:
        yield _finding(
            "refresh", '`refresh` is an option of load="table"', "answers by key are cached for `ttl`"
        )
    if node.how == "inner" and node.on_miss == "null":
        yield _finding("on_miss", '`how="inner"` drops rows without a match', 'use how="left" for nulls')


def _check_table(node: Lookup) -> Iterator[Finding]:
    table = node.table
    if not isinstance(table, Connector):
        if node.volatile:
            yield _finding("load", "a DataFrame is read once, when the run starts", "look up in a connector")
        return
    if "table" not in table.roles:
        yield Finding(
            f"{table.kind} does not support lookups", "use files, sqlite or a DataFrame", ("on", "lookup")
        )
    elif node.load not in table.loads:
        other = next(iter(table.loads))
        ways = {"table": "held whole", "key": "read by key"}
        yield _finding("load", f"a table of {table.kind} cannot be {ways[node.load]}", f'set load="{other}"')
    elif "table" not in table.loads and node.schema is None:
        yield _finding("schema", f"the columns of {table.kind} are unknown", 'add schema="name string, ..."')


def _finding(option: str, what: str, hint: str = "") -> Finding:
    return Finding(what, hint, (option, "lookup"))
