"""Addresses in documents: hosts, and the parameters that a client reads from a URL."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from urllib.parse import unquote_plus

from headrace.access import CODE_HINT, FILES_HINT, Access, current
from headrace.access.problems import reject

_URL = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^\s/@?#\\]*@)?(?P<hosts>[\w.:,\[\]-]*)"
    r"(?:/[^?#\\\x00-\x1f\x7f]*)?(?:\?(?P<query>[^#\\\x00-\x1f\x7f]*))?"
)
"""Parsers of URLs disagree about anything else, so one could connect to another host than the checked one."""
_SETTING = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s'\\]+)(?=\s|\Z)")
_HOST_SETTINGS = ("host", "hostaddr")
_SERVER = re.compile(r"\s*(?:[\w.-]+|\[[\w.:%]+\])(?::\d+)?\s*")
"""Kafka's client ignores a scheme, so `db://evil:9092` is a server on the host `evil`."""


def check_hosts(hosts: Iterable[str]) -> None:
    """Reject hosts that the service does not list.

    Raises:
        PydanticCustomError: with the first one.
    """
    access = current() or Access()
    for host in hosts:
        if not access.accepts_host(host):
            raise reject(f"the host `{host}` is not accepted", f"start the service with --allow-host {host}")


def check_servers(servers: str) -> None:
    """Reject `host:port`, several with commas, if the service does not list a host."""
    if current() is None:
        return
    for server in servers.split(","):
        if not _SERVER.fullmatch(server):
            raise reject(f"this form of a server is not accepted: {server[:80]}", "write host:port")
    check_hosts(_host_of(server) for server in servers.split(","))


def check_address(address: str, parameters: Collection[str] | None, default_host: str = "") -> None:
    """Reject a URL with another host than those of the service, or with a parameter that is not listed.

    Args:
        address: a URL, or settings in libpq's form, `host=db dbname=shop`.
        parameters: the accepted parameters; None if all are sent to the server.
        default_host: the host of an address without one; empty if it is a socket of this machine.

    Raises:
        PydanticCustomError: a service restricts documents, and does not accept this address.
    """
    if current() is None:
        return
    hosts, names = _parse_url(address) if "://" in address else _parse_settings(address)
    known = [host or default_host for host in hosts]
    if not all(known):
        raise reject("a socket of the service's machine is not accepted", "name a host")
    check_hosts(known)
    if parameters is not None:
        check_names(names, parameters, "parameter")


def check_names(names: Iterable[str], accepted: Collection[str], noun: str) -> None:
    """Reject settings and parameters of a client that are not listed; others could name files and classes.

    Raises:
        PydanticCustomError: with the first one.
    """
    access = current()
    if access is None or access.code:
        return
    for name in names:
        if name.lower() not in accepted:
            what = f"the {noun} `{name}` is not accepted, because it may load code or use files"
            raise reject(what, CODE_HINT)


def _parse_url(url: str) -> tuple[list[str], list[str]]:
    parts = _URL.fullmatch(url)
    if parts is None:
        raise reject("this form of an address is not accepted", "write scheme://user:password@host:port/path")
    if url.lower().startswith(("unix:", "file:")):
        raise reject("a path of the service's machine is not accepted", FILES_HINT)
    names = [unquote_plus(pair.partition("=")[0]) for pair in (parts["query"] or "").split("&") if pair]
    return [_host_of(host) for host in parts["hosts"].split(",")], names


def _parse_settings(text: str) -> tuple[list[str], list[str]]:
    settings: dict[str, str] = {}
    at = 0
    while at < len(text.rstrip()):
        part = _SETTING.match(text, at)
        if part is None:
            raise reject("this form of an address is not accepted", "write host=db dbname=shop user=ada")
        settings[part[1].lower()] = part[2].strip("'")
        at = part.end()
    hosts = [host for name in _HOST_SETTINGS for host in settings.pop(name, "").split(",") if host]
    if not hosts or any(host.startswith(("/", "@", "\\")) for host in hosts):
        hosts = [""]
    return hosts, list(settings)


def _host_of(server: str) -> str:
    """Return the host of `host:port`; the port may be missing.

    >>> _host_of("[::1]:5432"), _host_of(" kafka:9092"), _host_of("db")
    ('::1', 'kafka', 'db')
    """
    text = server.strip()
    return text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
