"""What PostgreSQL's own decoder, `pgoutput`, says of a transaction: messages of bytes, told as changes of rows.

The layout is in PostgreSQL's documentation, "Logical Replication Message Formats", version 1 of the protocol: a letter, then
big-endian numbers and texts that end with a zero. Values are in the server's text form.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

Op = Literal["snapshot", "insert", "update", "delete", "truncate"]
UNCHANGED = object()
"""A value that lies apart from its row and was not changed: the server doesn't say it."""
Row = dict[str, object]
"""Column to text, None for null, or `UNCHANGED`."""

_EPOCH = 946_684_800_000_000
"""Microseconds from 1970 to 2000, where PostgreSQL's clock starts."""


@dataclass(frozen=True)
class Change:
    """What happened to a row."""

    op: Op
    row: Row
    """As it is now; of a deleted row what the server tells of it, at least its key."""
    old: Row | None = None
    """As it was, where the server tells."""


@dataclass(frozen=True)
class Transaction:
    """What one transaction did to a table."""

    end: int
    """The position after it: everything up to here has been seen."""
    at: int
    """When it committed, in microseconds since 1970."""
    changes: tuple[Change, ...]


@dataclass
class Decoder:
    """Reads messages of one session; a session names a table before it tells of its rows.

    Args:
        table: schema and name; what happens to others is left out.
    """

    table: tuple[str, str]
    _columns: dict[int, dict[str, bool]] = field(default_factory=dict)
    """Of our table, by the number that messages call it by; and whether they are part of what tells rows apart."""

    def transactions(self, messages: Iterable[bytes]) -> Iterator[Transaction]:
        """Whole transactions, in the order they were committed."""
        changes: list[Change] = []
        for message in messages:
            kind, read = chr(message[0]), _Bytes(message, 1)
            if kind == "B":
                changes = []
            elif kind == "C":
                _, _, end, at = read.numbers(">BQQq")
                yield Transaction(end, at + _EPOCH, tuple(changes))
            elif kind == "R":
                self._relation(read)
            elif kind == "T":
                changes += self._truncated(read)
            elif kind in _OPS:
                changes += self._change(_OPS[kind], read)

    def _relation(self, read: _Bytes) -> None:
        [number] = read.numbers(">I")
        named = (read.text(), read.text())
        _, count = read.numbers(">BH")
        columns = dict(self._column(read) for _ in range(count))
        if named == self.table:
            self._columns[number] = columns

    def _column(self, read: _Bytes) -> tuple[str, bool]:
        [flags] = read.numbers(">B")
        name = read.text()
        read.numbers(">Ii")
        return name, bool(flags & 1)

    def _truncated(self, read: _Bytes) -> list[Change]:
        count, _ = read.numbers(">IB")
        numbers = read.numbers(f">{count}I")
        return [Change("truncate", {}) for number in numbers if number in self._columns]

    def _change(self, op: Op, read: _Bytes) -> list[Change]:
        [number] = read.numbers(">I")
        if number not in self._columns:
            return []
        columns = self._columns[number]
        tuples: dict[str, Row] = {}
        while read.left:
            mark = chr(read.numbers(">B")[0])
            tuples[mark] = self._row(tuple(columns), read)
        if "K" in tuples:  # only the key is said; the rest of it is null and means nothing
            tuples["O"] = {name: value for name, value in tuples["K"].items() if columns[name]}
        old = tuples.get("O")
        if op == "delete":
            return [Change(op, {**dict.fromkeys(columns), **(old or {})}, old)]
        return [Change(op, tuples["N"], old)]

    def _row(self, columns: tuple[str, ...], read: _Bytes) -> Row:
        [count] = read.numbers(">H")
        return dict(zip(columns, [read.value() for _ in range(count)], strict=True))


_OPS: dict[str, Op] = {"I": "insert", "U": "update", "D": "delete"}


class _Bytes:
    """A message, read from the left."""

    def __init__(self, message: bytes, at: int) -> None:
        self._message, self._at = message, at

    @property
    def left(self) -> bool:
        return self._at < len(self._message)

    def numbers(self, form: str) -> tuple[int, ...]:
        found = struct.unpack_from(form, self._message, self._at)
        self._at += struct.calcsize(form)
        return found

    def text(self) -> str:
        end = self._message.index(b"\0", self._at)
        found = self._message[self._at : end].decode()
        self._at = end + 1
        return found

    def value(self) -> object:
        kind = chr(self.numbers(">B")[0])
        if kind in ("n", "u"):
            return None if kind == "n" else UNCHANGED
        [size] = self.numbers(">I")
        found = self._message[self._at : self._at + size].decode()
        self._at += size
        return found
