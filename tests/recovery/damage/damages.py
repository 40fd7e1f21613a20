"""Damages of files: one bit, truncated, emptied, deleted, replaced by an older version."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

KINDS = ("bit", "truncated", "emptied", "deleted", "older")
_IGNORED = re.compile(r"lock|standby|logs/.*|spill/.*|unrouted/[^/]+/[^_].*")
"""Files of a run, and rows of side outputs: no run reads them again."""
_UUID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}")


@dataclass(frozen=True)
class Damage:
    """A damage of one file, whose path is relative to the checkpoint directory."""

    kind: str
    file: str

    def __str__(self) -> str:
        return f"{self.kind} {self.file}"

    def apply(self, checkpoint: Path, before: Path, chance: random.Random) -> bool:
        """Damage the file; return False if the damage would change nothing.

        Args:
            checkpoint: the directory.
            before: an earlier copy of it.
            chance: selects the bit.
        """
        file = checkpoint / self.file
        content = file.read_bytes()
        if self.kind == "deleted":
            file.unlink()
            return True
        if self.kind == "older":
            return self._replace(file, before / self.file)
        changed = {"truncated": content[: len(content) // 2], "emptied": b""}.get(
            self.kind, _flip(content, chance)
        )
        file.write_bytes(changed)
        return changed != content

    def _replace(self, file: Path, earlier: Path) -> bool:
        """Replace a file by an older version of itself, or by the file of the number before."""
        if not earlier.exists() or earlier.read_bytes() == file.read_bytes():
            siblings = sorted(
                other for other in file.parent.iterdir() if _shape(other.name) == _shape(file.name)
            )
            position = siblings.index(file)
            if position == 0:
                return False
            earlier = siblings[position - 1]
        if earlier.read_bytes() == file.read_bytes():
            return False
        shutil.copyfile(earlier, file)
        return True


def select(checkpoint: Path, number: int, seed: int) -> list[Damage]:
    """Select damages: every kind of damage of every kind of file, then random ones up to the number."""
    chance = random.Random(seed)
    groups: dict[tuple[str, str], list[Damage]] = {}
    for file in sorted(path for path in checkpoint.rglob("*") if path.is_file()):
        name = str(file.relative_to(checkpoint))
        if _IGNORED.fullmatch(name):
            continue
        for kind in KINDS:
            groups.setdefault((_shape(name), kind), []).append(Damage(kind, name))
    for damages in groups.values():
        chance.shuffle(damages)
    selected: list[Damage] = []
    rounds: Sequence[list[Damage]] = list(groups.values())
    while len(selected) < number and any(rounds):
        order = [damages for damages in rounds if damages]
        chance.shuffle(order)
        selected += [damages.pop() for damages in order]
    return selected[:number]


def _shape(name: str) -> str:
    """Return a path without numbers and ids: files with the same one are of the same kind."""
    return re.sub(r"\d+", "0", _UUID.sub("ID", name))


def _flip(content: bytes, chance: random.Random) -> bytes:
    if not content:
        return content
    changed = bytearray(content)
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)
