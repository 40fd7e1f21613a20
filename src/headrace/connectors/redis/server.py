"""A Redis server: its address, connections and errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from headrace.connectors.extras import import_client


@dataclass(frozen=True)
class RedisServer:
    """The address of a server. Holds no connection, so it can be sent to executors."""

    url: str = field(repr=False)
    password: str | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        """The address without the password.

        >>> RedisServer("redis://:secret@cache:6380/2").address
        'Redis at cache:6380/2'
        """
        parts = urlsplit(self.url)
        if parts.scheme == "unix":
            return f"Redis at {parts.path}"
        return f"Redis at {parts.hostname or 'localhost'}:{parts.port or 6379}{parts.path}"

    def connect(self) -> Any:
        """Open a connection; replies are bytes."""
        redis = import_client("redis", extra="redis")
        login = {} if self.password is None else {"password": self.password}
        # A retry by the client could run a transaction twice.
        backoff = redis.retry.Retry(redis.backoff.NoBackoff(), 0)
        client = redis.Redis.from_url(
            self.url, **login, retry=backoff, socket_connect_timeout=10, socket_timeout=60
        )
        client.ping()
        return client

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        """Return message and hint of an error of the server; None for any other error."""
        redis = import_client("redis", extra="redis")
        if not isinstance(error, redis.RedisError | OSError):
            return None
        text = str(error).strip() or type(error).__name__
        hint = "is the server running, and is the address right?"
        if isinstance(error, redis.AuthenticationError) or text.startswith(("NOAUTH", "WRONGPASS")):
            hint = "set user and password in the URL or in `password`"
        elif "NOPERM" in text or "no permissions" in text:
            hint = "grant the user the commands and keys of the pipeline (ACL SETUSER)"
        elif "WRONGTYPE" in text:
            hint = "the key holds a value of another type; use another name, or delete the key"
        elif text.startswith(("OOM", "MISCONF", "READONLY")):
            hint = "free memory or disk on the server, or name its primary; then run again"
        elif not self.is_unavailable(error):
            hint = ""
        return text, hint

    def is_unavailable(self, error: Exception) -> bool:
        """True if the connection is lost or the server is starting, so that a retry may succeed."""
        redis = import_client("redis", extra="redis")
        if isinstance(error, redis.AuthenticationError):
            return False
        return isinstance(error, redis.ConnectionError | redis.TimeoutError | OSError) or str(
            error
        ).startswith("LOADING")


def decode_text(value: bytes | None) -> str | None:
    """Return a reply as text; bytes that are not UTF-8 are replaced."""
    return None if value is None else value.decode(errors="replace")
