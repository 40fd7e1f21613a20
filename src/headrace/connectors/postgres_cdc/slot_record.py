"""The pipeline's record of its slot, a file beside the checkpoint; and the snapshot, until it is delivered.

The slot on the server and this record are not written in one transaction. So the name is recorded first: a
slot of a recorded name belongs to this pipeline and may be incomplete.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from headrace.connectors.durable_files import HINT, read_json, write_durably, write_json
from headrace.errors import DamagedFileError
from headrace.sealed_files import seal, unseal


@dataclass(frozen=True)
class SlotRecord:
    """The progress of creating and reading a slot."""

    directory: Path
    slot: str = ""
    complete: bool = False
    """True once slot and snapshot are complete."""
    begins: int = 0
    """The slot's position when it was created."""
    parts: int = 0
    """The number of snapshot files."""
    sealed: bool = False
    """True if the snapshot files are sealed; those of version 0.2 are not."""
    confirmed: int = 0
    """The highest position that may have been confirmed to the server."""

    @classmethod
    def read(cls, directory: str | Path) -> Self:
        """Read the record; an empty one if there is no file."""
        path = Path(directory)
        return cls(path, **read_json(path / "slot.json", {}))

    def update(self, **changes: object) -> Self:
        """Store the record with these changes durably, and return it."""
        record = replace(self, **changes)  # type: ignore[arg-type]
        values = {name: value for name, value in asdict(record).items() if name != "directory"}
        write_json(self.directory / "slot.json", values)
        return record

    @property
    def snapshot(self) -> Path:
        """The directory of the snapshot files."""
        return self.directory / "snapshot"

    def part(self, number: int) -> Path:
        """Return the path of a snapshot file."""
        return self.snapshot / f"{number:06d}.arrow"

    def store_part(self, number: int, split: bytes) -> None:
        """Write a snapshot file durably."""
        path = self.part(number)
        write_durably(path, seal(split, path))

    def read_part(self, number: int) -> bytes:
        """Read a snapshot file.

        Raises:
            DamagedFileError: it is damaged or missing.
        """
        path = self.part(number)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            what = f"the file is missing: it has rows of the snapshot of the slot `{self.slot}`"
            raise DamagedFileError(what, where=str(path), hint=HINT) from None
        return unseal(content, path, hint=HINT) if self.sealed else content

    def clear_snapshot(self) -> None:
        """Remove snapshot files that a run left when it was killed."""
        shutil.rmtree(self.snapshot, ignore_errors=True)
        self.snapshot.mkdir(parents=True)
