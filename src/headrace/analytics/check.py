"""Check the detectors of a step and their columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.analytics.detectors import Detector, Ensemble, Missing
from headrace.steps.expression_checks import check_expressions
from headrace.steps.traits import Finding

if TYPE_CHECKING:
    from headrace.analytics.declare import Detect
    from headrace.steps.base import Plan

_KEYS = ("detect",)


def check_detect(node: Detect, plan: Plan) -> Iterator[Finding]:
    """Yield the problems of a detector with its columns and its order."""
    detector = node.options.detector
    yield from check_expressions(detector.columns, plan.facts(node.input).columns, "detect")
    yield from _check_columns(detector, ())
    if node.options.order != "arrival":
        return
    if any(isinstance(part, Missing) for part in detector.parts()):
        hint = 'remove order="arrival"; the watermark shows that a row is missing'
        yield Finding("`missing` needs rows in event-time order", hint, _KEYS)
    elif not plan.facts(node.input).timed:
        for part in detector.parts():
            if part.reads_time:
                hint = "add event_time(column), ingestion_time() or processing_time() before"
                yield Finding(f"`{part.kind}` needs rows with time", hint, _KEYS)


def _check_columns(detector: Detector, default: tuple[str, ...]) -> Iterator[Finding]:
    own = tuple(getattr(detector, "on", None) or default)
    if isinstance(detector, Ensemble):
        for part in detector.detectors:
            yield from _check_columns(part, own)
    elif not own and detector.max_columns:
        yield Finding(f"`{detector.kind}` has no column", 'set on="..."', _KEYS)
    elif len(own) > detector.max_columns > 0:
        what = f"`{detector.kind}` compares one column, got {', '.join(own)}"
        yield Finding(what, "use half_space_trees, or an ensemble with a detector for each", _KEYS)
