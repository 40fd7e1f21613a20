"""The client of the job service that `headrace jobs` uses."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headrace.cli.commands.service.serve import HOST, PORT
from headrace.cli.options import secret_variable
from headrace.errors import HeadraceError, OptionError, Problem, SetupError
from headrace.jobs.security.policy import LOOPBACK_NAMES

URL_VARIABLE, TOKEN_VARIABLE = "HEADRACE_URL", "HEADRACE_TOKEN"


class ServiceError(HeadraceError):
    """The job service has rejected a request."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


class Client:
    """Sends requests to a job service."""

    def __init__(self, url: str | None) -> None:
        self.url = (url or os.environ.get(URL_VARIABLE) or f"http://{HOST}:{PORT}").rstrip("/")
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise OptionError(f"expected an http or https URL, got {self.url!r}", where="--url")

    @property
    def is_local(self) -> bool:
        """True if the service runs on this machine."""
        return urlsplit(self.url).hostname in LOOPBACK_NAMES

    def get(self, path: str, **parameters: Any) -> Any:
        """Send a GET request and return the decoded response."""
        return self._send("GET", path, params={k: v for k, v in parameters.items() if v is not None})

    def post(self, path: str, **content: Any) -> Any:
        """Send a POST request and return the decoded response."""
        return self._send("POST", path, **content)

    def delete(self, path: str) -> Any:
        """Send a DELETE request."""
        return self._send("DELETE", path)

    def _send(self, method: str, path: str, **content: Any) -> Any:
        import httpx

        token = secret_variable(TOKEN_VARIABLE)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        address = f"{self.url}/api/v1{path}"
        try:
            response = httpx.request(method, address, headers=headers, timeout=120, **content)
        except httpx.HTTPError as error:
            hint = "start it with `headrace serve`, or set --url"
            raise SetupError(f"the job service does not answer: {error}", where=self.url, hint=hint) from None
        if response.is_error:
            raise _error(self.url, response.status_code, response.text)
        is_json = response.content and response.headers.get("content-type", "").startswith("application/json")
        return response.json() if is_json else response.text


def upload(file: Path, data: list[Path], base: Path) -> list[tuple[str, tuple[str, bytes]]]:
    """Return the parts of a multipart request: the pipeline, and data files by their relative path."""
    parts = [("pipeline", (file.name, file.read_bytes()))]
    for path in data:
        files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        for each in files:
            inside = each.resolve().is_relative_to(base)
            name = str(each.resolve().relative_to(base)) if inside else each.name
            parts.append(("data", (name, each.read_bytes())))
    return parts


def _error(url: str, status: int, text: str) -> ServiceError:
    try:
        body = json.loads(text)
        problems = [Problem(**problem) for problem in body.get("problems", ())]
        return ServiceError(problems or [Problem(url, str(body.get("detail") or text))])
    except (ValueError, AttributeError, TypeError):
        return ServiceError([Problem(url, f"status {status}: {text[:200]}")])
