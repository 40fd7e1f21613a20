"""Staged files of a Delta sink: tasks write them into the table's directory, and the commit adds them.

    headrace-<digest of pipeline and sink>/<checkpoint id>/<epoch / 1000>/<epoch>/[country=FI/]*.parquet
    _headrace-<digest>/...      rows that are merged into the table, in files that it never refers to

No version of the table refers to a file before its commit. The next `open` removes the files of epochs after
the last committed one, under each checkpoint id. Files that remain, such as those of a task that was
retried, are removed by VACUUM like any other file without a reference.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import WriteContext
from headrace.connectors.delta.location import Location
from headrace.connectors.delta.statistics import file_statistics
from headrace.connectors.retry import portable_errors

if TYPE_CHECKING:
    from deltalake.transaction import AddAction
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame

_RESULT = "task int, path string, size bigint, rows bigint, partition string, statistics string"
_GROUP = 1000
"""Epochs per directory, which bounds the number of names that the next `open` lists."""
_MAX_PARTITIONS = 100_000
"""The maximum number of partitions that a task writes."""


@dataclass(frozen=True)
class StagedFiles:
    """The files of a staged epoch."""

    files: Sequence[StagedFile]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def add_actions(self) -> list[AddAction]:
        """Return the actions that add the files to the table."""
        return [file.add_action() for file in self.files]


@dataclass(frozen=True)
class StagedFile:
    """A file that a task has written."""

    task: int
    path: str
    size: int
    rows: int
    partition: str
    """The partition values, as JSON."""
    statistics: str

    def add_action(self) -> AddAction:
        """Return the action that adds the file to the table."""
        from deltalake.transaction import AddAction

        now = int(time.time() * 1000)
        return AddAction(self.path, self.size, json.loads(self.partition), now, True, self.statistics)


class StagingDirectory:
    """The staged files of one sink.

    Args:
        location: the table.
        context: the sink and the checkpoint id.
        merged: whether the rows are merged into the table, instead of the files being added to it.
    """

    def __init__(self, location: Location, context: WriteContext, *, merged: bool) -> None:
        digest = sha256(f"{context.pipeline}\n{context.sink}".encode()).hexdigest()[:12]
        self._location, self._checkpoint_id = location, context.checkpoint_id
        self._added, self._merged = f"headrace-{digest}", f"_headrace-{digest}"
        self._root = self._merged if merged else self._added

    def write(self, epoch: int, frame: DataFrame, partition_by: Sequence[str]) -> StagedFiles:
        """Compute a frame and write its rows, in parallel."""
        write = TaskWriter(self._location, self._path(epoch), tuple(partition_by))
        files = frame.mapInArrow(write, _RESULT).collect()
        return StagedFiles(sorted((StagedFile(*file) for file in files), key=lambda file: file.task))

    def remove(self, epoch: int) -> None:
        """Remove the files of an epoch that is not committed, or whose rows are merged."""
        self._remove(self._path(epoch))

    def sweep(self, last_epoch: Callable[[str], int]) -> None:
        """Remove the files of older runs that were not committed.

        Args:
            last_epoch: returns the epoch last committed under a checkpoint id, or -1.
        """
        for checkpoint_id in self._names(self._added):
            directory, last = f"{self._added}/{checkpoint_id}", last_epoch(checkpoint_id)
            for group in self._names(directory):
                if int(group) >= last // _GROUP:
                    epochs = [epoch for epoch in self._names(f"{directory}/{group}") if int(epoch) > last]
                    for epoch in epochs:
                        self._remove(f"{directory}/{group}/{epoch}")
        self._remove(self._merged)

    def _names(self, directory: str) -> list[str]:
        from pyarrow.fs import FileSelector

        infos = self._location.open_files().get_file_info(FileSelector(directory, allow_not_found=True))
        return [info.base_name for info in infos]

    def _remove(self, directory: str) -> None:
        from pyarrow.fs import FileSelector

        files = self._location.open_files()
        for info in files.get_file_info(FileSelector(directory, allow_not_found=True, recursive=True)):
            if info.is_file:
                files.delete_file(info.path)

    def _path(self, epoch: int) -> str:
        return f"{self._root}/{self._checkpoint_id}/{epoch // _GROUP}/{epoch}"


@dataclass(frozen=True)
class TaskWriter:
    """Writes the rows of one task, on an executor.

    Args:
        location: the table.
        directory: where files are written, relative to the table.
        partition_by: the partition columns, which the files do not hold.
    """

    location: Location
    directory: str
    partition_by: tuple[str, ...]

    def __call__(self, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        import pyarrow
        from pyspark import TaskContext

        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        rows = pyarrow.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        with portable_errors(self.location):
            files = self._write(rows)
        columns = {name: [file[name] for file in files] for name in files[0]}
        yield pyarrow.record_batch(
            {"task": pyarrow.repeat(pyarrow.scalar(task, pyarrow.int32()), len(files)), **columns}
        )

    def _write(self, rows: Any) -> list[dict[str, Any]]:
        import pyarrow
        from pyarrow import dataset

        columns = pyarrow.schema([rows.schema.field(name) for name in self.partition_by])
        partitioning = dataset.partitioning(columns, flavor="hive")
        written: list[Any] = []
        dataset.write_dataset(
            rows,
            self.directory,
            # A retried task or epoch never replaces a file.
            basename_template=f"{uuid.uuid4().hex}-{{i}}.parquet",
            format="parquet",
            file_options=dataset.ParquetFileFormat().make_write_options(store_schema=False),
            partitioning=partitioning,
            filesystem=self.location.open_files(),
            existing_data_behavior="overwrite_or_ignore",
            file_visitor=written.append,
            max_partitions=_MAX_PARTITIONS,
        )
        return [self._describe(file, partitioning) for file in written]

    def _describe(self, file: Any, partitioning: Any) -> dict[str, Any]:
        from pyarrow import dataset

        values = dataset.get_partition_keys(partitioning.parse(file.path)) if self.partition_by else {}
        return {
            "path": file.path,
            "size": file.size,
            "rows": file.metadata.num_rows,
            "partition": json.dumps({name: _partition_text(values.get(name)) for name in self.partition_by}),
            "statistics": json.dumps(file_statistics(file.metadata)),
        }


def _partition_text(value: Any) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
