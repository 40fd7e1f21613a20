"""Windows on Spark's own operators, the fastest tier: they fire once and can only count late rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.expressions import TIME
from headrace.windows import Session, Sliding, Tumbling, Window

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from headrace.steps.stateful.window import WindowAggregate


def aggregate_native_windows(
    frame: DataFrame, node: WindowAggregate, keys: list[Column], aggregates: list[Column]
) -> DataFrame:
    """Return panes of tumbling, sliding or session windows: keys, `window`, aggregates, `pane` and `__ts`."""
    grouped = frame.groupBy(*keys, _window(node.window).alias("window")).agg(*aggregates)
    names = [name for name, _ in node.keys]
    values = [name for name, _ in node.aggregates]
    pane = F.struct(
        F.lit(0).alias("index"), F.lit("on_time").alias("timing"), F.lit(False).alias("retraction")
    )
    return grouped.select(
        *names,
        _bounds(node.window).alias("window"),
        *values,
        pane.alias("pane"),
        F.expr(
            "window.end - interval 1 microsecond" if not isinstance(node.window, Session) else "window.end"
        ).alias(TIME),
    )


def is_native_batch(frame: DataFrame, node: WindowAggregate) -> bool:
    """True if Spark's operator returns the same rows: in a batch nothing is late, and a window fires once."""
    native = isinstance(node.window, Tumbling | Sliding | Session)
    return native and node.emission.fires_once and not frame.isStreaming


def _window(window: Window) -> Column:
    match window:
        case Tumbling(size, offset):
            return F.window(TIME, _text(size), _text(size), _text(offset))
        case Sliding(size, every):
            return F.window(TIME, _text(size), _text(every))
        case Session(gap):
            # Spark merges sessions that touch; Headrace's are half open, so the gap is a microsecond less.
            return F.session_window(TIME, _text(gap - 1))
    raise NotImplementedError(type(window).__name__)


def _bounds(window: Window) -> Column:
    end = "window.end + interval 1 microsecond" if isinstance(window, Session) else "window.end"
    return F.struct(F.col("window.start").alias("start"), F.expr(end).alias("end"))


def _text(length: int) -> str:
    return f"{length} microseconds"
