"""A simulated disk that loses what was not synced, and the calls that the product makes to it.

A killed process leaves what it has written: it is in the page cache. A power failure leaves

- of each file the content of its last sync, and any sectors that were written since,
- of names (created, renamed, linked, removed) those of the last sync of any directory and some of the next
  ones in order, as a journal of metadata does. A name may lead to a file whose content is lost.

`SimulatedPath`, `Os`, `Fcntl` and `Shutil` are what modules of the product see in place of `Path`, `os`,
`fcntl` and `shutil`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from random import Random
from types import SimpleNamespace, TracebackType
from typing import Any, Self

from tests.simulation.world import Killed, Process, active

SECTOR = 512
CHECKPOINT = "/checkpoint"
"""What a process cannot reach any more after the disk has given its lock to another machine."""

Directory = dict[str, "Node"]
Change = tuple[str, str, "Node | None"]
"""A change of a name: directory, name, and the node that it leads to from then on."""


@dataclass(eq=False)
class Node:
    """A file or a directory."""

    entries: Directory | None = None
    """The names in a directory; None for a file."""
    content: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    unsynced: list[tuple[int, bytes]] = field(default_factory=list)
    """The writes since the last sync; a negative offset cuts the file off."""
    lock: Description | None = None
    twin: Node | None = None
    """The durable names of a directory; a file has one node with two contents."""


@dataclass(eq=False)
class Description:
    """An open file."""

    node: Node
    path: str
    process: Process | None
    number: int


class Disk:
    """One disk, which outlives processes and machines."""

    def __init__(self) -> None:
        self._root = Node({})
        self._root.twin = Node({})
        self._journal: list[list[Change]] = []
        """The changes of names that are not durable; those of one call are atomic."""
        self.descriptions: dict[int, Description] = {}
        self.locks_work = True

    def find(self, path: str) -> Node | None:
        """Return the node at a path."""
        node = self._root
        for part in _parts(path):
            if node.entries is None or (child := node.entries.get(part)) is None:
                return None
            node = child
        return node

    def need(self, path: str) -> Node:
        """Return the node at a path.

        Raises:
            FileNotFoundError: there is none.
        """
        if (node := self.find(path)) is None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        return node

    def directory(self, path: str) -> Directory:
        """Return the names in a directory.

        Raises:
            FileNotFoundError: there is none.
        """
        entries = self.need(path).entries
        if entries is None:
            raise NotADirectoryError(errno.ENOTDIR, "Not a directory", path)
        return entries

    def change(self, *changes: tuple[str, Node | None]) -> None:
        """Let paths lead to other nodes, or to none, at once."""
        applied = []
        for path, node in changes:
            parent, _, name = path.rpartition("/")
            entries = self.directory(parent)
            if node is None:
                entries.pop(name, None)
            else:
                entries[name] = node
            applied.append((parent, name, node))
        self._journal.append(applied)

    def write(self, node: Node, offset: int, content: bytes) -> None:
        """Write to the page cache."""
        if offset > len(node.content):
            node.content.extend(bytes(offset - len(node.content)))
        node.content[offset : offset + len(content)] = content
        node.unsynced.append((offset, content))

    def truncate(self, node: Node, size: int) -> None:
        """Cut a file off."""
        if size != len(node.content):
            del node.content[size:]
            node.unsynced.append((-1 - size, b""))

    def sync(self, node: Node) -> None:
        """Make a file durable; for a directory, the names of the whole disk."""
        if node.entries is None:
            node.synced = bytes(node.content)
            node.unsynced.clear()
        else:
            self._persist(len(self._journal))

    def fail_power(self, random: Random) -> None:
        """Lose what is not durable."""
        self._persist(random.randint(0, len(self._journal)))
        self._journal.clear()
        self._root = _twin(self._root)
        _recover_tree(self._root, random, set())
        self.descriptions.clear()

    def close_all(self, process: Process) -> None:
        """Close the files of a process that has ended; its locks end with them."""
        for number in [n for n, each in self.descriptions.items() if each.process is process]:
            description = self.descriptions.pop(number)
            if description.node.lock is description:
                description.node.lock = None

    def _persist(self, count: int) -> None:
        """Make the first changes of the journal durable."""
        for changes in self._journal[:count]:
            for parent, name, node in changes:
                node_of_parent = self._find_durable(parent)
                if node_of_parent is None or node_of_parent.entries is None:
                    continue
                if node is None:
                    node_of_parent.entries.pop(name, None)
                else:
                    node_of_parent.entries[name] = _twin(node)
        del self._journal[:count]

    def _find_durable(self, path: str) -> Node | None:
        node: Node | None = _twin(self._root)
        for part in _parts(path):
            node = node.entries.get(part) if node is not None and node.entries is not None else None
        return node


def _twin(node: Node) -> Node:
    """Return the node of the same file or directory among the durable ones."""
    if node.entries is None:
        return node
    if node.twin is None:
        node.twin = Node({})
    return node.twin


def _recover_tree(node: Node, random: Random, recovered: set[int]) -> None:
    """Set the content of files to what a power failure has left, and give directories new twins."""
    if node.entries is None:
        node.lock = None
        if id(node) not in recovered:
            recovered.add(id(node))
            _recover(node, random)
        return
    node.twin = Node({})
    for name, child in node.entries.items():
        _recover_tree(child, random, recovered)
        node.twin.entries[name] = _twin(child)  # type: ignore[index]


def _recover(node: Node, random: Random) -> None:
    """Set the content of a file to what a power failure has left of it."""
    if not node.unsynced:
        return
    content, chance = bytearray(node.synced), random.choice((0.0, 0.5, 1.0))
    for offset, written in node.unsynced:
        if offset < 0:
            del content[-1 - offset :]
            continue
        for begins in range(0, len(written), SECTOR):
            part = written[begins : begins + SECTOR]
            if random.random() < chance:
                at = offset + begins
                content.extend(bytes(max(0, at - len(content))))
                content[at : at + len(part)] = part
    node.content, node.synced = content, bytes(content)
    node.unsynced.clear()


_disks: list[Disk] = []


def use_disk(disk: Disk) -> None:
    """Make a disk that of the present history."""
    _disks[:] = [disk]


def _disk(point: str, path: str = "") -> Disk:
    """Return the disk, after a step; the checkpoint is out of reach of an evicted process."""
    world = active()
    world.step(point)
    thread = world.current
    if thread is not None and thread.process.evicted and path.startswith(CHECKPOINT):
        raise OSError(errno.ESTALE, "Stale file handle", path)
    return _disks[-1]


class SimulatedFile:
    """An open file; what a buffered one has not flushed is lost with its process."""

    def __init__(self, path: str, mode: str, *, buffered: bool) -> None:
        disk = _disk("disk.open", path)
        node = disk.find(path)
        if node is None:
            if "r" in mode:
                raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
            node = Node()
            disk.change((path, node))
        elif node.entries is not None:
            raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
        if "w" in mode:
            disk.truncate(node, 0)
        self._append, self._text, self._buffered = "a" in mode, "b" not in mode, buffered
        self._buffer = bytearray()
        self._position = len(node.content) if self._append else 0
        self._description = _open(disk, node, path)
        self.closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def fileno(self) -> int:
        return self._description.number

    def write(self, content: Any) -> int:
        data = content.encode() if isinstance(content, str) else bytes(content)
        if self._buffered:
            self._buffer += data
        else:
            self._write(data)
        return len(data)

    def read(self) -> Any:
        self.flush()
        _disk("disk.read", self._description.path)
        content = bytes(self._description.node.content[self._position :])
        self._position += len(content)
        return content.decode() if self._text else content

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self.flush()
        self._position = offset + (len(self._description.node.content) if whence == os.SEEK_END else 0)
        return self._position

    def truncate(self, size: int | None = None) -> None:
        self.flush()
        disk = _disk("disk.truncate", self._description.path)
        disk.truncate(self._description.node, self._position if size is None else size)

    def flush(self) -> None:
        if self._buffer:
            data = bytes(self._buffer)
            self._buffer.clear()
            self._write(data)

    def close(self) -> None:
        if not self.closed:
            self.flush()
            self.closed = True
            _close(self._description.number)

    def _write(self, data: bytes) -> None:
        world, node = active(), self._description.node
        process = self._description.process
        was_alive = process is not None and process.alive
        offset = len(node.content) if self._append else self._position
        try:
            disk = _disk("disk.write", self._description.path)
        except Killed:
            if was_alive and process is not None and not process.evicted:  # the first bytes are there
                _disks[-1].write(node, offset, data[: world.random.randrange(len(data))])
            raise
        disk.write(node, offset, data)
        self._position = offset + len(data)


class SimulatedPath(PurePosixPath):
    """A path on the simulated disk."""

    def open(self, mode: str = "r", buffering: int = -1) -> SimulatedFile:
        return SimulatedFile(str(self), mode, buffered=buffering != 0)

    def read_bytes(self) -> bytes:
        disk = _disk("disk.read", str(self))
        node = disk.need(str(self))
        if node.entries is not None:
            raise IsADirectoryError(errno.EISDIR, "Is a directory", str(self))
        return bytes(node.content)

    def read_text(self) -> str:
        return self.read_bytes().decode()

    def write_bytes(self, content: bytes) -> None:
        with self.open("wb") as file:
            file.write(content)

    def touch(self) -> None:
        self.open("ab").close()

    def exists(self) -> bool:
        return _disk("disk.stat", str(self)).find(str(self)) is not None

    def is_dir(self) -> bool:
        node = _disk("disk.stat", str(self)).find(str(self))
        return node is not None and node.entries is not None

    def is_file(self) -> bool:
        node = _disk("disk.stat", str(self)).find(str(self))
        return node is not None and node.entries is None

    def stat(self) -> Any:
        node = _disk("disk.stat", str(self)).need(str(self))
        return SimpleNamespace(st_size=len(node.content), st_ino=id(node))

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        path = str(self)
        disk = _disk("disk.mkdir", path)
        if disk.find(path) is not None:
            if exist_ok:
                return
            raise FileExistsError(errno.EEXIST, "File exists", path)
        if parents and disk.find(str(self.parent)) is None:
            self.parent.mkdir(parents=True, exist_ok=True)
        if disk.find(path) is None:  # another process may have created it
            disk.change((path, Node({})))

    def iterdir(self) -> Iterator[Self]:
        names = _disk("disk.list", str(self)).directory(str(self))
        return iter([self / name for name in names])

    def glob(self, pattern: str) -> Iterator[Self]:
        return self._matches(_translate(pattern))

    def rglob(self, pattern: str) -> Iterator[Self]:
        return self._matches(_translate(f"**/{pattern}"))

    def unlink(self, *, missing_ok: bool = False) -> None:
        disk = _disk("disk.unlink", str(self))
        if disk.find(str(self)) is not None:
            disk.change((str(self), None))
        elif not missing_ok:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(self))

    def replace(self, target: PurePosixPath | str) -> Self:
        disk = _disk("disk.rename", str(self))
        node = disk.need(str(self))
        disk.directory(str(PurePosixPath(target).parent))
        disk.change((str(self), None), (str(target), node))
        return type(self)(str(target))

    rename = replace

    def absolute(self) -> Self:
        return self

    def _matches(self, pattern: re.Pattern[str]) -> Iterator[Self]:
        matches = []
        root = _disk("disk.list", str(self)).find(str(self))
        pending = [("", root)] if root is not None else []
        depth = pattern.pattern.count("/")
        while pending:
            prefix, node = pending.pop()
            for name, child in (node.entries or {}).items():
                path = f"{prefix}{name}"
                if pattern.fullmatch(path):
                    matches.append(self / path)
                if child.entries and (".*" in pattern.pattern or path.count("/") < depth):
                    pending.append((f"{path}/", child))
        return iter(matches)


class _OsPath:
    @staticmethod
    def samestat(first: Any, second: Any) -> bool:
        return bool(first.st_ino == second.st_ino)


class Os:
    """The functions of the module `os`."""

    O_RDONLY, SEEK_END, SEEK_SET = os.O_RDONLY, os.SEEK_END, os.SEEK_SET
    path = _OsPath
    environ = os.environ

    @staticmethod
    def open(path: SimulatedPath, flags: int) -> int:
        disk = _disk("disk.open", str(path))
        return _open(disk, disk.need(str(path)), str(path)).number

    @staticmethod
    def close(number: int) -> None:
        _close(number)

    @staticmethod
    def fsync(number: int) -> None:
        disk = _disk("disk.fsync", _described(number).path)
        disk.sync(_described(number).node)

    fdatasync = fsync

    @staticmethod
    def pwrite(number: int, content: bytes, offset: int) -> int:
        disk = _disk("disk.write", _described(number).path)
        disk.write(_described(number).node, offset, content)
        return len(content)

    @staticmethod
    def pread(number: int, count: int, offset: int) -> bytes:
        _disk("disk.read", _described(number).path)
        return bytes(_described(number).node.content[offset : offset + count])

    @staticmethod
    def ftruncate(number: int, size: int) -> None:
        disk = _disk("disk.truncate", _described(number).path)
        disk.truncate(_described(number).node, size)

    @staticmethod
    def link(source: SimulatedPath, target: SimulatedPath) -> None:
        disk = _disk("disk.link", str(source))
        if disk.find(str(target)) is not None:
            raise FileExistsError(errno.EEXIST, "File exists", str(target))
        disk.change((str(target), disk.need(str(source))))

    @staticmethod
    def fstat(number: int) -> Any:
        return SimpleNamespace(st_ino=id(_described(number).node))

    @staticmethod
    def getpid() -> int:
        thread = active().current
        return thread.process.pid if thread is not None else 0

    @staticmethod
    def urandom(count: int) -> bytes:
        return active().random.randbytes(count)


class Fcntl:
    """The functions of the module `fcntl`."""

    LOCK_EX, LOCK_NB, LOCK_UN = fcntl.LOCK_EX, fcntl.LOCK_NB, fcntl.LOCK_UN

    @staticmethod
    def flock(file: SimulatedFile, operation: int) -> None:
        _disk("disk.lock")
        description = _described(file.fileno())
        node = description.node
        if operation == fcntl.LOCK_UN:
            node.lock = None
        elif node.lock is not None and node.lock is not description:
            raise BlockingIOError(errno.EWOULDBLOCK, "Resource temporarily unavailable")
        else:
            node.lock = description


class Shutil:
    """The functions of the module `shutil`."""

    @staticmethod
    def rmtree(path: SimulatedPath, ignore_errors: bool = False) -> None:
        for child in path.iterdir():
            if child.is_dir():
                Shutil.rmtree(child)
            else:
                child.unlink(missing_ok=True)
        path.unlink()


def _open(disk: Disk, node: Node, path: str) -> Description:
    thread = active().current
    number = max(disk.descriptions, default=2) + 1
    description = Description(node, path, thread.process if thread is not None else None, number)
    disk.descriptions[number] = description
    return description


def _close(number: int) -> None:
    disk = _disks[-1]
    description = disk.descriptions.pop(number, None)
    if description is not None and description.node.lock is description:
        description.node.lock = None


def _described(number: int) -> Description:
    """Return an open file.

    Raises:
        OSError: the disk has closed it, for a process that it evicted.
    """
    if number not in _disks[-1].descriptions:
        raise OSError(errno.EBADF, "Bad file descriptor")
    return _disks[-1].descriptions[number]


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


@lru_cache
def _translate(pattern: str) -> re.Pattern[str]:
    """Return the expression of a glob."""
    parts = []
    for part in pattern.split("/"):
        if part == "**":
            parts.append("(?:.*/)?")
        else:
            parts.append(re.escape(part).replace(r"\*", "[^/]*").replace(r"\[0\-9\]", "[0-9]") + "/")
    return re.compile("".join(parts).removesuffix("/"))
