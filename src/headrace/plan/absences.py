"""Patterns that end with an absence, which a drain completes."""

from __future__ import annotations

from headrace.plan.graph import Graph
from headrace.steps.patterns.match import Match


def trailing_absences(graph: Graph) -> list[str]:
    """Return the steps whose pattern ends with a step that must not follow.

    At the end of the input such a match completes, although its time has not elapsed: no later row can
    prevent it.

    >>> from headrace import Pipeline, connect, patterns
    >>> pipeline = Pipeline("logins")
    >>> events = pipeline.read("events", connect.memory(), schema="kind string, ts timestamp")
    >>> pattern = patterns.step("login", "kind = 'login'").not_followed_by("ok", "kind = 'ok'")
    >>> timed = events.event_time("ts").key_by("kind")
    >>> timed.match("unconfirmed", pattern, within="1 minute").write("alerts", connect.console())
    >>> trailing_absences(pipeline._plan())
    ['unconfirmed']
    """
    matches = (node for node in graph if isinstance(node, Match))
    return [match.name for match in matches if match.pattern.elements[-1].negated]
