"""Download one file: resume a partial download, verify the checksum, move the file to its path."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from headrace.errors import SetupError
from headrace.spark.cache import locked

ATTEMPTS = 4
FIRST_BACKOFF = 0.5  # seconds; doubled after each attempt
TIMEOUT = 30.0
CHUNK = 1 << 16


@dataclass(frozen=True)
class Download:
    """A file to download."""

    url: str
    target: Path
    sha256: str
    size: int

    @property
    def part(self) -> Path:
        """Return the path of the partial download; it contains the checksum, so that versions do not mix."""
        return self.target.with_name(f"{self.target.name}.{self.sha256[:12]}.part")


Watcher = Callable[[Download, int], None]
"""Called with a download and the number of bytes received so far."""


def silent(download: Download, done: int) -> None:
    """Show no progress."""


def download(
    wanted: Download, watch: Watcher = silent, *, pause: Callable[[float], None] = time.sleep
) -> None:
    """Download a file, unless another process has completed it meanwhile.

    Raises:
        OSError: the download has failed after several attempts.
        SetupError: the checksum differs; the received file is deleted.
    """
    with locked(wanted.target):
        if wanted.target.is_file() and wanted.target.stat().st_size == wanted.size:
            return
        _receive_all(wanted, watch, pause)
        _verify(wanted)
        wanted.part.replace(wanted.target)


@contextmanager
def open_url(request: Request) -> Iterator[HTTPResponse]:
    """Yield the response to a request; close the connection of an error response, too."""
    try:
        with urlopen(request, timeout=TIMEOUT) as response:
            yield response
    except HTTPError as error:
        error.close()
        raise


def _receive_all(wanted: Download, watch: Watcher, pause: Callable[[float], None]) -> None:
    for attempt in range(ATTEMPTS):
        try:
            return _receive(wanted, watch)
        except (OSError, HTTPException) as error:
            if attempt < ATTEMPTS - 1 and _is_transient(error):
                pause(FIRST_BACKOFF * 2**attempt)
            elif isinstance(error, OSError):
                raise
            else:
                raise ConnectionError(repr(error)) from error
    return None


def _is_transient(error: Exception) -> bool:
    """True if a retry may succeed: not after a 4xx response, except 429."""
    return not (isinstance(error, HTTPError) and 400 <= error.code < 500 and error.code != 429)


def _receive(wanted: Download, watch: Watcher) -> None:
    done = wanted.part.stat().st_size if wanted.part.is_file() else 0
    watch(wanted, done)
    if done == wanted.size:
        return
    if done > wanted.size:
        wanted.part.unlink()
        done = 0
    request = Request(wanted.url, headers={"Range": f"bytes={done}-"} if done else {})
    with open_url(request) as response:
        resumed = done > 0 and response.status == 206  # a server may ignore the range and send the whole file
        with wanted.part.open("ab" if resumed else "wb") as file:
            _copy(response, file, done if resumed else 0, wanted, watch)
    if (received := wanted.part.stat().st_size) < wanted.size:
        raise ConnectionError(f"the connection ended after {received} of {wanted.size} bytes")


def _copy(response: IO[bytes], file: IO[bytes], done: int, wanted: Download, watch: Watcher) -> None:
    while chunk := response.read(CHUNK):
        file.write(chunk)
        done += len(chunk)
        watch(wanted, done)


def _verify(wanted: Download) -> None:
    with wanted.part.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != wanted.sha256:
        wanted.part.unlink()
        raise SetupError(
            f"{wanted.url} is not the expected file: expected SHA-256 {wanted.sha256}, got {digest}",
            where="download",
            hint="retry; if it happens again, set HEADRACE_MAVEN_MIRROR to another Maven repository",
        )
