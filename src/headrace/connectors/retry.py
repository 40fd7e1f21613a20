"""Retries while a server is unavailable, and carries server errors from executors to the driver."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from typing import Generic, Protocol, TypeVar

from headrace.errors import DamagedFileError, HeadraceError, Problem

_BACKOFF_SECONDS = 0.25
_MAX_BACKOFF_SECONDS = 5.0
_MARK = "server error: "


class RetryCount:
    """Counts the retries of this process."""

    def __init__(self) -> None:
        self.value = 0
        self._lock = threading.Lock()

    def add(self) -> None:
        """Count one retry."""
        with self._lock:
            self.value += 1


RETRIES = RetryCount()


class Closeable(Protocol):
    """A connection that can be closed."""

    def close(self) -> None: ...


_Result = TypeVar("_Result")
_Session = TypeVar("_Session", bound=Closeable)
_Session_co = TypeVar("_Session_co", bound=Closeable, covariant=True)


class Server(Protocol[_Session_co]):
    """A server to connect to, and the meaning of its errors."""

    @property
    def address(self) -> str:
        """The server's address, without the password."""
        ...

    def connect(self) -> _Session_co:
        """Open a session."""
        ...

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        """Return message and hint of a server error; None for any other error."""
        ...

    def is_unavailable(self, error: Exception) -> bool:
        """True if the error is a lost connection or a server shutting down, so that a retry may succeed."""
        ...


def retry(
    server: Server[Closeable],
    timeout: float,
    action: Callable[[], _Result],
    before_retry: Callable[[], None] = lambda: None,
) -> _Result:
    """Run an idempotent action; repeat it with backoff while the server is unavailable.

    Args:
        server: classifies errors.
        timeout: in seconds; 0 for no retry.
        action: the action.
        before_retry: called after each failure, for instance to drop a connection.
    """
    deadline = time.monotonic() + timeout
    backoff = _BACKOFF_SECONDS
    while True:
        try:
            return action()
        except Exception as error:
            before_retry()
            if not server.is_unavailable(error) or time.monotonic() + backoff > deadline:
                raise
        RETRIES.add()
        time.sleep(backoff * random.uniform(0.5, 1.0))
        backoff = min(2 * backoff, _MAX_BACKOFF_SECONDS)


@contextmanager
def connect(server: Server[_Session], timeout: float) -> Iterator[_Session]:
    """Open a session for the block, retrying while the server is unavailable."""
    with closing(retry(server, timeout, server.connect)) as session:
        yield session


class LazySession(Generic[_Session]):
    """A session that is opened on first use, and again after `close`."""

    def __init__(self, server: Server[_Session]) -> None:
        self._server = server
        self._session: _Session | None = None

    @property
    def is_open(self) -> bool:
        """True if a session is open."""
        return self._session is not None

    def get(self) -> _Session:
        """Return the session; open it if necessary."""
        if self._session is None:
            self._session = self._server.connect()
        return self._session

    def close(self) -> None:
        """Close the session; the connection may be lost already."""
        session, self._session = self._session, None
        if session is not None:
            with suppress(Exception):
                session.close()


class ReconnectingSession(Generic[_Session]):
    """A session of a source for repeated polling; reconnects after the server was unavailable.

    Args:
        server: the server.
        timeout: how long an unavailable server is retried, in seconds.
        reads: the object that is read, for errors: "the table `orders`".
        source: the source step.
    """

    def __init__(self, server: Server[_Session], timeout: float, *, reads: str, source: str) -> None:
        self._server, self._timeout = server, timeout
        self._reads, self._source = reads, source
        self._session = LazySession(server)
        self._next_poll = 0.0
        self._unavailable_since: float | None = None

    def retry(self, action: Callable[[_Session], _Result]) -> _Result:
        """Run an idempotent action, retrying while the server is unavailable."""
        return self.translate(
            lambda: retry(self._server, self._timeout, lambda: action(self._session.get()), self.close)
        )

    def poll(self, every: float, default: _Result, action: Callable[[_Session], _Result]) -> _Result:
        """Run an action at most once in `every` seconds.

        Return `default` in between, and while the server is unavailable, up to the timeout.
        """
        now = time.monotonic()
        if now < self._next_poll:
            return default
        self._next_poll = now + every
        try:
            result = action(self._session.get())
        except Exception as error:
            self.close()
            since = self._unavailable_since = self._unavailable_since or now
            if self._server.is_unavailable(error) and now - since < self._timeout:
                return default
            raise self._translate(error) from error
        self._unavailable_since = None
        return result

    def translate(self, action: Callable[[], _Result]) -> _Result:
        """Run an action and raise its failure as an error of the source."""
        try:
            return action()
        except Exception as error:
            raise self._translate(error) from error

    def close(self) -> None:
        """Close the session; the next action opens another one."""
        self._session.close()

    def _translate(self, error: Exception) -> Exception:
        if isinstance(error, HeadraceError):
            return portable_error(problem_of(error, self._source))
        translation = self._server.translate_error(error)
        if translation is None:
            return error
        message, hint = translation
        what = f"{self._reads} at {self._server.address} cannot be read: {message}"
        return portable_error(Problem(self._source, what, hint))


def server_errors(
    server: Server[Closeable], error_class: type[HeadraceError], action: str, *, where: str
) -> AbstractContextManager[None]:
    """Raise errors of the server as errors of a source or sink.

    Args:
        server: translates errors.
        error_class: the error to raise.
        action: the text before the server's message: "the table `orders` cannot be read: ".
        where: the step.
    """
    return _translated(
        server, lambda message, hint: error_class(f"{action}{message}", where=where, hint=hint)
    )


def portable_errors(server: Server[Closeable], where: str = "") -> AbstractContextManager[None]:
    """Raise server errors in a form that survives the stack traces Spark wraps them in."""
    return _translated(server, lambda message, hint: portable_error(Problem(where, message, hint)))


@contextmanager
def _translated(server: Server[Closeable], build: Callable[[str, str], Exception]) -> Iterator[None]:
    """Raise errors of the server as errors that are built from its message and a hint."""
    try:
        yield
    except Exception as error:
        translation = server.translate_error(error)
        if translation is None:
            raise
        raise build(*translation) from error


def portable_error(problem: Problem) -> RuntimeError:
    """Return an error whose text `find_problem` reads again."""
    return RuntimeError(f"{_MARK}{json.dumps([problem.where, problem.what, problem.hint])}")


def problem_of(error: HeadraceError, source: str) -> Problem:
    """Return the problem of an error, with the source and the damaged file as its location."""
    where = f"{source}: {error.where}" if isinstance(error, DamagedFileError) else source
    return Problem(where, error.what, error.hint)


def find_problem(text: str) -> Problem | None:
    """Return the problem of a portable error in the text of a Spark failure; None if there is none.

    >>> error = portable_error(Problem("out", "disk full", "free some space"))
    >>> find_problem(f"Job aborted. RuntimeError: {error} at ...")
    Problem(where='out', what='disk full', hint='free some space')
    """
    if _MARK not in text:
        return None
    return Problem(*json.JSONDecoder().raw_decode(text, text.index(_MARK) + len(_MARK))[0])
