"""The verbs that process rows in arrival order, which need no time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.analytics.declare import InOrderNode, detect_node, smooth_node
from headrace.detectors import Detector
from headrace.smoothing import Smoothing
from headrace.steps.expressions import Named
from headrace.streams.rows import Stage, no_time
from headrace.streams.signatures import verb
from headrace.windows import Order

if TYPE_CHECKING:
    from headrace.streams.stream import Stream


class ArrivalVerbs(Stage):
    """The verbs of rows in arrival order: of all rows, or of those of each key."""

    _keys: Named = ()

    @verb()
    def detect(
        self,
        name: str,
        detector: Detector,
        /,
        *,
        on: str | Sequence[str] | None = None,
        warm_up: int | None = None,
        order: Order = "event_time",
    ) -> Stream:
        """Compare each row of a key with those that arrived before it.

        As `detect` of rows with time, whose rows are compared in event-time order by default. Detectors that
        measure time, such as `seasonal`, need rows with time.

        Args:
            name: the step's name.
            detector: from `detectors`.
            on: the column or the expression that is compared; several for `half_space_trees`.
            warm_up: the number of rows of a key that are only learned, with score 0; default: that of the
                detector.
            order: has to be `"arrival"`; event-time order needs rows with time.

        >>> from headrace import Pipeline, connect, detectors
        >>> rows = Pipeline("p").read("rows", connect.memory(), schema="station string, value double")
        >>> rows.key_by("station").detect("spikes", detectors.mad(), on="value", order="arrival")
        <spikes of p>
        """
        node = detect_node(name, self._ref, self._keys, detector, on=on, warm_up=warm_up, order=order)
        return self._unordered("detect", node)

    @verb()
    def smooth(
        self, name: str, method: Smoothing, /, *, on: str | None = None, order: Order = "event_time"
    ) -> Stream:
        """Add the column `<on>_smooth`: the column without its noise, from this row and those before it.

        Args:
            name: the step's name.
            method: from `smoothing`.
            on: the column.
            order: has to be `"arrival"`; event-time order needs rows with time.

        >>> from headrace import Pipeline, connect, smoothing
        >>> rows = Pipeline("p").read("rows", connect.memory(), schema="room string, celsius double")
        >>> rows.key_by("room").smooth("clean", smoothing.median(rows=5), on="celsius", order="arrival")
        <clean of p>
        """
        node = smooth_node(name, self._ref, self._keys, method, on=on, order=order)
        return self._unordered("smooth", node)

    def _unordered(self, verb: str, node: InOrderNode) -> Stream:
        from headrace.streams.stream import Stream

        if node.order != "arrival":
            raise no_time(self._ref, verb, 'set order="arrival", or declare the time')
        return Stream(self._pipeline, self._pipeline._add(node))
