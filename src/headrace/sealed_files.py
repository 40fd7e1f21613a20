"""Sealed files: content with a last line that detects every change of content, length or name.

A run reads its own files again after a crash, so a changed byte in one of them would change rows. The last
line of a sealed file is `#seal` and the first half of the SHA-256 of the name and the content. The name is
that of the file and its directory, `offsets/4`, so that a file which was copied over another one is detected,
too. The kernel writes and reads the same format.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from headrace.errors import DamagedFileError

RESTORE = "restore a savepoint (headrace savepoint restore), or start over with --fresh"
"""The hint of a damaged file of a checkpoint."""

CURRENT = "current"
"""The file with the active version, in a directory of versions."""

_SEAL = b"#seal "
_LENGTH = len(_SEAL) + 33
"""The length of the last line: the digest has 32 hexadecimal digits, and a line break ends it."""


def seal(content: bytes, path: Path) -> bytes:
    r"""Return the content of a file with its seal.

    >>> seal(b"{}", Path("queries/totals/step.json"))
    b'{}\n#seal de6c87c6925f137a2617f51517347317\n'
    """
    return b"%b\n%b%b\n" % (content, _SEAL, _digest(content, path))


def unseal(content: bytes, path: Path, *, hint: str, where: Path | str | None = None) -> bytes:
    """Return the content of a file without its seal.

    Args:
        content: the content of the file.
        path: its path; the last two parts are covered by the seal.
        hint: what the user can do if the file is damaged.
        where: the path of the file for errors, if `path` is only the name that it was sealed with.

    Raises:
        DamagedFileError: the seal is missing or does not match.
    """
    body, line = content[: -_LENGTH - 1], content[-_LENGTH - 1 :]
    if line != b"\n%b%b\n" % (_SEAL, _digest(body, path)):
        what = "the file is empty" if not content else "the file is damaged: its checksum does not match"
        raise DamagedFileError(what, where=str(where or path), hint=hint)
    return body


def read_version(directory: Path, name: str) -> bytes:
    """Return the content of a file in a directory of versions.

    Raises:
        DamagedFileError: the file is damaged or missing.
    """
    path = directory / name
    try:
        return unseal(path.read_bytes(), path, hint=RESTORE)
    except FileNotFoundError as error:
        what = "the file is missing: it has a version that an epoch has used"
        raise DamagedFileError(what, where=str(path), hint=RESTORE) from error


def read_current(directory: Path) -> tuple[str, int | None]:
    """Return the active version in a directory of versions, and its epoch.

    The epoch is None in directories of version 0.2.

    Raises:
        DamagedFileError: the file is damaged or missing.
    """
    version, line_break, epoch = read_version(directory, CURRENT).decode().rpartition("\n")
    return (version, int(epoch)) if line_break else (epoch, None)


def is_sealed(content: bytes) -> bool:
    """Return True if content ends with the line of a seal, valid or not; files of version 0.2 have none."""
    return content[-_LENGTH - 1 :].startswith(b"\n" + _SEAL)


def read_sealed(path: Path, *, hint: str) -> Any:
    """Return the value in a sealed JSON file.

    Raises:
        DamagedFileError: the file is damaged.
        FileNotFoundError: there is no file.
    """
    return json.loads(unseal(path.read_bytes(), path, hint=hint))


def chain(content: bytes, before: bytes) -> bytes:
    """Return the digest of a record of a log, which covers the record before it."""
    return hashlib.sha256(before + b"\0" + content).hexdigest()[:32].encode()


def _digest(content: bytes, path: Path) -> bytes:
    return chain(content, "/".join(path.parts[-2:]).encode())
