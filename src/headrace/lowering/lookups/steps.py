"""The lookups of one query: tasks of the workers, snapshots of reloaded tables, and row counters."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.connectors.base import Connector
from headrace.connectors.lookups import LookupContext
from headrace.lowering.counts import Counts
from headrace.lowering.lookups.snapshots import Snapshots
from headrace.lowering.lookups.worker import LookupTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.steps.rows.lookup import Lookup


class LookupSteps:
    """The lookups of one query; tasks and counters are created once per step and used in every epoch."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._tasks: dict[str, LookupTask] = {}
        self._snapshots: dict[str, Snapshots] = {}
        self.counts: dict[str, Counts] = {}
        """The counters of steps that drop or divert rows without a match."""

    def counts_of(self, node: Lookup) -> Counts | None:
        """Return the row counters of a step; None if it keeps rows without a match."""
        if node.miss == "null":
            return None
        if node.name not in self.counts:
            self.counts[node.name] = Counts(self._spark)
        return self.counts[node.name]

    def task_by_key(self, node: Lookup) -> LookupTask:
        """Return the task of a lookup by key."""
        if node.name not in self._tasks:
            assert isinstance(node.table, Connector)
            context = LookupContext(node.name, node.on, node.schema, node.max_requests)
            table = node.table.key_table(context)
            ttl = node.cache_ttl / 1e6
            self._tasks[node.name] = LookupTask(
                uuid.uuid4().hex, node.name, len(node.on), table, node.cache_size, ttl
            )
        return self._tasks[node.name]

    def task_of_snapshots(self, node: Lookup, checkpoint: Path, read: Callable[[], DataFrame]) -> LookupTask:
        """Return the task of a lookup in snapshots of a table."""
        if node.name not in self._tasks:
            assert isinstance(node.table, Connector)
            assert node.refresh is not None
            directory = checkpoint / "lookups" / node.name
            snapshots = Snapshots(
                node.name, directory, read, node.on, node.refresh / 1e6, version_of=node.table.content_version
            )
            self._snapshots[node.name] = snapshots
            table = snapshots.table(node.table_name)
            self._tasks[node.name] = LookupTask(uuid.uuid4().hex, node.name, len(node.on), table, 0, 0.0)
        return self._tasks[node.name]

    def enter(self, epoch: int) -> None:
        """Activate the tables of an epoch, before its tasks start."""
        for snapshots in self._snapshots.values():
            snapshots.enter(epoch)
