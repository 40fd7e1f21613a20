"""A sink that computes and discards every row, for both sides of a benchmark.

It counts results, so that a benchmark can compare the work of its contenders.
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
    """Counts of results and of the input rows in them (the sum of column `n`, if present)."""

    panes: int = 0
    rows: int = 0
    by_epoch: dict[int, int] = field(default_factory=dict, compare=False, repr=False)
    """Results per micro-batch."""

    def take(self, frame: DataFrame, epoch: int) -> None:
        """Compute and count a batch; usable as a `foreachBatch` function."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F  # noqa: N812

        observation = Observation()
        input_rows = F.sum("n") if "n" in frame.columns else F.count(F.lit(1))
        counts = (F.count(F.lit(1)).alias("panes"), input_rows.alias("rows"))
        frame.observe(observation, *counts).write.format("noop").mode("overwrite").save()
        self.by_epoch[epoch] = int(observation.get["panes"] or 0)
        self.panes += self.by_epoch[epoch]
        self.rows += int(observation.get["rows"] or 0)


class NoopSink(Connector):
    """A sink that counts and discards rows."""

    kind: ClassVar[str] = "noop"
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
        """Do nothing: the rows were discarded in `stage`."""

    def close(self) -> None:
        """Do nothing: the sink has no connection."""
