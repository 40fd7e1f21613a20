"""The access policy of a service: address, logins, and restrictions of submitted documents."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from headrace.errors import OptionError

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
    memory_limit: str | None = None
    """The maximum memory of a job, and its default."""
    token: str | None = field(default=None, repr=False)
    """A token with the role of an admin, from the environment."""
    tls: bool = False

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can connect."""
        return is_loopback(self.host)

    @property
    def requires_login(self) -> bool:
        """True if a request without token or session is rejected."""
        return self.login or not self.is_loopback

    @property
    def is_restricted(self) -> bool:
        """True if documents may not use files and code of this machine freely."""
        return not self.is_loopback

    def check_bind(self, *, has_credentials: bool) -> None:
        """Reject an address that others can reach, unless there is a user or a token.

        Raises:
            OptionError: the service would be open to everyone.
        """
        if self.requires_login and not has_credentials:
            raise OptionError(
                f"{self.host} can be reached without a login",
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
