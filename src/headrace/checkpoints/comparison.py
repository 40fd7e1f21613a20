"""Comparison of two versions of a pipeline before one replaces the other: `headrace diff`.

Returns, per step, the decision that a run would make at its start, while the old version still runs. A step
migrates if only its name has changed: `rename_state` moves its checkpoint. State of another declaration
cannot be converted; its rows must be replayed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from headrace.checkpoints.planned_state import PipelineState, QueryState, checkpoint_name, state_of_plan
from headrace.checkpoints.signatures import differences
from headrace.checkpoints.sources import source_problems
from headrace.plan.queries import Query, queries_of
from headrace.plan.replays import describe_effect, replay_effect, replay_starts

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.steps.endpoints.sink import Sink

Verdict = Literal["compatible", "migrates", "replay", "new", "removed"]
SinkVerdict = Literal["continues", "overwritten", "appended", "replaced", "new", "removed"]


@dataclass(frozen=True)
class StepChange:
    """The verdict about the checkpoint of one step."""

    step: str
    verb: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    replay_from: tuple[str, ...] = ()
    """The positions at which a replay starts, one per source; also for a new step."""
    renamed_from: str = ""
    unchecked: tuple[str, ...] = ()
    """Columns whose types are compared only when the run starts; `*` if only Spark can list them."""


@dataclass(frozen=True)
class SinkChange:
    """The effect of the new version on the rows of one sink."""

    sink: str
    connector: str
    verdict: SinkVerdict
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """All changes between two versions of a pipeline."""

    old: str
    new: str
    steps: tuple[StepChange, ...]
    sinks: tuple[SinkChange, ...]

    @property
    def verdict(self) -> Literal["compatible", "migrates", "replay"]:
        """The strongest verdict of all steps."""
        verdicts = {change.verdict for change in self.steps}
        return "replay" if "replay" in verdicts else "migrates" if "migrates" in verdicts else "compatible"


def compare(old: PipelineState, graph: Graph) -> Comparison:
    """Compare the state of an old version, from its plan or its checkpoint, with a new plan."""
    new, queries = state_of_plan(graph), {checkpoint_name(query): query for query in queries_of(graph)}
    renamed = _find_renamed(old, new, queries)
    changes: dict[str, StepChange] = {}
    for name, query in queries.items():
        before = old.queries.get(renamed.get(name, name))
        changes[name] = _compare_query(graph, query, before, new.queries[name], renamed.get(name, ""))
        if old.pipeline not in ("", graph.name):
            reason = f"the pipeline was renamed: the checkpoint belongs to `{old.pipeline}`"
            changes[name] = _replay(graph, query, changes[name], reason)
    _propagate_replays(graph, queries, changes)
    kept = {*queries, *renamed.values()}
    removed = [_describe_removal(name, state) for name, state in old.queries.items() if name not in kept]
    return Comparison(
        old.pipeline, graph.name, (*changes.values(), *removed), (*_sinks(old, graph, changes),)
    )


def _compare_query(
    graph: Graph, query: Query, was: QueryState | None, now: QueryState, renamed_from: str
) -> StepChange:
    step = graph[query.output.step]
    change = StepChange(query.name, step.verb if now.stateful else "stateless", "compatible")
    if was is None:
        starts = tuple(f"{ref}: rows emitted from now on" for ref in query.reads)
        return replace(change, verdict="new", replay_from=starts or tuple(replay_starts(graph, step)))
    reasons = [*_state_reasons(was, now), *_source_reasons(graph, query, was, now)]
    if reasons:
        return _replay(graph, query, change, *reasons)
    unchecked = tuple(sorted(was.untyped | now.untyped))
    verdict: Verdict = "migrates" if renamed_from else "compatible"
    return replace(change, verdict=verdict, renamed_from=renamed_from, unchecked=unchecked)


def _replay(graph: Graph, query: Query, change: StepChange, *reasons: str) -> StepChange:
    starts = tuple(replay_starts(graph, graph[query.output.step]))
    return replace(
        change, verdict="replay", reasons=(*change.reasons, *reasons), replay_from=starts, renamed_from=""
    )


def _state_reasons(was: QueryState, now: QueryState) -> list[str]:
    """Return the differences of two signatures, apart from types that are not known on both sides."""
    before, after = was.signature, now.signature
    if before.get("version") != after["version"]:
        return ["its checkpoint was written by a version of Headrace whose state this version cannot read"]
    unknown = was.untyped | now.untyped
    columns, others = (_comparable_types(state, unknown) for state in (was, now))
    if "*" in unknown:  # compare the columns that both sides have
        columns = {name: kind for name, kind in columns.items() if name in others}
        others = {name: kind for name, kind in others.items() if name in columns}
    return differences({**before, "columns": columns}, {**after, "columns": others})


def _comparable_types(state: QueryState, unknown: frozenset[str]) -> dict[str, str]:
    return {name: kind for name, kind in state.signature["columns"].items() if name not in unknown}


def _source_reasons(graph: Graph, query: Query, was: QueryState, now: QueryState) -> Iterator[str]:
    if was.sources:
        yield from (problem.what for problem in source_problems(graph, query, was.sources, now.sources))


def _find_renamed(old: PipelineState, new: PipelineState, queries: dict[str, Query]) -> dict[str, str]:
    """Return the old name of each new stateful step that has the declaration of exactly one removed step.

    Excludes steps that share an exchange with another query, whose checkpoint has the paths of its files.
    """
    removed = {
        name: state for name, state in old.queries.items() if name not in new.queries and state.stateful
    }
    renamed: dict[str, str] = {}
    for name, query in queries.items():
        state = new.queries[name]
        if name in old.queries or not state.stateful or query.reads or query.writes:
            continue
        same = [
            other
            for other, was in removed.items()
            if not _state_reasons(was, state)
            and was.sources == state.sources
            and other not in renamed.values()
        ]
        if len(same) == 1:
            renamed[name] = same[0]
    return renamed


def _propagate_replays(graph: Graph, queries: dict[str, Query], changes: dict[str, StepChange]) -> None:
    """Mark the readers of replayed steps for replay; queries are in order, each after those it reads."""
    writers = {ref: name for name, query in queries.items() for ref in query.writes}
    for name, query in queries.items():
        replayed = [ref.step for ref in query.reads if changes[writers[ref]].verdict == "replay"]
        if replayed and changes[name].verdict in ("compatible", "migrates"):
            reason = f"reads `{replayed[0]}`, which is replayed"
            changes[name] = _replay(graph, query, changes[name], reason)


def _describe_removal(name: str, state: QueryState) -> StepChange:
    verb = str(state.signature.get("step", ""))
    return StepChange(name, verb, "removed", ("its checkpoint stays in the directory, unused",))


def _sinks(old: PipelineState, graph: Graph, changes: dict[str, StepChange]) -> Iterator[SinkChange]:
    feeding = {sink: changes[checkpoint_name(query)] for query in queries_of(graph) for sink in query.sinks}
    before = {sink.name: sink for sink in (old.graph or graph).sinks}
    for sink in graph.sinks:
        yield _sink_change(sink, feeding[sink.name], before.get(sink.name))
    for name, sink in before.items():
        if name not in graph.nodes:
            yield SinkChange(name, sink.connector.kind, "removed", "keeps its rows")


def _sink_change(sink: Sink, fed_by: StepChange, was: Sink | None) -> SinkChange:
    kind, replayed = sink.connector.kind, fed_by.verdict in ("new", "replay")
    if was is None or was.connector.target() != sink.connector.target():
        start = "from the start of its sources" if replayed else "from now on"
        return SinkChange(sink.name, kind, "new", f"receives rows {start}")
    if replayed:
        return SinkChange(sink.name, kind, replay_effect(sink), describe_effect(sink))
    return SinkChange(sink.name, kind, "continues")
