"""What a pipeline remembers of its slot, in a file beside the checkpoint; and the first rows, until they are delivered.

A slot is made on the server and noted here, two things that no transaction holds together. So the intention is noted first: a
run that finds it knows that a slot of that name is a half-made one of its own.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class Record:
    """How far the making of a slot is, and how far it has been read."""

    directory: Path
    slot: str = ""
    made: bool = False
    """Whether slot and first rows are complete."""
    begins: int = 0
    """The slot's position when it was made."""
    parts: int = 0
    """In how many files the first rows are."""
    confirmed: int = 0
    """The highest position that the server may have been told."""

    @classmethod
    def read(cls, directory: str | Path) -> Self:
        """What is noted; nothing has been, if there is no file."""
        place = Path(directory)
        file = place / "slot.json"
        return cls(place, **json.loads(file.read_text())) if file.exists() else cls(place)

    def noted(self, **facts: object) -> Self:
        """With these facts, on the disk when this returns."""
        changed = replace(self, **facts)  # type: ignore[arg-type]
        self.directory.mkdir(parents=True, exist_ok=True)
        values = {name: value for name, value in asdict(changed).items() if name != "directory"}
        durable(self.directory / "slot.json", json.dumps(values).encode())
        return changed

    @property
    def first_rows(self) -> Path:
        return self.directory / "first_rows"

    def part(self, number: int) -> Path:
        """The file of a part of the first rows."""
        return self.first_rows / f"{number:06d}.arrow"

    def cleared(self) -> None:
        """Remove what a run that died has left of the first rows."""
        shutil.rmtree(self.first_rows, ignore_errors=True)
        self.first_rows.mkdir(parents=True)


def durable(path: Path, content: bytes) -> None:
    """Write a file that is whole or not there, whenever the machine stops."""
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
