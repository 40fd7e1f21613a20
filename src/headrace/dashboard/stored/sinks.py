"""The sinks of a job: rows written, and the last epochs committed by its query and in its ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.dashboard.feeds.base import JobFigures
from headrace.dashboard.stored.checkpoints import QueryCheckpoint


@dataclass(frozen=True)
class SinkView:
    """One sink."""

    name: str
    target: str
    """The connector and its options."""
    query: str
    rows: int | None
    epoch: int | None
    """The epoch last committed by the query."""
    ledger: int | None
    """The epoch last committed in the ledger, or -1; None if the sink has no ledger."""
    committed: float | None


def list_sinks(
    plan: Mapping[str, Any], figures: JobFigures, checkpoints: Iterable[QueryCheckpoint]
) -> list[SinkView]:
    """Return the sinks of a plan in its order."""
    by_query = {checkpoint.query: checkpoint for checkpoint in checkpoints}
    queries = {sink: query["name"] for query in plan.get("queries", ()) for sink in query["sinks"]}
    return [
        _view(step, queries.get(step["name"], ""), figures, by_query)
        for step in plan.get("steps", ())
        if step["kind"] == "sink"
    ]


def _view(
    step: Mapping[str, Any], query: str, figures: JobFigures, checkpoints: Mapping[str, QueryCheckpoint]
) -> SinkView:
    name, checkpoint = step["name"], checkpoints.get(query)
    measured = figures.steps.get(name)
    return SinkView(
        name,
        next(iter(step.get("facts", ())), ""),
        query,
        None if measured is None else measured.rows_out,
        None if checkpoint is None else checkpoint.epoch,
        None if measured is None else measured.ledger_epoch,
        None if checkpoint is None else checkpoint.committed,
    )
