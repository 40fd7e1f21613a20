"""A second model beside the one of a step: its results are compared and not used."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import pyarrow

from headrace.functions.failures import RAISED
from headrace.functions.totals import ShadowTotals
from headrace.models.worker import Handler, Predictions

_log = logging.getLogger("headrace")
_RELATIVE, _ABSOLUTE = 1e-6, 1e-9
"""Numbers that are closer agree: runtimes of models round differently."""


@dataclass
class Shadow:
    """A model whose disagreement with another one is counted; it can neither fail nor divert a row."""

    handler: Handler
    totals: ShadowTotals
    _problem: str = ""

    def enter(self) -> None:
        """Load the version of the epoch; rows of a version that cannot be loaded are counted as errors."""
        try:
            self.handler.enter()
            self._problem = ""
        except RAISED as error:
            if str(error) != self._problem:
                _log.warning("the shadow model cannot be loaded: %s: %s", type(error).__name__, error)
            self._problem = str(error) or type(error).__name__

    def compare(self, features: pyarrow.Table, results: Predictions) -> None:
        """Predict a batch, and count the rows whose results differ."""
        rows = len(results.origin)
        if self._problem:
            self.totals.add(rows, errors=rows)
            return
        try:
            other = self.handler.predict(features)
        except RAISED:
            self.totals.add(rows, errors=rows)
            return
        different, distance, compared = disagreement(results, other)
        self.totals.add(rows, disagreements=different, distance=distance, errors=rows - compared)


def disagreement(results: Predictions, other: Predictions) -> tuple[int, float, int]:
    """Return the number of rows that differ, the sum of the distances of their numbers, and the rows in both.

    >>> from headrace.models.worker import Predictions
    >>> def of(values, origin):
    ...     return Predictions([pyarrow.array(values)], pyarrow.nulls(len(values)), origin, {})
    >>> disagreement(of([1.0, 2.0, None], [0, 1, 2]), of([1.0, 4.0], [0, 1]))
    (1, 2.0, 2)
    """
    place = {row: at for at, row in enumerate(other.origin)}
    both = [(at, place[row]) for at, row in enumerate(results.origin) if row in place]
    left = pyarrow.array([at for at, _ in both], pyarrow.int64())
    right = pyarrow.array([at for _, at in both], pyarrow.int64())
    different: Any = None
    distance = 0.0
    for own, others in zip(results.columns, other.columns, strict=True) if both else ():
        differs, far = _differences(own.take(left), others.take(right))
        different = differs if different is None else different | differs
        distance += far
    return (0 if different is None else int(different.sum())), distance, len(both)


def _differences(left: pyarrow.Array, right: pyarrow.Array) -> tuple[Any, float]:
    """Return which values differ, and the sum of the distances of numbers."""
    import numpy

    if pyarrow.types.is_floating(left.type) or pyarrow.types.is_integer(left.type):
        own, other = (each.cast(pyarrow.float64()).to_numpy(zero_copy_only=False) for each in (left, right))
        same = numpy.isclose(own, other, rtol=_RELATIVE, atol=_ABSOLUTE, equal_nan=True)
        return ~same, float(numpy.nansum(numpy.abs(own - other)[~same]))
    pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
    return numpy.array([own != other for own, other in pairs], dtype=bool), 0.0
