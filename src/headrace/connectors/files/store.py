"""The file system operations of the files sink, for local disks and for Hadoop file systems.

The commit of an epoch relies on `create`, which creates a file with all of its content unless the name
exists: of two processes that try, one succeeds. Local disks do this with a hard link, S3 with a conditional
write; other file systems through the checkpoint file manager of Spark, which has the same requirement.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import Any, Protocol

from headrace.spark.gateway import JavaError, java_causes, java_session, jvm

_CONDITIONAL = "fs.option.create.conditional.overwrite"
"""Hadoop's option for `If-None-Match: *`."""


class Store(Protocol):
    """A file system; paths are text as the user wrote it, joined with `/`."""

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory, sorted; empty if the directory does not exist."""
        ...

    def tree(self, directory: str) -> list[tuple[str, int]]:
        """Return the visible files under a directory, relative to it, with their sizes."""
        ...

    def read(self, path: str) -> bytes: ...

    def create(self, path: str, content: bytes) -> bool:
        """Create a file with this content; return False, without a change, if the name exists."""
        ...

    def move(self, source: str, target: str) -> bool:
        """Rename a file, replacing the target; return False if the source does not exist."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file or a directory, if it exists."""
        ...


def local_path(path: str) -> Path | None:
    """Return the path on the local disk, or None for other file systems.

    A path without a scheme is local, regardless of Hadoop's default file system.

    >>> local_path("file:///tmp/a"), local_path("hdfs://host/x")
    (PosixPath('/tmp/a'), None)
    """
    scheme, separator, rest = path.partition("://")
    if separator and scheme == "file":
        return Path(rest)
    return None if separator else Path(path)


def spark_path(path: str) -> str:
    """Return the absolute path for Spark, independent of its working directory and default file system.

    >>> spark_path("/tmp/out/"), spark_path("hdfs://host/x")
    ('file:///tmp/out', 'hdfs://host/x')
    """
    local = local_path(path)
    return path.rstrip("/") if local is None else f"file://{local.absolute()}"


class LocalStore:
    """The local disk, or a mounted share."""

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

    def remove(self, path: str) -> None:
        target = _local(path)
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)


class HadoopStore:
    """Any file system that Spark can reach."""

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
        files, listing = [], self._files.listFiles(self._path(directory), True)
        root = self._files.makeQualified(self._path(directory)).toString().rstrip("/")
        while listing.hasNext():
            status = listing.next()
            if _visible(status.getPath().getName()):
                files.append((status.getPath().toString().removeprefix(root + "/"), status.getLen()))
        return sorted(files)

    def read(self, path: str) -> bytes:
        stream = self._files.open(self._path(path))
        try:
            return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def create(self, path: str, content: bytes) -> bool:
        if path.startswith("s3a://"):
            return self._create_object(path, content)
        self._files.mkdirs(self._path(path).getParent())
        stream = self._manager.createAtomic(self._path(path), False)
        try:
            stream.write(content)
            stream.close()
        except Exception as error:  # the class of the exception depends on the file system
            stream.cancel()
            if "AlreadyExistsException" in str(error):
                return False
            raise
        return True

    def _create_object(self, path: str, content: bytes) -> bool:
        """Create an object with a conditional write: S3 has no rename that fails if the name exists."""
        builder = self._files.createFile(self._path(path))
        stream = builder.overwrite(False).recursive().must(_CONDITIONAL, True).build()
        try:
            stream.write(content)
            stream.close()
        except JavaError as error:
            if any("StatusCode: 412" in f"{name} {text}" for name, text in java_causes(error)):
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
    local = local_path(path)
    if local is None:
        raise ValueError(f"{path} is not on the local disk")
    return local


def _visible(name: str) -> bool:
    return not name.startswith(("_", "."))
