"""Scripts, styles and pictures of the pages: held in memory, compressed once, and cached by browsers."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

STATIC = Path(__file__).parent / "static"
_CACHED = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
_SMALL = 1024


@dataclass(frozen=True)
class Asset:
    """One file."""

    name: str
    content: bytes

    @cached_property
    def compressed(self) -> bytes:
        """The content with gzip; a small file stays as it is."""
        return gzip.compress(self.content, mtime=0) if len(self.content) > _SMALL else self.content

    def response(self, *, accepts_gzip: bool) -> Response:
        """Return the file, which a browser may keep: its address has the version."""
        kind = mimetypes.guess_type(self.name)[0] or "text/plain"
        if accepts_gzip and len(self.compressed) < len(self.content):
            headers = {**_CACHED, "content-encoding": "gzip"}
            return Response(self.compressed, headers=headers, media_type=kind)
        return Response(self.content, headers=_CACHED, media_type=kind)


class Assets:
    """The files of a directory under `/<version>/<name>`, where the version is a digest of them all."""

    def __init__(self, directory: Path = STATIC) -> None:
        paths = sorted(path for path in directory.rglob("*") if path.is_file())
        files = [Asset(path.relative_to(directory).as_posix(), path.read_bytes()) for path in paths]
        self._files = {asset.name: asset for asset in files}
        digest = hashlib.sha256()
        for asset in files:
            digest.update(f"{asset.name} {len(asset.content)}\n".encode() + asset.content)
        self.version = digest.hexdigest()[:12]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a file."""
        path = scope["path"].removeprefix(scope.get("root_path", "")).lstrip("/")
        version, _, name = path.partition("/")
        asset = self._files.get(name) if version == self.version else None
        if asset is None or scope["method"] not in ("GET", "HEAD"):
            response: Response = PlainTextResponse("no such file", status_code=404)
        else:
            encodings = Headers(scope=scope).get("accept-encoding", "")
            response = asset.response(accepts_gzip="gzip" in encodings)
        await response(scope, receive, send)


ASSETS = Assets()
