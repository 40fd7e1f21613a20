"""Decodes the messages of `pgoutput`, PostgreSQL's logical decoding plugin, into changes of rows.

The layout is in PostgreSQL's documentation, "Logical Replication Message Formats", version 1 of the protocol:
a letter, then big-endian numbers and zero-terminated texts. Values are in the server's text form.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

Op = Literal["snapshot", "insert", "update", "delete", "truncate"]
UNCHANGED = object()
"""A large value, stored out of line, that did not change: the server omits it."""
Row = dict[str, object]
"""Column to text, None for null, or `UNCHANGED`."""

_EPOCH = 946_684_800_000_000
"""Microseconds from 1970 to 2000, where PostgreSQL's clock starts."""


@dataclass(frozen=True)
class Change:
    """A change of a row."""

    op: Op
    row: Row
    """The new row; for a deleted row, the values that the server logs, at least its key."""
    old: Row | None = None
    """The old row, if the server logs it."""


@dataclass(frozen=True)
class Transaction:
    """The changes of one transaction to a table."""

    end: int
    """The position after it."""
    at: int
    """The commit time, in microseconds since 1970."""
    changes: tuple[Change, ...]


@dataclass
class Decoder:
    """Decodes the messages of one session. A relation message describes a table before its first change.

    Args:
        table: schema and name; changes of other tables are ignored.
    """

    table: tuple[str, str]
    _columns: dict[int, dict[str, bool]] = field(default_factory=dict)
    """The table's columns by relation id, and whether each is part of the replica identity."""

    def transactions(self, messages: Iterable[bytes]) -> Iterator[Transaction]:
        """Yield whole transactions in commit order."""
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
                changes += self._truncate(read)
            elif kind in _OPS:
                changes += self._change(_OPS[kind], read)

    def _relation(self, read: _Bytes) -> None:
        [number] = read.numbers(">I")
        table = (read.text(), read.text())
        _, count = read.numbers(">BH")
        columns = dict(self._column(read) for _ in range(count))
        if table == self.table:
            self._columns[number] = columns

    def _column(self, read: _Bytes) -> tuple[str, bool]:
        [flags] = read.numbers(">B")
        name = read.text()
        read.numbers(">Ii")
        return name, bool(flags & 1)

    def _truncate(self, read: _Bytes) -> list[Change]:
        count, _ = read.numbers(">IB")
        numbers = read.numbers(f">{count}I")
        return [Change("truncate", {}) for number in numbers if number in self._columns]

    def _change(self, op: Op, read: _Bytes) -> list[Change]:
        [number] = read.numbers(">I")
        if number not in self._columns:
            return []
        columns = self._columns[number]
        tuples: dict[str, Row] = {}
        while read.has_more:
            mark = chr(read.numbers(">B")[0])
            tuples[mark] = self._row(tuple(columns), read)
        if "K" in tuples:  # the key only; the other columns are null and without meaning
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
    """A message and the position of the next byte to read."""

    def __init__(self, message: bytes, at: int) -> None:
        self._message, self._at = message, at

    @property
    def has_more(self) -> bool:
        return self._at < len(self._message)

    def numbers(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from(form, self._message, self._at)
        self._at += struct.calcsize(form)
        return values

    def text(self) -> str:
        end = self._message.index(b"\0", self._at)
        text = self._message[self._at : end].decode()
        self._at = end + 1
        return text

    def value(self) -> object:
        kind = chr(self.numbers(">B")[0])
        if kind in ("n", "u"):
            return None if kind == "n" else UNCHANGED
        [size] = self.numbers(">I")
        text = self._message[self._at : self._at + size].decode()
        self._at += size
        return text
