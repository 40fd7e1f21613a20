"""Users, roles, tokens and sessions."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headrace.errors import OptionError
from headrace.jobs.store.database import Database

SESSION_SECONDS = 12 * 3600
MAX_SESSIONS = 20
"""Sessions of one user."""
MIN_PASSWORD_LENGTH = 10
_SESSION = "session"
_PREFIX = "hr_"
_SCRYPT = {"n": 1 << 14, "r": 8, "p": 1}
_NO_USER = "0" * 32 + "$" + "0" * 128
"""Compared if the user is unknown, so that the response takes the same time."""


class Role(StrEnum):
    """Rights: a viewer reads, an operator also runs own jobs, an admin also changes jobs of others."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


@dataclass(frozen=True)
class Principal:
    """The sender of a request. Pages hide actions that the role does not allow; the guard rejects them."""

    name: str
    role: Role
    by_cookie: bool = False

    @property
    def may_submit(self) -> bool:
        """True if it may submit jobs."""
        return self.may_change(None)

    def may_change(self, owner: str | None) -> bool:
        """True if it may change a job of this owner; None stands for a new job.

        >>> ana = Principal("ana", Role.OPERATOR)
        >>> ana.may_change("ana"), ana.may_change("ben"), ana.may_submit
        (True, False, True)
        """
        if self.role is Role.ADMIN:
            return True
        return self.role is Role.OPERATOR and owner in (None, self.name)


LOCAL = Principal("", Role.ADMIN)
"""Every process of this machine, where no login is required."""


class PrincipalStore:
    """Users and tokens in the store; passwords and tokens are stored as hashes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add_user(self, name: str, password: str, role: Role) -> None:
        """Add a user, or change password and role.

        Raises:
            OptionError: the password is too short.
        """
        if len(password) < MIN_PASSWORD_LENGTH:
            raise OptionError(f"expected at least {MIN_PASSWORD_LENGTH} characters", where="password")
        with self._database.transaction():
            self.delete_user(name)
            statement = "INSERT INTO users (name, role, secret, created) VALUES (?, ?, ?, ?)"
            self._database.execute(statement, (name, str(role), hash_password(password), time.time()))

    def delete_user(self, name: str) -> bool:
        """Delete a user with all tokens; return False if there is neither a user nor a token of this name."""
        with self._database.transaction():
            tokens = self._database.execute("DELETE FROM tokens WHERE owner = ?", (name,))
            return self._database.execute("DELETE FROM users WHERE name = ?", (name,)) + tokens > 0

    def tokens(self) -> list[dict[str, Any]]:
        """Return owner, role, label, creation time and end of all tokens that have not expired."""
        query = (
            "SELECT owner, role, label, created, expires FROM tokens "
            "WHERE expires IS NULL OR expires > ? ORDER BY owner, created"
        )
        return self._database.rows(query, (time.time(),))

    def users(self) -> list[dict[str, Any]]:
        """Return name, role and creation time of all users."""
        return self._database.rows("SELECT name, role, created FROM users ORDER BY name")

    def log_in(self, name: str, password: str) -> Principal | None:
        """Return the user if the password is right."""
        rows = self._database.rows("SELECT name, role, secret FROM users WHERE name = ?", (name,))
        stored = rows[0]["secret"] if rows else _NO_USER
        if not verify_password(password, stored) or not rows:
            return None
        return Principal(rows[0]["name"], Role(rows[0]["role"]), by_cookie=True)

    def issue_token(self, owner: str, role: Role, label: str = "", seconds: float | None = None) -> str:
        """Create a token and return it; it cannot be read again."""
        token = _PREFIX + secrets.token_urlsafe(32)
        now = time.time()
        expires = None if seconds is None else now + seconds
        statement = (
            "INSERT INTO tokens (digest, owner, role, label, created, expires) VALUES (?, ?, ?, ?, ?, ?)"
        )
        self._database.execute(statement, (digest_of(token), owner, str(role), label, now, expires))
        return token

    def start_session(self, user: Principal) -> str:
        """Create a token for a session; the oldest sessions of the user end if there are too many."""
        with self._database.transaction():
            self._database.execute("DELETE FROM tokens WHERE expires < ?", (time.time(),))
            token = self.issue_token(user.name, user.role, _SESSION, SESSION_SECONDS)
            query = "SELECT digest FROM tokens WHERE owner = ? AND label = ? ORDER BY expires DESC"
            for row in self._database.rows(query, (user.name, _SESSION))[MAX_SESSIONS:]:
                self._database.execute("DELETE FROM tokens WHERE digest = ?", (row["digest"],))
        return token

    def find_token(self, token: str) -> Principal | None:
        """Return the holder of a token that has not expired."""
        query = "SELECT owner, role, expires FROM tokens WHERE digest = ?"
        for row in self._database.rows(query, (digest_of(token),)):
            if row["expires"] is None or row["expires"] > time.time():
                return Principal(row["owner"], Role(row["role"]))
        return None

    def revoke_token(self, token: str) -> None:
        """Delete a token."""
        self._database.execute("DELETE FROM tokens WHERE digest = ?", (digest_of(token),))

    @property
    def is_empty(self) -> bool:
        """True if there is no user and no token."""
        return not self.users() and not self._database.rows("SELECT digest FROM tokens LIMIT 1")


def digest_of(token: str) -> str:
    """Return the hash under which a token is stored; a token is random, so a salt would add nothing."""
    return hashlib.sha256(token.encode()).hexdigest()


def hash_password(password: str) -> str:
    """Return salt and scrypt hash of a password."""
    salt = secrets.token_bytes(16)
    return f"{salt.hex()}${hashlib.scrypt(password.encode(), salt=salt, **_SCRYPT).hex()}"


def verify_password(password: str, stored: str) -> bool:
    """True if a password has this hash.

    >>> verify_password("correct horse", hash_password("correct horse"))
    True
    """
    salt, _, expected = stored.partition("$")
    actual = hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), **_SCRYPT).hex()
    return hmac.compare_digest(actual, expected)
