"""The positions up to which records are acknowledged and durable, in the file `acknowledged`.

It is written, without a sync, after the sync of the records and before their acknowledgement. A killed
process leaves it exact; after a power failure it may be some seconds old, but never ahead of the records. The
file has two slots, written in turn, so that an interrupted write damages only one of them.
"""

from __future__ import annotations

import os
import struct
import uuid
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from headrace.connectors.durable_files import HINT, write_durably
from headrace.connectors.write_ahead_log.groups import ID_BYTES
from headrace.errors import DamagedFileError

FILE = "acknowledged"
_FIELDS, _SUM = struct.Struct(f">{ID_BYTES}sQQQ16s"), struct.Struct(">I")
_SLOT_BYTES = 512
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Acknowledged:
    """The positions of a log."""

    log_id: bytes
    sequence: int
    """Counts the writes of the file."""
    acknowledged: int
    """Records before it survive a killed process."""
    durable: int
    """Records before it survive a power failure."""
    boot: bytes
    """The boot of the machine that wrote the file; zeros if it is unknown."""

    @property
    def exact(self) -> bool:
        """True if the machine has not restarted since: what was written is in the file."""
        return self.boot == boot_id() != bytes(16)

    @property
    def required(self) -> int:
        """The position up to which the log must have all records."""
        return self.acknowledged if self.exact else self.durable


class AcknowledgedFile:
    """Writes the positions of a log."""

    def __init__(self, directory: Path, log_id: bytes, end: int) -> None:
        """Write the file anew, for a log whose records are durable; the last step when a log is opened."""
        self._log_id, self._sequence, self._boot = log_id, 0, boot_id()
        path = directory / FILE
        write_durably(path, 2 * self._encode(end, end))
        self._file = path.open("r+b", buffering=0)

    def store(self, acknowledged: int, durable: int) -> None:
        """Write the positions; a killed process does not lose them."""
        self._sequence += 1
        os.pwrite(self._file.fileno(), self._encode(acknowledged, durable), self._sequence % 2 * _SLOT_BYTES)

    def sync(self) -> None:
        """Make the positions durable."""
        os.fdatasync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _encode(self, acknowledged: int, durable: int) -> bytes:
        """Return the content of a slot."""
        fields = _FIELDS.pack(self._log_id, self._sequence, acknowledged, durable, self._boot)
        return (fields + _SUM.pack(crc32(fields))).ljust(_SLOT_BYTES, b"\0")


def read_acknowledged(directory: Path) -> Acknowledged:
    """Read the positions of a log.

    Raises:
        DamagedFileError: the file is damaged.
        FileNotFoundError: there is no file.
    """
    path = directory / FILE
    content = path.read_bytes()
    slots = [_decode(content[begins : begins + _SLOT_BYTES]) for begins in (0, _SLOT_BYTES)]
    intact = [slot for slot in slots if slot is not None]
    newest = max(intact, key=lambda slot: slot.sequence, default=None)
    # A power failure damages at most the slot that was being written. Without one, the other slot is not
    # accepted in its place: it is older.
    if newest is None or (len(intact) == 1 and newest.exact) or len(content) != 2 * _SLOT_BYTES:
        what = "the file is damaged: it does not state how many messages were acknowledged"
        raise DamagedFileError(what if content else "the file is empty", where=str(path), hint=HINT)
    return newest


def boot_id() -> bytes:
    """Return the id of this boot of the machine; zeros if the system has none."""
    return uuid.UUID(_BOOT.read_text().strip()).bytes if _BOOT.exists() else bytes(16)


def _decode(slot: bytes) -> Acknowledged | None:
    fields = slot[: _FIELDS.size]
    if slot != (fields + _SUM.pack(crc32(fields))).ljust(_SLOT_BYTES, b"\0") or len(fields) < _FIELDS.size:
        return None
    return Acknowledged(*_FIELDS.unpack(fields))
