"""The access policy of a service: address, logins, and restrictions of submitted documents."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from headrace.access import Access
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

    @property
    def access(self) -> Access | None:
        """What documents may use; None if they are not restricted."""
        if not self.is_restricted:
            return None
        files = None if self.allow_files is None else str(self.allow_files.resolve())
        return Access(self.allow_code, files, self.allow_hosts, self.allow_variables)

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
