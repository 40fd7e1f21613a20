"""The few things the files sink asks of a file system, and the two kinds there are.

The commit of an epoch rests on `create`: it makes a file with its whole content, or finds that the name is taken; of
two processes that try, one succeeds. Local disks do that with a hard link. Elsewhere Spark's own checkpoint files
need the same, so its manager is used, and a store is as good for a sink as it is for a checkpoint.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import Any, Protocol

from headrace.spark.gateway import java_session, jvm


class Store(Protocol):
    """A file system; paths are texts as the user wrote them, joined with `/`."""

    def names(self, directory: str) -> list[str]:
        """What is in a directory, sorted; nothing if there is no directory."""
        ...

    def tree(self, directory: str) -> list[tuple[str, int]]:
        """The files under a directory, relative to it, with their sizes; hidden ones left out."""
        ...

    def read(self, path: str) -> bytes: ...

    def create(self, path: str, content: bytes) -> bool:
        """Make the file with this content; false, and nothing changed, if the name is taken."""
        ...

    def move(self, source: str, target: str) -> bool:
        """Rename over whatever is there; false if there is no source (somebody else moved it)."""
        ...

    def exists(self, path: str) -> bool: ...

    def remove(self, path: str) -> None:
        """Remove a file or a whole directory; nothing happens if there is none."""
        ...


def local_path(path: str) -> Path | None:
    """The path on this machine's disk, or None if the text leads elsewhere.

    A path without a scheme is on this machine, whatever Hadoop's default file system is.

    >>> local_path("file:///tmp/a"), local_path("hdfs://host/x")
    (PosixPath('/tmp/a'), None)
    """
    scheme, found, rest = path.partition("://")
    if found and scheme == "file":
        return Path(rest)
    return None if found else Path(path)


def spark_path(path: str) -> str:
    """The path as Spark is told it: whole, so that neither its directory nor its default file system matters.

    >>> spark_path("/tmp/out/"), spark_path("hdfs://host/x")
    ('file:///tmp/out', 'hdfs://host/x')
    """
    local = local_path(path)
    return path.rstrip("/") if local is None else f"file://{local.absolute()}"


class LocalStore:
    """This machine's disk (or a share mounted on it)."""

    def names(self, directory: str) -> list[str]:
        try:
            return sorted(entry.name for entry in _local(directory).iterdir())
        except FileNotFoundError:
            return []

    def tree(self, directory: str) -> list[tuple[str, int]]:
        root = _local(directory)
        files = (file for file in root.rglob("*") if file.is_file())
        return sorted((str(f.relative_to(root)), f.stat().st_size) for f in files if _visible(f.name))

    def read(self, path: str) -> bytes:
        return _local(path).read_bytes()

    def create(self, path: str, content: bytes) -> bool:
        target = _local(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        try:
            draft.write_bytes(content)
            os.link(draft, target)
        except FileExistsError:
            return False
        finally:
            draft.unlink(missing_ok=True)
        return True

    def move(self, source: str, target: str) -> bool:
        _local(target).parent.mkdir(parents=True, exist_ok=True)
        try:
            _local(source).replace(_local(target))
        except FileNotFoundError:
            return False
        return True

    def exists(self, path: str) -> bool:
        return _local(path).exists()

    def remove(self, path: str) -> None:
        target = _local(path)
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)


class HadoopStore:
    """Any file system that Spark can reach, through its JVM."""

    def __init__(self, spark: Any, root: str) -> None:
        self._java = jvm(spark)
        configuration = java_session(spark).sessionState().newHadoopConf()
        self._files = self._path(root).getFileSystem(configuration)
        managers = self._java.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
        self._manager = managers.create(self._path(root), configuration)

    def names(self, directory: str) -> list[str]:
        if not self.exists(directory):
            return []
        return sorted(status.getPath().getName() for status in self._files.listStatus(self._path(directory)))

    def tree(self, directory: str) -> list[tuple[str, int]]:
        found, listing = [], self._files.listFiles(self._path(directory), True)
        root = self._files.makeQualified(self._path(directory)).toString().rstrip("/")
        while listing.hasNext():
            status = listing.next()
            if _visible(status.getPath().getName()):
                found.append((status.getPath().toString().removeprefix(root + "/"), status.getLen()))
        return sorted(found)

    def read(self, path: str) -> bytes:
        stream = self._files.open(self._path(path))
        try:
            return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def create(self, path: str, content: bytes) -> bool:
        self._files.mkdirs(self._path(path).getParent())
        stream = self._manager.createAtomic(self._path(path), False)
        try:
            stream.write(content)
            stream.close()
        except Exception as error:  # Hadoop's class of it depends on the file system
            stream.cancel()
            if "AlreadyExistsException" in str(error):
                return False
            raise
        return True

    def move(self, source: str, target: str) -> bool:
        self._files.mkdirs(self._path(target).getParent())
        if not self.exists(source):
            return False
        if self.exists(target):
            self._files.delete(self._path(target), False)
        return bool(self._files.rename(self._path(source), self._path(target)))

    def exists(self, path: str) -> bool:
        return bool(self._files.exists(self._path(path)))

    def remove(self, path: str) -> None:
        self._files.delete(self._path(path), True)

    def _path(self, path: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(path)


def _local(path: str) -> Path:
    found = local_path(path)
    if found is None:
        raise ValueError(f"{path} is not on this machine's disk")
    return found


def _visible(name: str) -> bool:
    return not name.startswith(("_", "."))
