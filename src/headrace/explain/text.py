"""Format an explanation as text for a terminal: the rails, then queries, tiers, state and delivery.

A line is a tuple of spans, (text, role): the command line maps roles to colours, `text_of` drops them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from headrace.connectors.base import Guarantee
from headrace.explain.explanation import Explanation, Step, steps_of
from headrace.explain.rails import SINK, SOURCE, STATE, STEP, RailRow, rails
from headrace.plan.queries import Query
from headrace.steps.base import COLUMN_TIER

Span = tuple[str, str]
Line = tuple[Span, ...]

_SEPARATOR = " · "


def drawing(explanation: Explanation, *, width: int = 100) -> list[Line]:
    """Return the lines of an explanation, wrapped to a width."""
    return [
        *_title(explanation),
        *_graph(explanation, width),
        *_queries(explanation, width),
        *_tiers(explanation, width),
        *_delivery(explanation, width),
        *_real_time(explanation, width),
    ]


def text_of(lines: Iterable[Line]) -> str:
    """Return the text of lines without roles."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def _title(explanation: Explanation) -> Iterator[Line]:
    count = len(explanation.queries)
    queries = "nothing to run: no sink" if not count else "1 query" if count == 1 else f"{count} queries"
    yield (explanation.name, "title"), (f"   {_words(explanation.guarantee)}{_SEPARATOR}{queries}", "fact")
    yield ((f"  {SOURCE} read   {STEP} step   {STATE} keeps state   {SINK} write", "rail"),)
    yield ()


def _graph(explanation: Explanation, width: int) -> Iterator[Line]:
    rows = rails(explanation.graph, explanation.cuts)
    rail_width = max((len(row.rails) for row in rows), default=0) + 2
    name_width = max((len(_display_name(step)) for step in explanation.steps.values()), default=0) + 2
    for row in rows:
        if row.node is None:
            yield (f"  {row.rails:<{rail_width}}", "rail"), (row.label, "label")
        else:
            yield from _step_lines(row, explanation.steps[row.node.name], rail_width, name_width, width)


def _step_lines(row: RailRow, step: Step, rail_width: int, name_width: int, width: int) -> Iterator[Line]:
    verb_width = 14
    indent = 2 + rail_width + name_width + verb_width
    lines = join_phrases(step.facts, max(width - indent, 30))
    rail = _mark(row.rails, step.tier.name)
    pad = " " * (rail_width - len(row.rails))
    name_role = "name" if ":" not in step.name else "fact"
    head: Line = (
        ("  ", ""),
        *rail,
        (pad, ""),
        (f"{_display_name(step):<{name_width}}", name_role),
        (f"{step.verb:<{verb_width}}", "verb"),
    )
    yield (*head, (lines[0] if lines else "", "fact"))
    for more in lines[1:]:
        yield (f"  {row.below:<{indent - 2}}", "rail"), (more, "fact")


def _mark(text: str, tier: str) -> Iterator[Span]:
    for character in text:
        yield character, "rail" if character in "│ " else f"mark.{tier}"


def _display_name(step: Step) -> str:
    return step.name if ":" not in step.name else ""


def join_phrases(phrases: Iterable[str], width: int) -> list[str]:
    """Join phrases to lines of a maximum width; wrap a phrase that is too long."""
    lines = [""]
    for phrase in phrases:
        joined = f"{lines[-1]}{_SEPARATOR}{phrase}" if lines[-1] else phrase
        if len(joined) <= width:
            lines[-1] = joined
        else:
            parts = textwrap.wrap(phrase, width, break_long_words=False, break_on_hyphens=False)
            lines = [*(lines if lines[-1] else lines[:-1]), *parts]
    return [line for line in lines if line]


def _queries(explanation: Explanation, width: int) -> Iterator[Line]:
    if not explanation.queries:
        return
    yield from _heading("Queries", "what Spark runs; each stateful step has one query")
    for number, query in enumerate(explanation.queries, 1):
        path = _path(explanation, query)
        lead = f"  {number:>2}  "
        for count, part in enumerate(textwrap.wrap(path, max(width - len(lead), 30), break_on_hyphens=False)):
            yield (lead if count == 0 else " " * len(lead), "query"), (part, "fact")


def _path(explanation: Explanation, query: Query) -> str:
    """Return the sources and exchanges, the named steps, and the sinks and exchanges of a query."""
    graph = explanation.graph
    starts = [*query.sources, *(f"exchange of {ref}" for ref in query.reads)]
    ends = [*query.sinks, *(f"exchange of {ref}" for ref in query.writes)]
    steps = [
        name
        for name in steps_of(graph, query)
        if name not in (*query.sources, *query.sinks)
        and (name == query.output.step if graph[name].stateful else ":" not in name)
    ]
    return " → ".join(filter(None, [", ".join(starts), ", ".join(steps), ", ".join(ends)]))


def _tiers(explanation: Explanation, width: int) -> Iterator[Line]:
    steps = [step for step in explanation.steps.values() if _is_notable(step)]
    if not steps:
        return
    yield from _heading("Tiers", "where steps run; the others are plain Spark expressions")
    name_width = max(len(step.name) for step in steps) + 2
    for step in steps:
        indent = 2 + name_width + 8
        reasons = [step.tier.why, *_state(step)]
        lines = [line for text in reasons for line in textwrap.wrap(text, max(width - indent, 30))]
        head = (f"  {step.name:<{name_width}}", "name"), (f"{step.tier.name:<8}", f"mark.{step.tier.name}")
        yield (*head, (lines[0], "fact"))
        for line in lines[1:]:
            yield (" " * indent, ""), (line, "fact")


def _state(step: Step) -> Iterator[str]:
    if step.state is not None:
        yield f"state: {step.state.kept}"
        if step.state.grows:
            yield f"no bound: grows with {step.state.grows}" + (
                f"; {step.state.hint}" if step.state.hint else ""
            )


def _is_notable(step: Step) -> bool:
    """True if a step has state, or is more than a Spark SQL expression."""
    return step.state is not None or step.tier.name != "native" or step.tier == COLUMN_TIER


def _delivery(explanation: Explanation, width: int) -> Iterator[Line]:
    if not explanation.sink_guarantees:
        return
    yield from _heading("Delivery", f"{_words(explanation.guarantee)} from end to end")
    name_width = max(len(each.sink) for each in explanation.sink_guarantees) + 2
    for each in explanation.sink_guarantees:
        weak = each.guarantee == explanation.guarantee != "exactly_once"
        indent = 2 + name_width + 15
        reason = f"{each.because}{f' (weakest link); better: {each.better}' if weak else ''}"
        lines = textwrap.wrap(reason, max(width - indent, 30))
        head = (
            (f"  {each.sink:<{name_width}}", "name"),
            (f"{_words(each.guarantee):<15}", each.guarantee),
        )
        yield (*head, (lines[0], "fact"))
        for line in lines[1:]:
            yield (" " * indent, ""), (line, "fact")


def _real_time(explanation: Explanation, width: int) -> Iterator[Line]:
    """Yield the reasons why real-time mode is blocked; if there are none, what differs in it."""
    steps = [step for step in explanation.steps.values() if step.queries]
    if not steps:
        return
    blocked = any(step.real_time.blocked for step in steps)
    yield from _heading(
        "Real time", "what blocks it" if blocked else "nothing blocks it; what would be different"
    )
    reasons = [(step, text) for step in steps for text in _describe(step, blocked)]
    name_width = max(len(_name(step)) for step, _ in reasons) + 2 if reasons else 0
    last = ""
    for step, text in reasons:
        name = _name(step)
        for line in textwrap.wrap(text, max(width - name_width - 2, 30), break_on_hyphens=False):
            yield (f"  {name if name != last else '':<{name_width}}", "name"), (line, "fact")
            last = name


def _describe(step: Step, blocked: bool) -> tuple[str, ...]:
    return step.real_time.blocked if blocked else step.real_time.differs


def _name(step: Step) -> str:
    """Return the name of a step; the verb of an anonymous one."""
    return step.name if ":" not in step.name else step.verb


def _words(guarantee: Guarantee) -> str:
    return guarantee.replace("_", " ")


def _heading(word: str, rest: str) -> Iterator[Line]:
    yield ()
    yield (word, "heading"), (f"   {rest}", "rail")
