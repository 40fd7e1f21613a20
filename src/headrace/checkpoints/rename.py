"""Move the checkpoint of a renamed step, so that the step keeps its state."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.checkpoints.directory import PipelineDirectory
from headrace.checkpoints.integrity.continuity import metadata_files
from headrace.checkpoints.layout import checkpoint_of, find_orphans, has_epochs, list_checkpoints
from headrace.checkpoints.signatures import STATELESS, read_signature
from headrace.errors import OptionError, Problem, did_you_mean
from headrace.plan.queries import Query, queries_of
from headrace.sealed_files import RESTORE, is_sealed, seal, unseal

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

_OPTION = "--rename"


def rename_state(graph: Graph, directory: Path, old: str, new: str) -> None:
    """Move the checkpoint of the step `old` to the step `new` of the plan.

    State, offsets and checkpoint id are kept, so that sinks recognise committed epochs. The next run compares
    the state signature.

    Raises:
        OptionError: the pipeline is running, the plan has no step `new`, `old` has no checkpoint, `new` has
            one, or the step shares an exchange with another query.
    """
    query = _find_query(graph, new)
    acquired = PipelineDirectory.acquire(graph.name, directory)
    try:
        source, target = directory / "queries" / old.replace(":", "_"), checkpoint_of(directory, query)
        _check_movable(source, target, old, new)
        if target.exists():  # written by a run that ended before its first epoch
            shutil.rmtree(target)
        source.rename(target)
        _move_paths(source.name, target)
    finally:
        acquired.release()


def warn_of_unused_state(graph: Graph, directory: Path) -> list[Problem]:
    """Return a warning if a step starts with empty state while the state of a removed step is unused."""
    stateful = [query for query in queries_of(graph) if graph[query.output.step].stateful]
    empty = [query.name for query in stateful if not has_epochs(checkpoint_of(directory, query))]
    signatures = {
        name: read_signature(directory / "queries" / name) for name in find_orphans(graph, directory)
    }
    unused = [name for name, signature in signatures.items() if signature not in (None, STATELESS)]
    if not empty or not unused:
        return []
    old, new = unused[0], empty[0]
    what = f"`{new}` starts with empty state; that of `{old}`, which the plan no longer has, is unused"
    hint = f"if it was renamed, stop and move the state: headrace state FILE {_OPTION} {old}={new}"
    return [Problem(str(directory), what, hint)]


def _move_paths(old: str, target: Path) -> None:
    """Replace the directory of a query in the files in which Spark stores the paths of schemas of state."""
    before, after = (f"/queries/{name}/spark/".encode() for name in (old, target.name))
    for file in metadata_files(target / "spark"):
        sealed = is_sealed(stored := file.read_bytes())
        content = unseal(stored, file, hint=RESTORE) if sealed else stored
        if before in content:
            moved = content.replace(before, after)
            file.write_bytes(seal(moved, file) if sealed else moved)


def _find_query(graph: Graph, name: str) -> Query:
    queries = {query.name: query for query in queries_of(graph)}
    if name not in queries:
        raise OptionError(f"unknown step `{name}`", where=_OPTION, hint=did_you_mean(name, queries))
    if queries[name].reads or queries[name].writes:
        what = f"`{name}` shares an exchange with another query, whose checkpoint has the paths of its files"
        raise OptionError(what, where=_OPTION, hint="keep the name of the step, or start over with --fresh")
    return queries[name]


def _check_movable(source: Path, target: Path, old: str, new: str) -> None:
    if not has_epochs(source):
        known = [path.name for path in list_checkpoints(source.parents[1])]
        raise OptionError(f"`{old}` has no checkpoint", where=_OPTION, hint=did_you_mean(old, known))
    if has_epochs(target):
        hint = f"move {target} aside first if its state is not needed"
        raise OptionError(f"`{new}` has a checkpoint already", where=_OPTION, hint=hint)
