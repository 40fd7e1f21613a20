"""Plans the epochs of a cursor source on the driver."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.connectors.driver_source import Offset
from headrace.connectors.options import seconds_of
from headrace.connectors.retry import ReconnectingSession
from headrace.connectors.sql.cursor import CursorTable, SafeHighWatermark
from headrace.connectors.sql.dialect import Session

if TYPE_CHECKING:
    from headrace.connectors.sql.options import DatabaseTable


class CursorEnumerator:
    """The split enumerator of a table with a cursor column."""

    def __init__(self, source: str, table: CursorTable, options: DatabaseTable) -> None:
        self._table, self._options = table, options
        self._every, self._delay = seconds_of(options.every), seconds_of(options.delay)
        self._session: ReconnectingSession[Session] = ReconnectingSession(
            table.dialect, options.retry_seconds, reads=f"the table `{table.table}`", source=source
        )
        self._watermark = SafeHighWatermark(self._delay)
        self._final: tuple[str | None] | None = None
        """The high watermark of a run that ends with the available rows; (None,) for an empty table."""

    def initial(self) -> Offset:
        if self._options.start != "latest":
            return self._options.first_offset
        return {"after": self._session.retry(self._table.highest)}

    def available(self) -> None:
        highest = self._session.retry(self._table.highest)
        time.sleep(self._delay)  # until open transactions below the watermark have committed
        self._final = (highest,)

    def latest(self, start: Offset) -> Offset:
        if self._final is not None:
            [watermark] = self._final
            return self._session.retry(lambda session: self._end(session, start, watermark))
        return self._session.poll(self._every, start, lambda session: self._poll(session, start))

    def splits(self, start: Offset, end: Offset) -> list[bytes]:
        splits = self._table.splits(start, end["after"], self._options.tasks)
        return [split.encode() for split in splits]

    def commit(self, end: Offset) -> None:
        """Do nothing: the table keeps its rows."""

    def close(self) -> None:
        self._session.close()

    def _poll(self, session: Session, start: Offset) -> Offset:
        highest = self._table.highest(session)
        # The age of a value counts from here: connecting and querying may have taken longer than the delay.
        return self._end(session, start, self._watermark.advance(time.monotonic(), highest))

    def _end(self, session: Session, start: Offset, watermark: str | None) -> Offset:
        if watermark is None:
            return start
        end = self._table.end(session, start, watermark, self._options.max_per_batch)
        return start if end is None else {"after": end}
