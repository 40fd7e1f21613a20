"""Options with addresses: URLs of servers, and addresses to listen on."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

_SERVER = re.compile(r"(?:[^][:,\s]*|\[[^]]*\])(?::(?P<port>[0-9]{0,5}))?")


def url_check(*schemes: str, expected: str) -> AfterValidator:
    """Return the check of a URL option: one of the schemes, and a host."""

    def check(url: str) -> str:
        if urlsplit(url).scheme not in schemes or not urlsplit(url).hostname:
            raise ValueError(f"expected {expected}")
        return url

    return AfterValidator(check)


def are_servers(text: str) -> bool:
    """Return True if a text is `host` or `host:port`, or several of them with commas.

    >>> are_servers("db1:5432,db2,[::1]:5432"), are_servers("db:x"), are_servers("db:65536")
    (True, False, False)
    """
    servers = [_SERVER.fullmatch(server) for server in text.split(",")]
    return all(server is not None and int(server["port"] or 0) < 65536 for server in servers)


def parse_listen(listen: str) -> tuple[str, int]:
    """Return host and port of an address to listen on.

    >>> parse_listen("127.0.0.1:8080")
    ('127.0.0.1', 8080)

    Raises:
        ValueError: it is no such address.
    """
    host, colon, port = listen.rpartition(":")
    if not (colon and host and port.isdigit() and int(port) < 65536):
        raise ValueError("expected host:port, such as 127.0.0.1:8080; 0.0.0.0 listens on all interfaces")
    return host.strip("[]"), int(port)


def _check_listen(listen: str) -> str:
    parse_listen(listen)
    return listen


ListenOption = Annotated[str, AfterValidator(_check_listen)]
"""Host and port to listen on."""
