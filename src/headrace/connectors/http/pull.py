"""Polls an address and stores the rows of its responses in the write-ahead log."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from headrace.connectors.base import ReadContext
from headrace.connectors.durable_files import read_json, write_json
from headrace.connectors.http.bodies import BodyError, body_encoding, find_items, split_body
from headrace.connectors.network.requests import is_temporary, open_client, token_header
from headrace.connectors.options import seconds_of
from headrace.connectors.write_ahead_log import LogClosedError, LogFullError, Message, MessageTooLargeError
from headrace.errors import DamagedFileError, SourceError
from headrace.sealed_files import RESTORE

if TYPE_CHECKING:
    from headrace.connectors.http import Http
    from headrace.connectors.write_ahead_log.log import WriteAheadLog

_BACKOFF_SECONDS = (0.5, 30.0)


@dataclass(frozen=True)
class PollState:
    """The state of a poll, stored after the rows of a response are durable."""

    etag: str = ""
    cursor: Any = None
    """The largest value of the cursor field."""
    body: str = ""
    """The digest of the last response, for servers without ETag."""


class PullReceiver:
    """Requests an address at an interval."""

    def __init__(self, options: Http, context: ReadContext) -> None:
        self._options, self._source = options, context.source
        self._encoding = body_encoding(context.format)
        self._path = Path(context.directory) / "poll.json"
        self._state = PollState(**read_json(self._path, {}))
        self._stopped, self._polled = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        headers = {**options.headers, **token_header(options.token)}
        timeout = seconds_of(options.timeout)
        self._client = open_client(headers, timeout)

    def start(self, log: WriteAheadLog) -> None:
        if not self._path.exists():
            if log.end:
                what = "the file is missing: it has the cursor of the last request"
                raise DamagedFileError(what, where=str(self._path), hint=RESTORE)
            write_json(self._path, asdict(self._state))
        self._thread = threading.Thread(target=self._work, args=(log,), name="headrace-poll", daemon=True)
        self._thread.start()

    def settle(self) -> None:
        """Wait until the first request of this run is answered and stored."""
        while not self._polled.wait(0.1) and self._thread is not None and self._thread.is_alive():
            pass

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        self._client.close()

    def _work(self, log: WriteAheadLog) -> None:
        every = seconds_of(self._options.every)
        try:
            while not self._stopped.is_set():
                begun = time.monotonic()
                self._poll(log)
                self._polled.set()
                self._stopped.wait(max(begun + every - time.monotonic(), 0))
        except LogClosedError:
            return
        except Exception as error:
            log.fail(error)

    def _poll(self, log: WriteAheadLog) -> None:
        """Request the address once, and store new rows."""
        response = self._request()
        if response is None or response.status_code == 304:
            return
        digest = hashlib.sha256(response.content).hexdigest()
        if digest != self._state.body:
            rows = self._new_rows(response)
            if rows:
                self._store(log, [message for message, _ in rows])
            cursor = self._largest([value for _, value in rows])
            self._state = replace(self._state, cursor=cursor, body=digest)
        self._state = replace(self._state, etag=response.headers.get("etag", ""))
        write_json(self._path, asdict(self._state))

    def _store(self, log: WriteAheadLog, messages: list[Message]) -> None:
        try:
            log.append(messages)
        except LogFullError:
            return  # dropped and counted, as `overflow` requires
        except MessageTooLargeError:
            what = f"the rows of one answer of {self._options.poll} exceed half of `log_limit`"
            raise SourceError(what, where=self._source, hint="raise it, or request fewer rows") from None

    def _request(self) -> httpx.Response | None:
        """Return a response, retrying with backoff; None once the receiver is stopped."""
        deadline = time.monotonic() + seconds_of(self._options.retry_timeout)
        backoff, longest = _BACKOFF_SECONDS
        while not self._stopped.is_set():
            try:
                response = self._client.get(
                    self._options.poll or "", params=self._params(), headers=self._etag()
                )
                if response.status_code in (200, 304):
                    return response
                problem = f"answers {response.status_code} {response.reason_phrase}"
                final = not is_temporary(response.status_code)
            except httpx.HTTPStatusError as error:
                problem, final = str(error), True
            except httpx.HTTPError as error:
                problem, final = f"does not answer: {error or type(error).__name__}", False
            if final or time.monotonic() + backoff > deadline:
                hint = "check the address, the token and the headers" if final else "start the server"
                raise SourceError(f"{self._options.poll} {problem}", where=self._source, hint=hint)
            self._stopped.wait(backoff)
            backoff = min(2 * backoff, longest)
        return None

    def _params(self) -> httpx.QueryParams:
        """Return the parameters of the address with the cursor."""
        params = httpx.URL(self._options.poll or "").params
        if self._options.cursor is None or self._state.cursor is None:
            return params
        return params.set(self._options.cursor_parameter or self._options.cursor, str(self._state.cursor))

    def _etag(self) -> dict[str, str]:
        return {"If-None-Match": self._state.etag} if self._state.etag else {}

    def _new_rows(self, response: httpx.Response) -> list[tuple[Message, Any]]:
        """Return the rows at or after the cursor, with its value; the log removes stored ones by their id."""
        try:
            body = (
                find_items(response.content, self._options.items) if self._options.items else response.content
            )
            records = split_body(body, response.headers.get("content-type", ""), self._encoding)
        except BodyError as error:
            hint = "set `items` to the field with the rows, or `format` to the format of the answer"
            raise SourceError(f"{self._options.poll}: {error}", where=self._source, hint=hint) from None
        if self._options.cursor is None:
            return [(Message(record), None) for record in records]
        valued = [(record, self._value(record)) for record in records]
        return [
            (Message(record, id=hashlib.sha256(record).hexdigest()), value)
            for record, value in valued
            if not self._is_before(value)
        ]

    def _value(self, record: bytes) -> Any:
        """Return the value of the cursor field."""
        try:
            row = json.loads(record)
        except ValueError:
            row = None
        value = row.get(self._options.cursor) if isinstance(row, dict) else None
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            text = record.decode(errors="replace")
            what = f"{self._options.poll}: a row has no text or number in `{self._options.cursor}`: {text}"
            raise SourceError(
                what[:300], where=self._source, hint="set `cursor` to a field that every row has"
            )
        return value

    def _is_before(self, value: Any) -> bool:
        last = self._state.cursor
        return last is not None and _key(value) < _key(last)

    def _largest(self, values: list[Any]) -> Any:
        known = [value for value in (*values, self._state.cursor) if value is not None]
        return max(known, key=_key) if known else None


def _key(value: Any) -> tuple[int, Any]:
    """Return a value by which numbers and texts are compared: numbers first."""
    return (1, value) if isinstance(value, str) else (0, value)
