"""Log in, log out, users and tokens."""

from __future__ import annotations

import math
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from headrace.jobs.api.access import Admin, Anyone, ForbiddenError, Operator, Service, Viewer
from headrace.jobs.security.guard import COOKIE
from headrace.jobs.security.principals import SESSION_SECONDS, PrincipalStore, Role
from headrace.jobs.security.throttle import Throttle, network_of
from headrace.jobs.states import NotFoundError

router = APIRouter(prefix="/api/v1", tags=["users"])
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.@-]{1,100}$")]
_RANKS = list(Role)


class LoginRequest(BaseModel):
    """Name and password."""

    model_config = ConfigDict(extra="forbid")
    user: str = Field(max_length=100)
    password: str = Field(max_length=1000)


class UserRequest(BaseModel):
    """A user to add or to change."""

    model_config = ConfigDict(extra="forbid")
    name: _Name
    password: str = Field(min_length=10, max_length=1000)
    role: Role


class TokenRequest(BaseModel):
    """A token to create."""

    model_config = ConfigDict(extra="forbid")
    role: Role = Role.VIEWER
    label: str = Field(default="", max_length=200)
    seconds: float | None = Field(default=None, gt=0, le=10 * 366 * 86_400)


class LoginLimit:
    """Limits failed logins of a user from one address, so that nobody locks a user out from elsewhere.

    Further, those from one address for all users: each takes a moment of processor time.
    """

    def __init__(self) -> None:
        self._users = Throttle(free=5, longest=300)
        self._addresses = Throttle(free=20, longest=10)

    def admit(self, user: str, address: str) -> float:
        """Count an attempt and return 0, or return the seconds until the next one is accepted."""
        if wait := self._users.admit(f"{address} {user}"):
            return wait
        if wait := self._addresses.admit(address):
            self._users.forgive(f"{address} {user}")
        return wait

    def succeed(self, user: str, address: str) -> None:
        """Forget the failed attempts of a user who has logged in."""
        self._users.clear(f"{address} {user}")
        self._addresses.forgive(address)


@router.post("/login", responses={401: {}, 429: {}})
def log_in(login: LoginRequest, request: Request, service: Service, _: Anyone) -> Response:
    """Start a session; the response sets its cookie."""
    limit: LoginLimit = request.app.state.logins
    address = network_of(request.client.host if request.client else "")
    if wait := limit.admit(login.user, address):
        seconds = str(math.ceil(wait))
        detail = f"too many failed logins; try again in {seconds} s"
        return JSONResponse({"detail": detail}, status_code=429, headers={"retry-after": seconds})
    principals = PrincipalStore(service.database)
    principal = principals.log_in(login.user, login.password)
    if principal is None:
        return JSONResponse({"detail": "unknown user or wrong password"}, status_code=401)
    limit.succeed(login.user, address)
    token = principals.start_session(principal)
    request.state.principal = principal  # the actor in the audit log
    response = JSONResponse({"name": principal.name, "role": principal.role})
    secure = service.policy.uses_https or request.url.scheme == "https"
    response.set_cookie(
        COOKIE, token, max_age=SESSION_SECONDS, httponly=True, samesite="strict", secure=secure, path="/"
    )
    return response


@router.post("/logout", status_code=204)
def log_out(request: Request, service: Service, _: Viewer) -> Response:
    """End the session."""
    if (token := request.cookies.get(COOKIE)) is not None:
        PrincipalStore(service.database).revoke_token(token)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/")
    return response


@router.get("/me")
def show_me(sender: Viewer) -> dict[str, str]:
    """Return the name and the role of the sender."""
    return {"name": sender.name, "role": sender.role}


@router.get("/users")
def list_users(service: Service, _: Admin) -> list[dict[str, Any]]:
    """List users; for admins."""
    return PrincipalStore(service.database).users()


@router.post("/users", status_code=201)
def add_user(user: UserRequest, service: Service, _: Admin) -> dict[str, str]:
    """Add a user, or change password and role; for admins."""
    PrincipalStore(service.database).add_user(user.name, user.password, user.role)
    return {"name": user.name, "role": user.role}


@router.delete("/users/{name}", status_code=204)
def delete_user(name: str, service: Service, _: Admin) -> None:
    """Delete a user with all sessions and tokens; for admins."""
    if not PrincipalStore(service.database).delete_user(name):
        raise NotFoundError(f"unknown user {name!r}", where="users")


@router.post("/tokens", status_code=201)
def add_token(token: TokenRequest, service: Service, sender: Operator) -> dict[str, str]:
    """Create a token for the sender, with at most the sender's role; it is returned only once."""
    if _RANKS.index(token.role) > _RANKS.index(sender.role):
        raise ForbiddenError(f"the role {sender.role} cannot create a token of {token.role}", where="role")
    issued = PrincipalStore(service.database).issue_token(sender.name, token.role, token.label, token.seconds)
    return {"token": issued, "role": token.role}
