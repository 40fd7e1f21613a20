"""Download one file: resumed where it broke off, verified, and put in its place in one move."""

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
FIRST_PAUSE = 0.5  # seconds; doubled each time
TIMEOUT = 30.0
CHUNK = 1 << 16


@dataclass(frozen=True)
class Download:
    """A file to download: its address, its target and its checksum."""

    url: str
    target: Path
    sha256: str
    size: int

    @property
    def part(self) -> Path:
        """Return the path of a partial download; it contains the checksum, so versions never mix."""
        return self.target.with_name(f"{self.target.name}.{self.sha256[:12]}.part")


Watcher = Callable[[Download, int], None]
"""Called with a download and the number of its bytes that are here."""


def silent(download: Download, done: int) -> None:
    """Return the watcher that shows nothing."""


def download(
    wanted: Download, watch: Watcher = silent, *, pause: Callable[[float], None] = time.sleep
) -> None:
    """Bring the file, unless another process just did.

    Raises:
        OSError: It can't be had, after several attempts.
        SetupError: What came isn't what was expected; it is thrown away.
    """
    with locked(wanted.target):
        if wanted.target.is_file() and wanted.target.stat().st_size == wanted.size:
            return
        _receive_all(wanted, watch, pause)
        _verify(wanted)
        wanted.part.replace(wanted.target)


@contextmanager
def opened(request: Request) -> Iterator[HTTPResponse]:
    """Yield the server's answer. An error is one too, and holds its connection until it is closed."""
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
            if attempt < ATTEMPTS - 1 and _may_pass(error):
                pause(FIRST_PAUSE * 2**attempt)
            elif isinstance(error, OSError):
                raise
            else:
                raise ConnectionError(repr(error)) from error
    return None


def _may_pass(error: Exception) -> bool:
    """True if a retry may succeed: not after a 4xx response, except 429."""
    return not (isinstance(error, HTTPError) and 400 <= error.code < 500 and error.code != 429)


def _receive(wanted: Download, watch: Watcher) -> None:
    here = wanted.part.stat().st_size if wanted.part.is_file() else 0
    watch(wanted, here)
    if here == wanted.size:
        return
    if here > wanted.size:
        wanted.part.unlink()
        here = 0
    request = Request(wanted.url, headers={"Range": f"bytes={here}-"} if here else {})
    with opened(request) as response:
        resumed = here > 0 and response.status == 206  # a server may ignore the range and send all of it
        with wanted.part.open("ab" if resumed else "wb") as file:
            _copy(response, file, here if resumed else 0, wanted, watch)
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
            hint="try again; if it stays, the mirror serves another file: try HEADRACE_MAVEN_MIRROR",
        )
