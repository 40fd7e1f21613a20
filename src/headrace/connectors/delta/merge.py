"""Upserts: the staged rows of an epoch merged into the table by key, by delta-rs on the driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import DELETED
from headrace.connectors.delta.ledger import Write, commit_files
from headrace.connectors.delta.location import Location
from headrace.connectors.delta.staging import StagedFiles

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

KeyPaths = Sequence[tuple[str, ...]]
_ROW = "__row"


def commit_changes(location: Location, staged: StagedFiles, key: KeyPaths) -> Write:
    """Return the commit that upserts and deletes the staged rows; the last row of a key is valid."""

    def write(table: DeltaTable, properties: CommitProperties) -> None:
        rows = _last_rows(_read(location, staged), key) if staged.rows else None
        # A merge that changes no row commits nothing, but the epoch must be recorded.
        if rows is None or not _merge(table, rows, key, properties):
            commit_files([])(table, properties)

    return write


def _read(location: Location, staged: StagedFiles) -> Any:
    """Return the staged rows, in the order of tasks and rows."""
    import pyarrow
    from pyarrow import parquet

    files = location.open_files()
    return pyarrow.concat_tables(
        [parquet.read_table(file.path, filesystem=files, partitioning=None) for file in staged.files]
    )


def _last_rows(rows: Any, key: KeyPaths) -> Any:
    """Return the last row of each key, with the columns `__key0`, `__key1`, ... of the key."""
    import pyarrow
    from pyarrow import compute

    for number, path in enumerate(key):
        column = rows.column(path[0])
        values = compute.struct_field(column, list(path[1:])) if path[1:] else column
        rows = rows.append_column(_key(number), values)
    names = [_key(number) for number in range(len(key))]
    numbered = rows.select(names).append_column(_ROW, pyarrow.array(range(rows.num_rows)))
    return rows.take(numbered.group_by(names).aggregate([(_ROW, "max")]).column(f"{_ROW}_max"))


def _merge(table: DeltaTable, rows: Any, key: KeyPaths, properties: CommitProperties) -> bool:
    """Merge rows into the table; return False if nothing has changed, so that nothing is committed."""
    conditions = (_equals(path, number, rows) for number, path in enumerate(key))
    columns = [name for name in rows.column_names if not name.startswith("__")]
    values = {_quote(name): f"source.{_quote(name)}" for name in columns}
    merger = table.merge(
        rows,
        " AND ".join(conditions),
        source_alias="source",
        target_alias="target",
        streamed_exec=False,  # files whose statistics exclude the keys are then skipped
        commit_properties=properties,
    )
    merger = merger.when_matched_delete(f"source.{_quote(DELETED)}").when_matched_update(values)
    metrics = merger.when_not_matched_insert(values, f"NOT source.{_quote(DELETED)}").execute()
    return bool(metrics["num_target_files_added"] or metrics["num_target_files_removed"])


def _equals(path: tuple[str, ...], number: int, rows: Any) -> str:
    """Return the comparison of a key column; nulls are equal, which only the slower operator supports."""
    name = _key(number)
    operator = "IS NOT DISTINCT FROM" if rows.column(name).null_count else "="
    target = _quote(path[0]) + "".join(f"['{part}']" for part in path[1:])
    return f"(target.{target} {operator} source.{_quote(name)})"


def _key(number: int) -> str:
    return f"__key{number}"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
