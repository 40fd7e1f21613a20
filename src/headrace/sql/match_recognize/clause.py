"""Parse the clause `MATCH_RECOGNIZE (...)`."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import did_you_mean
from headrace.sql.match_recognize.expressions import Scope, parse_expression
from headrace.sql.match_recognize.pattern import (
    Anchor,
    Exclusion,
    Pattern,
    canonical,
    contains,
    variables_of,
)
from headrace.sql.match_recognize.sections import KNOWN, SECTIONS, Draft, Order, Rows, Skip
from headrace.sql.match_recognize.tokens import Token, TokenReader
from headrace.sql.match_recognize.values import (
    NUMBER,
    ExpressionTemplate,
    Labels,
    MatchNumber,
    Navigation,
    Text,
)


@dataclass(frozen=True)
class MatchRecognize:
    """A `MATCH_RECOGNIZE` clause; `condition` and `measure` parse its expressions."""

    statement: str
    pattern: Pattern
    partition_by: tuple[str, ...] = ()
    order_by: tuple[Order, ...] = ()
    measures: tuple[tuple[str, Text], ...] = ()
    rows: Rows = "one"
    skip: Skip = "past_last"
    skip_to: Labels = ()
    within: int | None = None
    subsets: tuple[tuple[str, Labels], ...] = ()
    define: tuple[tuple[str, Text], ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The distinct variables of the pattern, in order."""
        return tuple(dict.fromkeys(variables_of(self.pattern)))

    @property
    def names(self) -> dict[str, Labels]:
        """The variables of each variable and subset."""
        return {**{name: (name,) for name in self.variables}, **dict(self.subsets)}

    @property
    def remembers_partitions(self) -> bool:
        """True if partitions without buffered rows have state: their start, match number or last rows."""
        values = [value for _, text in self.define for value in self.condition(text, None).values]
        values += [value for _, text in self.measures for value in self.measure(text, None).values]
        return contains(self.pattern, Anchor) or any(
            isinstance(value, MatchNumber)
            or NUMBER in value.text
            or (isinstance(value, Navigation) and value.shift < 0)
            for value in values
        )

    def condition(
        self, written: Text, columns: tuple[str, ...] | None, *, where: str = ""
    ) -> ExpressionTemplate:
        """Parse an expression of DEFINE over the columns of the input."""
        return parse_expression(written, Scope(self.statement, self.names, "DEFINE", columns, where))

    def measure(
        self, written: Text, columns: tuple[str, ...] | None, *, where: str = ""
    ) -> ExpressionTemplate:
        """Parse an expression of MEASURES."""
        return parse_expression(written, Scope(self.statement, self.names, "MEASURES", columns, where))


def read_clause(reader: TokenReader, table: str = "") -> MatchRecognize:
    """Read the brackets of MATCH_RECOGNIZE; `table` is the alias of the input.

    Raises:
        OptionError: syntax error or contradiction, with line and column.
    """
    draft, seen = Draft(table=table), dict[str, Token]()
    while reader.current.kind != "end":
        begin = reader.current
        section = next((words for words in SECTIONS if reader.accept(*words)), None)
        if section is None:
            reader.fail_expected("a part of MATCH_RECOGNIZE", KNOWN, _after_define(seen))
        if section[0] in seen:
            reader.fail(begin, f"duplicate {' '.join(section)}", "write it once")
        seen[section[0]] = begin
        SECTIONS[section](reader, draft, begin)
    if draft.pattern is None:
        reader.fail(reader.current, "PATTERN is missing", "add PATTERN (A B+) DEFINE B AS ...")
    return _build_clause(reader, draft, draft.pattern)


def _after_define(seen: dict[str, Token]) -> str:
    return "DEFINE must be the last part" if "DEFINE" in seen else ""


def _build_clause(reader: TokenReader, draft: Draft, pattern: Pattern) -> MatchRecognize:
    known = tuple(dict.fromkeys(variables_of(pattern)))
    _check_subsets(reader, draft, known)
    for token in draft.define_at:
        if canonical(token) not in known:
            hint = did_you_mean(canonical(token), known)
            reader.fail(token, f"DEFINE of `{canonical(token)}`, which is not in PATTERN", hint)
    if draft.rows == "with_unmatched" and contains(pattern, Exclusion):
        assert draft.rows_at is not None
        reader.fail(
            draft.rows_at,
            "WITH UNMATCHED ROWS cannot be combined with an exclusion {- -}: excluded rows are not unmatched",
            "remove one of them",
        )
    clause = MatchRecognize(
        reader.statement,
        pattern,
        tuple(draft.partition_by),
        tuple(draft.order_by),
        tuple(draft.measures),
        draft.rows,
        draft.skip,
        _skip_to(reader, draft, known),
        draft.within,
        tuple(draft.subsets.items()),
        tuple(draft.define.items()),
    )
    for _, condition in clause.define:
        clause.condition(condition, None, where=reader.where)
    for _, measure in clause.measures:
        clause.measure(measure, None, where=reader.where)
    return clause


def _check_subsets(reader: TokenReader, draft: Draft, known: tuple[str, ...]) -> None:
    for token, members in draft.subset_at:
        if canonical(token) in known:
            reader.fail(token, f"the subset `{canonical(token)}` has the name of a variable", "rename it")
        for member in members:
            if canonical(member) not in known:
                hint = did_you_mean(canonical(member), known)
                reader.fail(member, f"unknown pattern variable `{canonical(member)}`", hint)


def _skip_to(reader: TokenReader, draft: Draft, known: tuple[str, ...]) -> Labels:
    if draft.skip_to is None:
        return ()
    name = canonical(draft.skip_to)
    if name in known:
        return (name,)
    if name not in draft.subsets:
        hint = did_you_mean(name, [*known, *draft.subsets])
        reader.fail(draft.skip_to, f"unknown pattern variable `{name}`", hint)
    return draft.subsets[name]
