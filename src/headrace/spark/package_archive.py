"""The Python package as a zip archive, which a session sends to executors on other machines.

Python steps and sources with a Python client import `headrace` on the executors. Its dependencies (pyarrow,
pydantic, database clients) must be installed there.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

from headrace.spark.cache import cache_directory, replace_atomically

_PACKAGE = Path(__file__).parents[1]
_EPOCH = (1980, 1, 1, 0, 0, 0)


def build_archive() -> Path:
    """Return the path of the archive in the cache; build it if it is missing."""
    content = _pack()
    digest = hashlib.sha256(content).hexdigest()[:12]
    target = cache_directory() / "packages" / f"headrace-{digest}.zip"
    if not target.exists():
        replace_atomically(target, content)
    return target


def _pack() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for file in sorted(_PACKAGE.rglob("*.py")):
            info = zipfile.ZipInfo(file.relative_to(_PACKAGE.parent).as_posix(), _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, file.read_bytes())
    return buffer.getvalue()
