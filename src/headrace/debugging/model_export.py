"""Read the model of a key from the checkpoint of a step that learns."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.checkpoints.keys import is_key, key_of
from headrace.checkpoints.layout import checkpoint_of, progress_of, queries_with_state
from headrace.debugging.dispatch import load_inspection, read_model
from headrace.debugging.state_entries import DUE_BYTES, STATE, StateFiles
from headrace.errors import OptionError, did_you_mean
from headrace.runtime.queries.inspection import plan_queries
from headrace.runtime.queries.signatures import check_signatures
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.steps.base import Node


@dataclass(frozen=True)
class ExportedModel:
    """A model as it was after the last committed epoch."""

    step: str
    content: bytes
    """The pickled model."""
    rows: int
    """The number of rows that it has learned."""
    epoch: int


def export_model(
    graph: Graph,
    directory: Path,
    *,
    key: Sequence[str],
    step: str | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> ExportedModel:
    """Return the model of a key.

    Args:
        graph: the plan.
        directory: the checkpoint directory.
        key: the arguments of `key_of`.
        step: the step; it can be omitted if only one learns.
        master: the Spark master.
        conf: Spark settings.

    Raises:
        OptionError: there is no such step or key, or no checkpoint.
        PlanError: the state belongs to another declaration of the step.
    """
    node = _step(graph, step)
    wanted = key_of(key, node.key_names)
    names = {query.name for query in queries_with_state(graph, directory, node.name)}
    spark = open_session(graph.name, master=master, conf=conf, jars=jars_for(graph.connectors))
    with plan_queries(spark, graph) as planned:
        [query] = [each for each in planned if each.query.name in names]
        check_signatures(graph, [query], directory)
        files = StateFiles(spark, checkpoint_of(directory, query.query))
        epoch = progress_of(files.checkpoint).epoch
        rows = [] if epoch is None else _entries(files, wanted)
    if not rows:
        text = ",".join(wanted.values()) or "all rows"
        raise OptionError(f"`{node.name}` has no model of {text}", where="--key", hint="see headrace state")
    load_inspection(node)
    model, learned = read_model(node, bytes(rows[0]["value"])[DUE_BYTES:])
    if model is None:
        raise OptionError("the model has learned no row yet", where=f"`{node.name}`")
    return ExportedModel(node.name, pickle.dumps(model), learned, epoch or 0)


def _entries(files: StateFiles, wanted: Mapping[str, str]) -> list[Any]:
    entries = files.entries(STATE)
    schema: Any = entries.schema["key"].dataType
    # A step without a key has a constant key in its state, hence strict=False.
    key = dict(zip(schema.names, wanted.values(), strict=False))
    return entries.where(is_key(key, schema, "key")).select("value").collect()


def _step(graph: Graph, step: str | None) -> Node:
    known = {node.name: node for node in graph if node.verb == "learn"}
    if not known:
        raise OptionError(f"expected a step with `learn`; `{graph.name}` has none", where="FILE")
    if step is None and len(known) > 1:
        raise OptionError("several steps learn", where="--step", hint=f"one of {', '.join(known)}")
    if step is not None and step not in known:
        raise OptionError(f"`{step}` is no step that learns", where="--step", hint=did_you_mean(step, known))
    return known[step] if step is not None else next(iter(known.values()))
