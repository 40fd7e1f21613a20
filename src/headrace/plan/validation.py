"""All that can be wrong with a plan before Spark sees it. Each rule is a function from a node to its problems.

Rules are asked in turn for every node, and everything they find is reported at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headrace.connectors.base import Connector
from headrace.durations import text
from headrace.errors import OptionError, Problem, did_you_mean
from headrace.plan.facts import (
    by_clock,
    change_of,
    columns_of,
    is_timed,
    plain_column,
    searched_columns,
    searched_order,
)
from headrace.plan.graph import Graph
from headrace.plan.pattern_rules import pattern_problems
from headrace.plan.rules_tables import rules_problems
from headrace.sql.match_recognize.tokens import position_of
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.expressions import PythonFold
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.columns import Drop
from headrace.steps.rows.event_time import EventTime
from headrace.steps.rows.lookup import Lookup
from headrace.steps.rows.union import Union
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.stateful.window import WindowAggregate
from headrace.triggers import AfterCount, AfterWatermark
from headrace.windows import Session, Sliding, Trailing, Tumbling

_OF_TRAILING = (AfterWatermark(), AfterWatermark(late=AfterCount(1)))
Rule = Callable[[Graph, Node], Iterator[tuple[str, str]]]


def problems_of(graph: Graph) -> list[Problem]:
    """Every problem of the plan, in the order of its steps."""
    if not graph.nodes:
        return [Problem(f"pipeline `{graph.name}`", "it has no steps", "begin with pipeline.read(...)")]
    unknown = [problem for node in graph for problem in _inputs(graph, node)]
    if unknown:  # the other rules look at inputs, so they must exist
        return unknown
    return [
        Problem(graph.where(node, *parts), what, hint)
        for node in graph
        for rule, *parts in _RULES
        for what, hint in rule(graph, node)
    ]


def _inputs(graph: Graph, node: Node) -> Iterator[Problem]:
    for ref in node.inputs:
        if ref.step not in graph.nodes:
            known = [name for name, other in graph.nodes.items() if not other.anonymous]
            yield Problem(graph.where(node), f"there is no step `{ref.step}`", did_you_mean(ref.step, known))
        elif ref.output not in graph[ref.step].outputs:
            outputs = [str(Ref(ref.step, out)) for out in graph[ref.step].outputs]
            yield Problem(graph.where(node), f"there is no output `{ref}`", did_you_mean(str(ref), outputs))


def _source(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if not isinstance(node, Source):
        return
    if "source" not in node.connector.roles:
        yield f"{node.connector.kind} can't be read from", "it is a sink only"
    elif reason := node.connector.stream_problem():
        yield reason
    if node.connector.carries == "bytes" and node.format is None:
        yield (
            f"{node.connector.kind} gives bytes, and no format is said",
            'add format="json", "csv", "text" or "raw"',
        )
    elif node.schema is None and (node.format is None or node.format.default_schema is None):
        yield (
            "no schema is said",
            'add schema="id string, at timestamp, ...", a dataclass or a pydantic model',
        )
    for name in node.connector.metadata_columns:
        if node.schema is not None and name in node.schema:
            yield (
                f"`{name}` is a column of the schema, and {node.connector.kind} is asked to add one of that name",
                f"give one of them another name, such as {name}_2",
            )
    if node.on_error not in ("fail", "skip", "divert"):
        yield f"expected on_error to be fail, skip or divert, got {node.on_error!r}", ""


def _table(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if not isinstance(node, Lookup) or not isinstance(node.table, Connector):
        return
    if "table" not in node.table.roles:
        yield f"{node.table.kind} can't be looked up in", "take files, sqlite or a DataFrame"
    yield from _known(graph, node, node.on, node.input, "lookup on")
    if node.schema is not None:
        for name in node.on:
            if name not in node.schema:
                yield f"the table has no column `{name}`", did_you_mean(name, node.schema.names)


def _event_time(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if not isinstance(node, EventTime):
        return
    yield from _known(graph, node, (node.column,), node.input, "event time is")
    source = graph[node.input.step]
    if isinstance(source, Source) and source.schema is not None and node.column in source.schema:
        kind = str(source.schema[node.column].type)
        if not kind.startswith("timestamp"):
            yield (
                f"event time must be a timestamp; `{node.column}` is {kind}",
                "make it one with with_columns(...)",
            )
    if change_of(graph, node.input) != "none":
        yield "event time can't be set on rows that are replaced later", "set it before the aggregate"


def _columns(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if isinstance(node, Distinct):
        yield from _known(graph, node, node.on, node.input, "distinct on")
    if isinstance(node, Drop):
        yield from _known(graph, node, node.columns, node.input, "drop")
    if isinstance(node, Aggregate | WindowAggregate | Match | MatchRules):
        plain = [name for _, key in node.keys if (name := plain_column(key))]
        yield from _known(graph, node, tuple(plain), node.input, "key")


def _twice(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if isinstance(node, Aggregate | WindowAggregate):
        names = [name for name, _ in (*node.keys, *node.aggregates)]
        for name in {name for name in names if names.count(name) > 1}:
            yield f"`{name}` is both a key and an aggregate, or twice there", "name each once"
        own = ("window", "pane") if isinstance(node, WindowAggregate) else ()
        for name in {name for name in names if name in own}:
            hint = f'give yours another name; a key so: key_by(of_{name}="{name}")'
            yield f"its results have a column `{name}` of their own", hint


def _python(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if isinstance(node, Aggregate):
        for name, item in node.aggregates:
            if isinstance(item, PythonFold):
                yield (
                    f"`{name}` is an aggregate in Python, which keeps the values of all its rows, and a running aggregate "
                    "never ends",
                    "give it a window, or say it in Spark SQL",
                )


def _known(
    graph: Graph, node: Node, names: tuple[str, ...], before: Ref, what: str
) -> Iterator[tuple[str, str]]:
    yield from _missing(names, columns_of(graph, before), what)


def _missing(names: tuple[str, ...], columns: tuple[str, ...] | None, what: str) -> Iterator[tuple[str, str]]:
    if columns is None:
        return
    lowered = {column.lower() for column in columns}
    for name in names:
        if name.lower() not in lowered:
            yield f"{what} `{name}`, and there is no such column", did_you_mean(name, columns)


def _time(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    windowed = isinstance(node, WindowAggregate | Match | MatchRules | RowPattern)
    wants = windowed or (isinstance(node, Distinct) and node.within is not None)
    if wants and not is_timed(graph, node.inputs[0]):
        yield (
            f"{node.verb} needs rows with time",
            "add event_time(column), ingestion_time() or processing_time() before",
        )
    if isinstance(node, Union) and len({is_timed(graph, ref) for ref in node.inputs}) > 1:
        yield "some of these streams have event time and some don't", "give all of them event time, or none"


def _window(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if not isinstance(node, WindowAggregate):
        return
    emission, window = node.emission, node.window
    ordered = window.order_dependent
    if emission.may_lose and not emission.allow_loss:
        yield (
            "this trigger may leave rows unemitted",
            "wrap it in repeatedly(...), use late=after_count(1), or say allow_loss=True",
        )
    if ordered and (emission.lateness or getattr(emission.trigger, "late", None) is not None):
        yield (
            f"{type(window).__name__.lower()} windows take rows in order, so they have no lateness and no late firings",
            "late rows are in .late; widen out_of_order to wait longer",
        )
    if emission.late_rows == "count":
        if not isinstance(window, Tumbling | Sliding | Session):
            yield (
                f'late_rows="count" runs on Spark\'s own operators, which have no {type(window).__name__.lower()} window',
                "leave late_rows out",
            )
        if not emission.fires_once:
            yield (
                'late_rows="count" runs on Spark\'s own operators, which fire once, when the watermark passes',
                "leave late_rows out to have early and late firings",
            )
    if node.ttl is not None and isinstance(window, Tumbling | Sliding | Session | Trailing):
        yield (
            f"{type(window).__name__.lower()} windows end by themselves, so they have no ttl",
            "leave ttl out; size, lateness and out_of_order say how long state is kept",
        )
    if isinstance(window, Trailing) and emission.trigger not in _OF_TRAILING:
        yield (
            "a trailing window gives one result per row and takes no trigger",
            "leave trigger, early and late out; lateness alone lets a late row fire",
        )


def _row_pattern(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if not isinstance(node, RowPattern):
        return
    clause = node.clause
    columns = searched_columns(graph, node)
    if (
        node.input_query is not None
        and node.input_query.names
        and columns
        and len(columns) != len(node.input_query.names)
    ):
        yield (
            f"{len(node.input_query.names)} names for {len(columns)} columns before MATCH_RECOGNIZE",
            "name each column once: t(a, b, ...)",
        )
    yield from _missing(clause.partition_by, columns, "PARTITION BY")
    yield from _order_by(graph, node)
    if columns is None:
        return
    taken = columns if clause.rows != "one" else clause.partition_by
    for name, _ in clause.measures:
        if name.lower() in {column.lower() for column in taken}:
            yield f"the measure `{name}` has the name of a column", "rename the measure"
    reads = [(clause.condition, written) for _, written in clause.define]
    reads += [(clause.measure, written) for _, written in clause.measures]
    for read, written in reads:
        try:
            read(written, columns)
        except OptionError as error:
            yield error.what, error.hint


def _order_by(graph: Graph, node: RowPattern) -> Iterator[tuple[str, str]]:
    known = searched_order(graph, node)
    time = known[0] if known else None
    for key in node.clause.order_by[:1] if is_timed(graph, node.input) else ():
        at = position_of(node.query, key.at)
        if time is None:
            yield (
                f"ORDER BY at {at}: the time of these rows is not a column",
                "leave ORDER BY out: they come in its order",
            )
        elif (plain_column(key.text) or "").lower() not in {name.lower() for name in known}:
            yield (
                f"ORDER BY {key.text} at {at}: rows are matched in the order of their event time, `{time}`",
                f"write ORDER BY {time}, and others behind it for rows of equal time",
            )
        elif key.descending:
            yield f"ORDER BY {key.text} DESC at {at}: a stream goes on in time", f"write ORDER BY {time}"
    yield from _ties(graph, node)


def _ties(graph: Graph, node: RowPattern) -> Iterator[tuple[str, str]]:
    """What orders rows of equal time: columns, and the clock gives no two rows one time."""
    keys = node.clause.order_by[1:]
    for key in keys:
        at = position_of(node.query, key.at)
        if plain_column(key.text) is None:
            yield (
                f"ORDER BY {key.text} at {at}: expected a column",
                "compute it in a step before: with_columns(...)",
            )
        elif by_clock(graph, node.input):
            yield (
                f"ORDER BY {key.text} at {at}: by the clock's time rows are matched as they come",
                "leave it out, or take event time",
            )
    names = tuple(name for key in keys if (name := plain_column(key.text)) is not None)
    yield from _missing(names, searched_columns(graph, node), "ORDER BY")


def _changelog(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if not node.stateful:
        return
    for ref in node.inputs:
        if change_of(graph, ref) != "none":
            yield (
                f"its input `{ref}` emits a row again when it changes, so it would be counted twice",
                "let the step before fire once (no early or late firings), or write it out and read the table",
            )


def _sink(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if not isinstance(node, Sink):
        return
    if "sink" not in node.connector.roles:
        yield f"{node.connector.kind} can't be written to", "it is a source only"
    change = change_of(graph, node.input)
    if node.mode not in (None, "append", "update", "complete"):
        yield f"expected mode to be append, update or complete, got {node.mode!r}", ""
    if change == "updates" and node.mode == "append":
        yield (
            "a running aggregate changes its rows, so it can't be appended",
            'use mode="update" or "complete"',
        )
    if change == "none" and node.mode in ("update", "complete"):
        yield (
            f'mode="{node.mode}" is for running aggregates; these rows never change',
            'leave mode out or say "append"',
        )
    if refusal := node.connector.mode_problem(node.mode or ("update" if change == "updates" else "append")):
        yield refusal, ""


def _sink_key(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if isinstance(node, Sink):
        names = tuple(getattr(node.connector, "key", None) or ())
        yield from _known(graph, node, names, node.input, "the key names")


def _sink_partitions(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if isinstance(node, Sink):
        names = tuple(getattr(node.connector, "partition_by", None) or ())
        yield from _known(graph, node, names, node.input, "partition_by names")


def _sink_columns(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if not isinstance(node, Sink):
        return
    for option in ("headers", "value", "topic_column", "partition_column"):
        given = getattr(node.connector, option, None) or ()
        names = (given,) if isinstance(given, str) else tuple(given)
        yield from _known(graph, node, names, node.input, f"{option} names")


def _sink_modes(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if not isinstance(node, Aggregate):
        return
    reached = [sink for sink in graph.sinks if node in graph.upstream(sink)]
    if len({sink.mode or "update" for sink in reached}) > 1:
        yield "its sinks want different modes", "give all of them update, or all of them complete"


def _idle(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if isinstance(node, EventTime) and node.idle is not None and node.idle < 1_000_000:
        yield f"expected idle of a second or more, got {text(node.idle)}", "a batch takes about that long"


_RULES: tuple[tuple[Rule, *tuple[str, ...]], ...] = (
    (_source,),
    (_table, "on", "lookup"),
    (_event_time, "event_time"),
    (_columns, "key_by", "on", "distinct", "drop"),
    (_twice, "aggregate"),
    (_python, "aggregate"),
    (_time, "window", "distinct", "match", "match_rules", "sql"),
    (_window, "emit", "window"),
    (pattern_problems, "match"),
    (rules_problems, "rules", "measures", "match_rules", "from"),
    (_row_pattern, "sql"),
    (_changelog, "from"),
    (_sink, "mode"),
    (_sink_key, "key"),
    (_sink_partitions, "partition_by"),
    (_sink_columns, "headers", "value", "topic_column", "partition_column"),
    (_sink_modes,),
    (_idle, "event_time"),
)
"""Each rule, and the keys of a document that it speaks of."""
