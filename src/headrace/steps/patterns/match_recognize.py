"""A query with `MATCH_RECOGNIZE`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.durations import text
from headrace.errors import OptionError
from headrace.sql.match_recognize.clause import MatchRecognize
from headrace.sql.match_recognize.input_query import InputQuery
from headrace.sql.match_recognize.pattern import is_unbounded
from headrace.sql.match_recognize.tokens import position_of
from headrace.steps.base import MAIN, Node, Plan, Ref, out_of_order
from headrace.steps.expressions import one_line
from headrace.steps.facts import Facts, late_facts, plain_column
from headrace.steps.traits import Finding, RealTimeNote, StateBound, Tier, unknown_columns
from headrace.steps.unrouted import note_stateful

_KEYS = ("sql",)


@dataclass(frozen=True)
class RowPattern(Node):
    """A query with `MATCH_RECOGNIZE`: the clause over a stream, and the outer query over its matches."""

    input: Ref
    table: str
    """The name of the stream in `query`, and of the matches in `rest`."""
    query: str
    rest: str
    clause: MatchRecognize
    input_query: InputQuery | None = None
    """The part of the query that selects from the stream before the clause."""
    verb: ClassVar[str] = "match_recognize"
    stateful = True
    needs_time = True
    finds_patterns: ClassVar[bool] = True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late")

    def fires_by_clock(self, facts: Facts) -> bool:
        return facts.by_clock

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        return late_facts(Facts(self.input_columns(inputs[0]))) if output == "late" else Facts()

    def input_columns(self, facts: Facts) -> tuple[str, ...] | None:
        """Return the columns of the rows that the clause searches; None if they are unknown."""
        if facts.columns is None or self.input_query is None:
            return facts.columns
        return tuple(name for name, _ in self.input_query.outputs(facts.columns))

    def _input_order(self, facts: Facts) -> tuple[str, ...]:
        """Return the columns by which the searched rows are ordered."""
        if self.input_query is None:
            return facts.order_columns
        known = {name.lower() for name in facts.order_columns}
        selected = self.input_query.outputs(facts.columns or facts.order_columns)
        return tuple(name for name, source in selected if source is not None and source.lower() in known)

    def check(self, plan: Plan) -> Iterator[Finding]:
        facts, clause = plan.facts(self.input), self.clause
        columns = self.input_columns(facts)
        names = self.input_query.names if self.input_query is not None else ()
        if names and columns and len(columns) != len(names):
            what = f"expected {len(columns)} column names before MATCH_RECOGNIZE, got {len(names)}"
            yield Finding(what, "name each column: t(a, b, ...)", _KEYS)
        yield from unknown_columns(clause.partition_by, columns, "PARTITION BY", _KEYS)
        yield from self._check_order(facts)
        yield from self._check_ties(facts)
        if columns is not None:
            yield from self._check_expressions(columns)

    def _check_expressions(self, columns: tuple[str, ...]) -> Iterator[Finding]:
        clause = self.clause
        taken = {column.lower() for column in (columns if clause.rows != "one" else clause.partition_by)}
        for name, _ in clause.measures:
            if name.lower() in taken:
                yield Finding(f"the measure `{name}` has the name of a column", "rename the measure", _KEYS)
        reads = [(clause.condition, written) for _, written in clause.define]
        reads += [(clause.measure, written) for _, written in clause.measures]
        for read, written in reads:
            try:
                read(written, columns)
            except OptionError as error:
                yield Finding(error.what, error.hint, _KEYS)

    def _check_order(self, facts: Facts) -> Iterator[Finding]:
        """Yield a problem unless the first column of ORDER BY is the time, ascending."""
        order = self._input_order(facts)
        for key in self.clause.order_by[:1] if facts.timed else ():
            place = f"ORDER BY at {position_of(self.query, key.at)}"
            named = f"ORDER BY {key.text} at {position_of(self.query, key.at)}"
            if not order:
                what = f"{place}: the time of these rows is not a column"
                yield Finding(what, "remove ORDER BY: rows are ordered by time", _KEYS)
            elif (plain_column(key.text) or "").lower() not in {name.lower() for name in order}:
                what = f"{named}: rows are matched in the order of their event time, `{order[0]}`"
                hint = f"write ORDER BY {order[0]}, then columns for rows of equal time"
                yield Finding(what, hint, _KEYS)
            elif key.descending:
                yield Finding(
                    f"{named} DESC: a stream is in ascending order of time",
                    f"write ORDER BY {order[0]}",
                    _KEYS,
                )

    def _check_ties(self, facts: Facts) -> Iterator[Finding]:
        """Check the further columns of ORDER BY, which order rows of equal event time."""
        keys = self.clause.order_by[1:]
        for key in keys:
            named = f"ORDER BY {key.text} at {position_of(self.query, key.at)}"
            if plain_column(key.text) is None:
                hint = "compute it in a previous step: with_columns(...)"
                yield Finding(f"{named}: expected a column", hint, _KEYS)
            elif facts.by_clock:
                what = f"{named}: with the clock as time, rows are matched in arrival order"
                yield Finding(what, "remove it, or use event time", _KEYS)
        names = (name for key in keys if (name := plain_column(key.text)) is not None)
        yield from unknown_columns(names, self.input_columns(facts), "ORDER BY", _KEYS)

    def warnings(self, plan: Plan) -> Iterator[Finding]:
        if self._lacks_bound:
            yield Finding(
                "the length of a match has no bound, and its rows are stored until it ends",
                "add WITHIN INTERVAL '1' HOUR after PATTERN, or bound the repetition: A{1,100}",
            )

    @property
    def _lacks_bound(self) -> bool:
        return self.clause.within is None and is_unbounded(self.clause.pattern)

    def tier(self, plan: Plan) -> Tier:
        return Tier("kernel", "Spark has no MATCH_RECOGNIZE; late rows go to .late")

    def state_bound(self, plan: Plan) -> StateBound:
        clause, behind = self.clause, out_of_order(plan, self)
        keys = ", ".join(clause.partition_by)
        each = f" of each {keys}" if keys else ""
        waits = f", and rows up to {text(behind)} behind" if behind else ""
        kept = f"the rows{each} of the open match"
        if self._lacks_bound:
            return StateBound(kept + waits, "the rows of a match that does not end", "WITHIN ends it")
        if clause.within is not None:
            kept = f"{kept}, for {text(clause.within)}"
        if keys and clause.remembers_partitions:
            return StateBound(
                f"{kept}{waits}, and a few bytes of each {keys}", f"the distinct values of {keys}"
            )
        return StateBound(kept + waits)

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_stateful(plan, self)

    def description(self) -> list[str]:
        return [one_line(self.query)]

    def state_fields(self) -> Mapping[str, Any]:
        """Return the fields that determine the stored rows and columns and the progress of the search."""
        clause = self.clause
        return {
            "partition_by": list(clause.partition_by),
            "pattern": clause.pattern.plain(),
            "define": {name: one_line(written.text) for name, written in clause.define},
            "measures": [one_line(written.text) for _, written in clause.measures],
            "subsets": {name: list(members) for name, members in clause.subsets},
            "skip": [clause.skip, *clause.skip_to],
            "rows": clause.rows,
            "within": clause.within,
        }
