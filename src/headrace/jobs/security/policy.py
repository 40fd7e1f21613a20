"""The access policy of a service: address, logins, and restrictions of submitted documents."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path

from headrace.access import Access
from headrace.errors import OptionError

MIN_TOKEN_LENGTH = 16
_ORIGIN = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Policy:
    """The access policy.

    On loopback a job has the rights of the user who runs the service, and no login is needed. On any other
    address every request needs a login or a token, and documents are restricted.
    """

    host: str = "127.0.0.1"
    login: bool = False
    """Require a login on loopback, too."""
    allow_files: Path | None = None
    """A directory whose files documents may name, if they are restricted."""
    allow_code: bool = False
    """Accept Python and functions that call Java, if documents are restricted."""
    allow_variables: tuple[str, ...] = ()
    """The variables that documents may expand, if they are restricted; `*` as in a shell."""
    allow_hosts: tuple[str, ...] = ()
    """The hosts that documents may name, if they are restricted; all if empty. `*` as in a shell."""
    master: str | None = None
    """The Spark master of jobs that set none, which a job may also set if it is restricted."""
    memory_limit: str | None = None
    """The maximum memory of a job, and its default."""
    token: str | None = field(default=None, repr=False)
    """A token with the role of an admin, from the environment."""
    tls: bool = False
    private_rows: bool = False
    """Rows, documents and logs of a job are readable by its owner and admins only."""
    public_url: str | None = None
    """The address under which users reach the service, such as that of a reverse proxy."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are used."""

    def __post_init__(self) -> None:
        if self.public_url is not None and not _ORIGIN.fullmatch(self.public_url):
            what = f"expected a URL without a path, got {self.public_url!r}"
            raise OptionError(what, where="--public-url", hint="such as https://jobs.example.org")
        for network in self.trusted_proxies:
            _check_network(network)

    @property
    def is_loopback(self) -> bool:
        """True if the service listens on an address of this machine alone."""
        return is_loopback(self.host)

    @property
    def is_reachable(self) -> bool:
        """True if other machines can connect, directly or through a proxy."""
        return not self.is_loopback or self.public_url is not None or bool(self.trusted_proxies)

    @property
    def requires_login(self) -> bool:
        """True if a request without token or session is rejected."""
        return self.login or self.is_reachable

    @property
    def is_restricted(self) -> bool:
        """True if documents may not use files and code of this machine freely."""
        return self.is_reachable

    @property
    def uses_https(self) -> bool:
        """True if users reach the service by https only."""
        return self.tls or (self.public_url or "").startswith("https:")

    @property
    def public_host(self) -> str | None:
        """The host, and the port if there is one, of the public URL."""
        return None if self.public_url is None else self.public_url.partition("://")[2]

    @property
    def access(self) -> Access | None:
        """What documents may use; None if they are not restricted."""
        if not self.is_restricted:
            return None
        files = None if self.allow_files is None else str(self.allow_files.resolve())
        return Access(self.allow_code, files, self.allow_hosts, self.allow_variables)

    def check_bind(self, *, has_credentials: bool) -> None:
        """Reject an address that others can reach, unless there is a user or a token that is long enough.

        Raises:
            OptionError: the service would be open to everyone.
        """
        if self.is_reachable and self.token is not None and len(self.token) < MIN_TOKEN_LENGTH:
            raise OptionError(
                f"expected at least {MIN_TOKEN_LENGTH} characters",
                where="HEADRACE_TOKEN",
                hint="create one with `openssl rand -hex 32`",
            )
        if self.requires_login and not has_credentials:
            raise OptionError(
                f"{self.public_url or self.host} can be reached without a login",
                where="--host",
                hint="add a user with `headrace users add NAME`, or set HEADRACE_TOKEN; or use 127.0.0.1",
            )


def is_loopback(host: str) -> bool:
    """True if an address belongs to this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_network(network: str) -> None:
    try:
        ipaddress.ip_network(network)
    except ValueError:
        what = f"expected an address or a network, got {network!r}"
        raise OptionError(what, where="--trusted-proxies", hint="such as 10.0.0.7 or 10.0.0.0/24") from None
