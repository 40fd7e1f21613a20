"""Stages of steps with side outputs. Their stateless verbs return the plain stage, which has none."""

from __future__ import annotations

from headrace.errors import MissingOutputError, OptionError, did_you_mean
from headrace.learning.declare import DRIFT, METRICS
from headrace.steps.base import DEAD_LETTERS, Ref
from headrace.steps.patterns.match_rules import FAULTS
from headrace.streams.rows import Stage
from headrace.streams.stream import Stream
from headrace.streams.tables import Table
from headrace.streams.timed import TimedStream


class _Late(Stage):
    @property
    def late(self) -> Stream:
        """Late rows with `late_by`, `window`, `watermark` and `reason`."""
        return Stream(self._pipeline, Ref(self._ref.step, "late"))


class _DeadLetters(Stage):
    @property
    def dead_letters(self) -> Stream:
        """Dead letters with `reason`."""
        return Stream(self._pipeline, Ref(self._ref.step, DEAD_LETTERS))


class SourceStream(_DeadLetters, Stream):
    """The rows of a source. `dead_letters` are the records that could not be decoded.

    Their columns are `raw, reason, field, source, partition, position, read_at`.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.dead_letters
    <tx.dead_letters of p>
    """


class DivertingStream(_DeadLetters, Stream):
    """The rows of a step that diverts rows: of a function, or of a lookup with `on_miss="dead_letter"`.

    `dead_letters` has the input columns, `reason` and, if a function raised, `traceback`.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int")
    >>> tx.filter("large", lambda row: row.amount > 50).dead_letters
    <large.dead_letters of p>
    """


class TimedDivertingStream(TimedStream, DivertingStream):
    """The rows of a step that diverts rows; each has the time of its input row.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.event_time("ts").filter("large", lambda row: row.amount > 50).key_by("card")
    <TimedKeyedStream of large>
    """


class Processed(DivertingStream):
    """The rows that a processor emitted, without time.

    >>> from headrace import Pipeline, Processor, connect, side_output
    >>> class Split(Processor):
    ...     output = "card string"
    ...     large = side_output("card string, amount double")
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")
    >>> tx.key_by("card").process("split", Split).side_output("large")
    <split.large of p>
    """

    def side_output(self, name: str, /) -> Stream:
        """Return the rows of a side output that the processor declares."""
        return self._after(_declared_output(self, name))


class TimedProcessed(TimedDivertingStream, Processed):
    """The rows that a processor emitted; each has the time of its row or timer.

    >>> from headrace import Pipeline, Processor, connect, side_output
    >>> class Split(Processor):
    ...     output = "card string"
    ...     large = side_output("card string, amount double")
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount double, ts timestamp")
    >>> tx.event_time("ts").key_by("card").process("split", Split).side_output("large").key_by("card")
    <TimedKeyedStream of split.large>
    """

    def side_output(self, name: str, /) -> TimedStream:
        """Return the rows of a side output that the processor declares."""
        return self._after(_declared_output(self, name))


class TimedResult(_Late, TimedStream):
    """The rows of a step that sends late rows to `.late`: a join, or `distinct` with `within`.

    The event time of a pair is the later of the two; an unmatched row keeps its time.

    >>> from headrace import Pipeline, connect
    >>> ads = Pipeline("p")
    >>> views = ads.read("views", connect.memory(), schema="ad string, seen timestamp").event_time("seen")
    >>> clicks = ads.read("clicks", connect.memory(), schema="ad string, at timestamp").event_time("at")
    >>> views.join("attributed", clicks, on="ad", within=("0 seconds", "15 minutes")).late
    <attributed.late of p>
    """


class Panes(TimedResult):
    """Results of windows: the key columns, `window`, the aggregates and `pane`.

    The event time of a pane is just before the end of its window, so that panes can be windowed again.
    `late` has the rows that were too late for all their windows.

    >>> from headrace import Pipeline, connect, windows
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.event_time("ts").window(windows.tumbling("1 hour")).aggregate("totals", n="count(*)").late
    <totals.late of p>
    """


class Matches(TimedResult):
    """Matches of a pattern: the key columns, and the measures of `select` or one array of rows for each step.

    The event time of a match is that of its last row.

    >>> from headrace import Pipeline, connect, patterns
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> rises = patterns.step("low", "amount < 10").followed_by("high", "amount > low.amount")
    >>> tx.event_time("ts").key_by("card").match("rises", rises, within="1 minute").timeouts
    <rises.timeouts of p>
    """

    @property
    def timeouts(self) -> TimedStream:
        """Partial matches that timed out: the key columns and one array of rows per step of the pattern."""
        return TimedStream(self._pipeline, Ref(self._ref.step, "timeouts"))


class Learned(TimedResult, TimedDivertingStream):
    """Rows with the prediction of a model that learns from them.

    `late` has the rows behind the watermark, and labels without a row; `dead_letters` the rows for which the
    model raised.

    >>> from headrace import Pipeline, connect, models
    >>> schema = "room string, hour int, celsius double, ts timestamp"
    >>> rows = Pipeline("p").read("rows", connect.memory(), schema=schema).event_time("ts")
    >>> model = models.river("preprocessing.StandardScaler() | linear_model.LinearRegression()")
    >>> forecasts = rows.key_by("room").learn("forecasts", model, features="hour", label="celsius")
    >>> forecasts.drift
    <forecasts.drift of p>
    """

    @property
    def metrics(self) -> TimedStream:
        """Progressive validation: how well the model has predicted rows before it learned them.

        One row for each metric of a window of event time in which labels arrived: the key columns, `window`,
        `metric`, `value` (of the window), `total` (of all rows so far) and `rows`.
        """
        return self._scored(METRICS)

    @property
    def drift(self) -> TimedStream:
        """Changes of the mean error, found by ADWIN.

        The key columns, `at`, `model_rows`, `error` (the mean after the change) and `error_before`.
        """
        return self._scored(DRIFT)

    def _scored(self, output: str) -> TimedStream:
        if output not in self._pipeline._graph[self._ref.step].outputs:
            what = f"`{output}` compares predictions with labels, and the model has none"
            raise MissingOutputError(what, where=f"`{self._ref.step}`", hint="set label=...")
        return TimedStream(self._pipeline, Ref(self._ref.step, output))


class RuleMatches(Matches):
    """Matches of a table of rules: the key columns, `rule`, `version`, `start`, `end` and the measures.

    Without measures, and in `.timeouts`, there is `matched`: the rows of each step of the rule, by the name
    of the step.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.event_time("ts").key_by("card").match_rules("alerts", rules="rules.yaml").faults
    <alerts.faults of p>
    """

    @property
    def faults(self) -> Stream:
        """Rules that were read during the run and cannot be used.

        The columns are `rule, version, reason, hint, place, read_at`; `version` is the version that stays
        active, or null.
        """
        return Stream(self._pipeline, Ref(self._ref.step, FAULTS))


class LatestTable(_Late, Table):
    """The table of `latest`. `late` has the rows without event time.

    >>> from headrace import Pipeline, connect
    >>> schema = "symbol string, price double, ts timestamp"
    >>> prices = Pipeline("p").read("prices", connect.memory(), schema=schema)
    >>> prices.event_time("ts").key_by("symbol").latest("current").late
    <current.late of p>
    """


class QueryResult(Stream):
    """The rows of a SQL query. They have no time until `event_time` declares one.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.sql("large", "select card from this where amount > 50").key_by("card")
    <KeyedStream of large>
    """

    @property
    def late(self) -> Stream:
        """Late rows of `MATCH_RECOGNIZE`, with `late_by`, `watermark` and `reason`.

        Raises:
            MissingOutputError: the query has no MATCH_RECOGNIZE; Spark drops its late rows.
        """
        if "late" not in self._pipeline._graph[self._ref.step].outputs:
            raise MissingOutputError(
                "only a query with MATCH_RECOGNIZE has late rows",
                where=f"`{self._ref.step}`",
                hint="or use window(...).aggregate(...)",
            )
        return Stream(self._pipeline, Ref(self._ref.step, "late"))


def _declared_output(processed: Stage, name: str) -> Ref:
    step = processed._ref.step
    outputs = processed._pipeline._graph[step].outputs[1:]
    if name not in outputs:
        raise OptionError(f"unknown output `{name}`", where=f"`{step}`", hint=did_you_mean(name, outputs))
    return Ref(step, name)
