"""The address of a broker, from a URL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import unquote, urlsplit

_PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class BrokerAddress:
    """Host, port and login of a broker."""

    host: str
    port: int
    secure: bool = False
    user: str | None = None
    password: str | None = None

    @classmethod
    def parse(cls, url: str) -> Self:
        """Parse a URL.

        >>> BrokerAddress.parse("mqtts://reader:secret@broker").place
        'mqtts://broker:8883'

        Raises:
            ValueError: it is no address of a broker.
        """
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/"):
            raise ValueError("expected `mqtt://host:port` or `mqtts://host:port`")
        user, password = (unquote(part) if part else None for part in (parts.username, parts.password))
        port = parts.port or _PORTS[parts.scheme]
        return cls(parts.hostname, port, parts.scheme == "mqtts", user, password)

    def with_login(self, user: str | None, password: str | None) -> Self:
        """Return the address with another login, if there is one."""
        return replace(self, user=user or self.user, password=password or self.password)

    @property
    def place(self) -> str:
        """The address without the login."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.secure else 'mqtt'}://{host}:{self.port}"
