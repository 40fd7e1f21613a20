"""State signatures and sources of the queries of a plan or of a checkpoint directory, without Spark.

Only Spark can determine the types of computed columns; `QueryState.untyped` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.checkpoints import sources
from headrace.checkpoints.layout import checkpoint_of, read_record, require_checkpoints
from headrace.checkpoints.owner import read_owner
from headrace.checkpoints.signatures import STATELESS, Signature, read_signature, signature_of
from headrace.plan.queries import Query, queries_of
from headrace.schemas.datatypes import Struct
from headrace.schemas.fields import HIDDEN, walk
from headrace.steps.stateful.aggregate import Aggregate

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.steps.facts import Facts


@dataclass(frozen=True)
class QueryState:
    """The state signature and the sources of one query."""

    signature: Signature
    sources: sources.Record
    untyped: frozenset[str] = frozenset()
    """State columns whose types only Spark can determine."""

    @property
    def stateful(self) -> bool:
        return bool(self.signature.get("step") != STATELESS["step"])


@dataclass(frozen=True)
class PipelineState:
    """The queries of a pipeline by the name of their checkpoint."""

    pipeline: str
    queries: Mapping[str, QueryState]
    graph: Graph | None = None
    """The plan; None if it was read from a checkpoint directory."""


def state_of_plan(graph: Graph) -> PipelineState:
    """Return the queries of a plan."""
    queries = {checkpoint_name(query): _query_state(graph, query) for query in queries_of(graph)}
    return PipelineState(graph.name, queries, graph)


def state_of_checkpoint(directory: Path) -> PipelineState:
    """Return the queries that have a checkpoint in a directory.

    Raises:
        OptionError: no query has started an epoch.
    """
    queries = {path.name: _read_state(path) for path in require_checkpoints(directory)}
    return PipelineState(read_owner(directory), queries)


def checkpoint_name(query: Query) -> str:
    """Return the name of a query's directory in the checkpoint directory."""
    return checkpoint_of(Path(), query).name


def _read_state(checkpoint: Path) -> QueryState:
    signature = read_signature(checkpoint) or {}
    visible = {name: kind for name, kind in signature.get("columns", {}).items() if _is_visible(name)}
    return QueryState({**signature, "columns": visible}, read_record(checkpoint, sources.NAME) or {})


def _query_state(graph: Graph, query: Query) -> QueryState:
    step = graph[query.output.step]
    inputs = [graph.facts(ref) for ref in step.inputs] if step.stateful else []
    types = _source_types(inputs)
    columns = dict.fromkeys(name for facts in inputs for name in facts.columns or ())
    by_clock = any(facts.by_clock for facts in inputs)
    known = {name: types.get(name, "") for name in columns}
    changes = isinstance(step, Aggregate) and not step.emits_all(graph)
    signature = signature_of(step, known, by_clock=by_clock, changes=changes)
    untyped = {name for name, kind in signature["columns"].items() if not kind}
    if any(facts.columns is None for facts in inputs):
        untyped.add("*")
    return QueryState(signature, sources.record_of(graph, query), frozenset(untyped))


def _source_types(inputs: list[Facts]) -> dict[str, str]:
    """Return the declared types of source columns."""
    fields = [field for facts in inputs if facts.schema is not None for field in facts.schema.fields]
    # The text of a struct contains NOT NULL and comments, which a signature does not.
    plain = (f for f in fields if not any(isinstance(kind, Struct) for _, kind in walk(f.type, f.name)))
    return {field.name: str(field.type) for field in plain}


def _is_visible(column: str) -> bool:
    return not column.startswith(HIDDEN)
