"""A sink that computes every row and keeps none: what both sides of a benchmark write to.

It counts what came, so that a benchmark can tell whether its contenders did the same work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import PrivateAttr

from headrace.connectors.base import Connector, Guarantee, Role, Staged, StagedRows, WriteContext, Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class Tally:
    """Results, and the rows of input that they stand for (the sum of their column `n`, where they have one)."""

    panes: int = 0
    rows: int = 0
    by_epoch: dict[int, int] = field(default_factory=dict, compare=False, repr=False)
    """How many results each micro-batch gave."""

    def take(self, frame: DataFrame, epoch: int) -> None:
        """Compute a batch: a function for `foreachBatch`."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F  # noqa: N812

        seen = Observation()
        stands_for = F.sum("n") if "n" in frame.columns else F.count(F.lit(1))
        counts = (F.count(F.lit(1)).alias("panes"), stands_for.alias("rows"))
        frame.observe(seen, *counts).write.format("noop").mode("overwrite").save()
        self.by_epoch[epoch] = int(seen.get["panes"] or 0)
        self.panes += self.by_epoch[epoch]
        self.rows += int(seen.get["rows"] or 0)


class Nowhere(Connector):
    """Rows that are counted and forgotten."""

    kind: ClassVar[str] = "nowhere"
    roles: ClassVar[frozenset[Role]] = frozenset({"sink"})
    delivers: ClassVar[Guarantee] = "exactly_once"

    _tally: Tally = PrivateAttr(default_factory=Tally)

    @property
    def tally(self) -> Tally:
        return self._tally

    def writer(self) -> Writer:
        return _Writer(self._tally)


class _Writer:
    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def open(self, run: WriteContext) -> int:
        return -1

    def stage(self, epoch: int, frame: Any) -> Staged:
        before = self._tally.panes
        self._tally.take(frame, epoch)
        return StagedRows(self._tally.panes - before)

    def commit(self, epoch: int, staged: Staged) -> None:
        """The rows are gone already."""

    def close(self) -> None:
        """Nothing is held open."""
