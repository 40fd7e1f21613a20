"""Read the state in a checkpoint: epoch and watermark of each stateful step, and its entries by key.

Uses Spark's state reader and the kernel's decoders. Nothing is locked or written, so that the state of a
running pipeline can be read, as of the last committed epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.checkpoints.layout import checkpoint_of, progress_of, queries_with_state
from headrace.debugging.state_entries import StateFiles, StoredEntries, entries_of
from headrace.runtime.queries.inspection import plan_queries
from headrace.runtime.queries.signatures import check_signatures
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session

if TYPE_CHECKING:
    from headrace.checkpoints.layout import Progress
    from headrace.plan.graph import Graph


@dataclass(frozen=True)
class StepState:
    """The state of one step."""

    step: str
    verb: str
    progress: Progress
    stored: StoredEntries

    def as_json(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            "step": self.step,
            "kind": self.verb,
            "epoch": self.progress.epoch,
            "watermark": self.progress.watermark,
            "partitions": self.progress.partitions,
            "keys": self.stored.keys,
            "counts": self.stored.counts,
            "entries": list(self.stored.entries),
        }


def near_keys(states: Iterable[StepState], key: str) -> list[str]:
    """Return the stored keys that are most similar to `key`, as text.

    >>> from headrace.checkpoints.layout import Progress
    >>> stored = StoredEntries(2, entries=({"key": {"card": "4711"}}, {"key": {"card": "08"}}))
    >>> near_keys([StepState("totals", "window", Progress(), stored)], "4712")
    ['4711']
    """
    entries = (entry for state in states for entry in state.stored.entries)
    keys = dict.fromkeys(",".join(str(value) for value in entry["key"].values()) for entry in entries)
    return get_close_matches(key, keys, n=5)


def state_of(
    graph: Graph,
    directory: Path,
    *,
    step: str | None = None,
    key: str | None = None,
    limit: int = 20,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> list[StepState]:
    """Read the state of the stateful steps of a plan.

    Args:
        graph: the plan.
        directory: the checkpoint directory.
        step: read only this step.
        key: read only this key: the values of its columns, separated by commas.
        limit: maximum number of keys per step; all are counted.
        master: the Spark master.
        conf: Spark settings.

    Raises:
        OptionError: there is no checkpoint, or `step` has none.
        PlanError: the state belongs to another declaration of the step.
    """
    names = {query.name for query in queries_with_state(graph, directory, step)}
    spark = open_session(graph.name, master=master, conf=conf, jars=jars_for(graph.connectors))
    with plan_queries(spark, graph) as planned:
        chosen = [each for each in planned if each.query.name in names]
        check_signatures(graph, chosen, directory)
        states = []
        for each in chosen:
            node = graph[each.query.output.step]
            files = StateFiles(spark, checkpoint_of(directory, each.query))
            progress = progress_of(files.checkpoint)
            entries = StoredEntries()
            if progress.epoch is not None:  # before the first commit there is no state to read
                entries = entries_of(files, node, each.stream_plan, key=key, limit=limit)
            states.append(StepState(node.name, node.verb, progress, entries))
        return states
