"""A client of schema registries with Confluent's interface, for sinks and for the command line."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Self
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from headrace.connectors.network.requests import is_temporary
from headrace.connectors.options import seconds_of
from headrace.connectors.retry import retry
from headrace.formats.schema_registry import SchemaRegistry

_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND = (40401, 40402, 40403)
"""Error codes: unknown subject, version and schema. Another 404 means that the address is wrong."""


class RegistryError(Exception):
    """An answer of the registry other than success.

    Attributes:
        status: the status of the answer.
        code: Confluent's error code; 0 if the answer has none.
    """

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code

    @property
    def is_not_found(self) -> bool:
        """True if the subject, version or schema does not exist."""
        return self.code in _NOT_FOUND


@dataclass(frozen=True)
class RegisteredSchema:
    """A version of a subject."""

    subject: str
    version: int
    id: int
    kind: str
    """`AVRO`, `PROTOBUF` or `JSON`."""
    schema: str
    references: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class SchemaRegistryClient:
    """Sends requests to a registry; retries while it is unavailable."""

    options: SchemaRegistry

    @property
    def address(self) -> str:
        return self.options.url

    def connect(self) -> Self:
        return self

    def close(self) -> None:
        """Do nothing: each request has its own connection."""

    def subjects(self) -> list[str]:
        """Return the names of all subjects."""
        return sorted(self._request("GET", "/subjects"))

    def versions(self, subject: str) -> list[int]:
        """Return the version numbers of a subject."""
        return sorted(self._request("GET", f"/subjects/{_quote(subject)}/versions"))

    def version(self, subject: str, version: int | str = "latest") -> RegisteredSchema:
        """Return a version of a subject."""
        return _parse_version(self._request("GET", f"/subjects/{_quote(subject)}/versions/{version}"))

    def register(self, subject: str, schema: str, kind: str = "AVRO") -> int:
        """Register a schema, unless the subject has it, and return its id.

        Raises:
            RegistryError: status 409 if the schema is incompatible with the versions of the subject.
        """
        path = f"/subjects/{_quote(subject)}/versions"
        return int(self._request("POST", path, _schema_body(schema, kind))["id"])

    def find(self, subject: str, schema: str, kind: str = "AVRO") -> int:
        """Return the id of a schema that is registered under a subject."""
        return int(self._request("POST", f"/subjects/{_quote(subject)}", _schema_body(schema, kind))["id"])

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        if isinstance(error, RegistryError):
            hint = {
                401: "set `user` and `password`",
                403: "check the permissions of the user",
                404: "check the subject" if error.is_not_found else "check the address and its path",
            }.get(error.status, "")
            return f"the schema registry at {self.address} answers {error.status}: {error}", hint
        if isinstance(error, OSError | HTTPException):
            reason = getattr(error, "reason", None) or str(error) or type(error).__name__
            return f"no schema registry answers at {self.address}: {reason}", "start it, or check the address"
        return None

    def is_unavailable(self, error: Exception) -> bool:
        if isinstance(error, RegistryError):
            return is_temporary(error.status)
        return isinstance(error, OSError | HTTPException)

    def _request(self, method: str, path: str, body: Any = None) -> Any:
        request = Request(
            f"{self.address}{path}",
            method=method,
            headers=self._headers(),
            data=None if body is None else json.dumps(body).encode(),
        )
        return retry(self, seconds_of(self.options.retry_timeout), lambda: self._send(request))

    def _send(self, request: Request) -> Any:
        try:
            with urlopen(request, timeout=seconds_of(self.options.timeout)) as response:
                content = response.read()
        except HTTPError as error:
            raise _refusal(error.code, error.read()) from None
        try:
            return json.loads(content)
        except ValueError:
            raise RegistryError(404, 0, "the answer is not JSON") from None

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": f"{_MEDIA_TYPE}, application/json", "Content-Type": _MEDIA_TYPE}
        user, password = self.options.user, self.options.password
        if user is not None or password is not None:
            login = f"{user or ''}:{password.get_secret_value() if password else ''}"
            headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
        return headers


def _schema_body(schema: str, kind: str) -> dict[str, str]:
    return {"schema": schema} if kind == "AVRO" else {"schema": schema, "schemaType": kind}


def _parse_version(answer: Mapping[str, Any]) -> RegisteredSchema:
    return RegisteredSchema(
        answer["subject"],
        int(answer["version"]),
        int(answer["id"]),
        answer.get("schemaType") or "AVRO",
        answer["schema"],
        tuple(answer.get("references") or ()),
    )


def _refusal(status: int, content: bytes) -> RegistryError:
    try:
        answer = json.loads(content)
        return RegistryError(status, int(answer["error_code"]), str(answer["message"]))
    except (ValueError, TypeError, KeyError):
        return RegistryError(status, 0, "no schema registry at this address" if status == 404 else "refused")


def _quote(name: str) -> str:
    return quote(name, safe="")
