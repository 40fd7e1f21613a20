"""The address of a broker, from a URL, and the errors of connections to it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import unquote, urlsplit

from headrace.errors import Problem

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

        >>> BrokerAddress.parse("mqtts://reader:secret@broker").url
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
    def url(self) -> str:
        """The address without the login."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.secure else 'mqtt'}://{host}:{self.port}"


def describe_failure(error: OSError, address: BrokerAddress, where: str) -> Problem:
    """Return location, problem and hint for a failed connection."""
    if isinstance(error, ssl.SSLError):
        hint = "set the file of the authority: tls={ca: ca.pem}; is the port one with TLS?"
        return Problem(where, f"no TLS connection to {address.url}: {error.reason or error}", hint)
    if isinstance(error, ConnectionRefusedError) and error.errno is None:
        return describe_refusal(str(error), address, where)
    hint = f"is a broker running there? To start one: headrace mqtt up --port {address.port}"
    return Problem(where, f"no MQTT broker answers at {address.url}: {error.strerror or error}", hint)


def describe_refusal(reason: str, address: BrokerAddress, where: str) -> Problem:
    """Return location, problem and hint for a connection that the broker refuses."""
    hint = "the broker's log has the reason"
    if "version" in reason.lower():
        hint = 'set version="3.1.1"'
    elif "authori" in reason.lower() or "user name" in reason.lower():
        hint = "check user and password, for instance user: reader, password: ${MQTT_PASSWORD}"
    return Problem(where, f"the MQTT broker at {address.url} refuses the connection: {reason}", hint)
