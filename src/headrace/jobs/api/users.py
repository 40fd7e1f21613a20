"""Log in, log out, users, tokens and the audit log."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from headrace.jobs.api.access import Admin, ForbiddenError, Sender, Service
from headrace.jobs.security.guard import COOKIE
from headrace.jobs.security.principals import SESSION_SECONDS, PrincipalStore, Role
from headrace.jobs.security.throttle import LoginThrottle
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


@router.post("/login", responses={401: {}, 429: {}})
def log_in(login: LoginRequest, request: Request, service: Service) -> Response:
    """Start a session; the response sets its cookie."""
    throttle: LoginThrottle = request.app.state.throttle
    keys = (f"user {login.user}", f"address {request.client.host if request.client else ''}")
    if throttle.is_blocked(*keys):
        return JSONResponse({"detail": "too many failed logins; try again later"}, status_code=429)
    principals = PrincipalStore(service.database)
    principal = principals.log_in(login.user, login.password)
    if principal is None:
        throttle.fail(*keys)
        return JSONResponse({"detail": "unknown user or wrong password"}, status_code=401)
    token = principals.issue_token(principal.name, principal.role, "session", SESSION_SECONDS)
    response = JSONResponse({"name": principal.name, "role": principal.role})
    secure = service.policy.tls
    response.set_cookie(
        COOKIE, token, max_age=SESSION_SECONDS, httponly=True, samesite="strict", secure=secure, path="/"
    )
    return response


@router.post("/logout", status_code=204)
def log_out(request: Request, service: Service) -> Response:
    """End the session."""
    if (token := request.cookies.get(COOKIE)) is not None:
        PrincipalStore(service.database).revoke_token(token)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/")
    return response


@router.get("/me")
def show_me(sender: Sender) -> dict[str, str]:
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
def add_token(token: TokenRequest, service: Service, sender: Sender) -> dict[str, str]:
    """Create a token for the sender, with at most the sender's role; it is returned only once."""
    if _RANKS.index(token.role) > _RANKS.index(sender.role):
        raise ForbiddenError(f"the role {sender.role} cannot create a token of {token.role}", where="role")
    issued = PrincipalStore(service.database).issue_token(sender.name, token.role, token.label, token.seconds)
    return {"token": issued, "role": token.role}


@router.get("/audit")
def list_audit(service: Service, _: Admin) -> list[dict[str, Any]]:
    """List the last changes: time, actor, action, job and status; for admins."""
    query = "SELECT at, actor, action, job, outcome FROM audit ORDER BY at DESC LIMIT 500"
    return service.database.rows(query)
