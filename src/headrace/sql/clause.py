"""The clause `MATCH_RECOGNIZE (...)`, read into one declaration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from headrace.durations import microseconds
from headrace.errors import DurationError, did_you_mean
from headrace.sql.expressions import Scope, holes
from headrace.sql.pattern import Anchor, Exclusion, Pattern, canonical, holds, read_pattern, variables_of
from headrace.sql.tokens import Reader, Token
from headrace.sql.values import NUMBER, Holed, Labels, MatchNumber, Navigation, Text

Rows = Literal["one", "show_empty", "omit_empty", "with_unmatched"]
Skip = Literal["past_last", "to_next", "to_first", "to_last"]


@dataclass(frozen=True)
class Order:
    """One key of ORDER BY."""

    text: str
    descending: bool = False
    nulls_last: bool = False
    at: int = 0


@dataclass(frozen=True)
class MatchRecognize:
    """What a `MATCH_RECOGNIZE` clause says. Its expressions are read by `condition` and `measure`."""

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
        """The pattern's variables, each once, in order."""
        return tuple(dict.fromkeys(variables_of(self.pattern)))

    @property
    def names(self) -> dict[str, Labels]:
        """What each variable and subset stands for."""
        return {**{name: (name,) for name in self.variables}, **dict(self.subsets)}

    @property
    def remembers_partitions(self) -> bool:
        """Whether a partition must be remembered when none of its rows is needed: its start, its matches, its last rows."""
        values = [value for _, text in self.define for value in self.condition(text, None).values]
        values += [value for _, text in self.measures for value in self.measure(text, None).values]
        return holds(self.pattern, Anchor) or any(
            isinstance(value, MatchNumber)
            or NUMBER in value.text
            or (isinstance(value, Navigation) and value.shift < 0)
            for value in values
        )

    def condition(self, written: Text, columns: tuple[str, ...] | None, *, where: str = "") -> Holed:
        """An expression of DEFINE, read with the input's columns in mind."""
        return holes(written, Scope(self.statement, self.names, "DEFINE", columns, where))

    def measure(self, written: Text, columns: tuple[str, ...] | None, *, where: str = "") -> Holed:
        """An expression of MEASURES."""
        return holes(written, Scope(self.statement, self.names, "MEASURES", columns, where))


@dataclass
class _Draft:
    pattern: Pattern | None = None
    partition_by: list[str] = field(default_factory=list)
    order_by: list[Order] = field(default_factory=list)
    measures: list[tuple[str, Text]] = field(default_factory=list)
    rows: Rows = "one"
    rows_at: Token | None = None
    skip: Skip = "past_last"
    skip_to: Token | None = None
    within: int | None = None
    subsets: dict[str, Labels] = field(default_factory=dict)
    subset_at: list[tuple[Token, list[Token]]] = field(default_factory=list)
    define: dict[str, Text] = field(default_factory=dict)
    define_at: list[Token] = field(default_factory=list)
    table: str = ""


def read_clause(reader: Reader, table: str = "") -> MatchRecognize:
    """Read what stands in the brackets of MATCH_RECOGNIZE, over what the query calls `table`.

    Raises:
        OptionError: it can't be read, or says what can't be; with line and column.
    """
    draft, seen = _Draft(table=table), dict[str, Token]()
    while reader.now.kind != "end":
        begin = reader.now
        section = next((words for words in _SECTIONS if reader.takes(*words)), None)
        if section is None:
            reader.unexpected("a part of MATCH_RECOGNIZE", _KNOWN, _after_define(seen))
        if section[0] in seen:
            reader.refuse(begin, f"{' '.join(section)} is there already", "write it once")
        seen[section[0]] = begin
        _SECTIONS[section](reader, draft, begin)
    if draft.pattern is None:
        reader.refuse(reader.now, "PATTERN is missing", "add PATTERN (A B+) DEFINE B AS ...")
    return _checked(reader, draft, draft.pattern)


def _after_define(seen: dict[str, Token]) -> str:
    return "DEFINE comes last" if "DEFINE" in seen else ""


def _checked(reader: Reader, draft: _Draft, pattern: Pattern) -> MatchRecognize:
    known = tuple(dict.fromkeys(variables_of(pattern)))
    _check_subsets(reader, draft, known)
    for token in draft.define_at:
        if canonical(token) not in known:
            hint = did_you_mean(canonical(token), known)
            reader.refuse(token, f"DEFINE of `{canonical(token)}`, which is not in PATTERN", hint)
    if draft.rows == "with_unmatched" and holds(pattern, Exclusion):
        assert draft.rows_at is not None
        reader.refuse(
            draft.rows_at,
            "WITH UNMATCHED ROWS can't be combined with an exclusion {- -}: left-out rows would look unmatched",
            "leave one of them out",
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


def _check_subsets(reader: Reader, draft: _Draft, known: tuple[str, ...]) -> None:
    for token, members in draft.subset_at:
        if canonical(token) in known:
            reader.refuse(token, f"the subset `{canonical(token)}` has the name of a variable", "rename it")
        for member in members:
            if canonical(member) not in known:
                hint = did_you_mean(canonical(member), known)
                reader.refuse(member, f"there is no pattern variable `{canonical(member)}`", hint)


def _skip_to(reader: Reader, draft: _Draft, known: tuple[str, ...]) -> Labels:
    if draft.skip_to is None:
        return ()
    name = canonical(draft.skip_to)
    if name in known:
        return (name,)
    if name not in draft.subsets:
        hint = did_you_mean(name, [*known, *draft.subsets])
        reader.refuse(draft.skip_to, f"there is no pattern variable `{name}`", hint)
    return draft.subsets[name]


def _variable(reader: Reader, wanted: str = "a pattern variable") -> Token:
    """Take the name of a variable: a word, or quoted, with double quotes too."""
    if not _is_variable(reader.now):
        reader.unexpected(wanted, [])
    return reader.take()


def _is_variable(token: Token) -> bool:
    return token.names or token.text.startswith('"')


def _pass_table(reader: Reader, draft: _Draft) -> None:
    """Pass over the name of the table before one of its columns."""
    if reader.now.names and reader.now.name.lower() == draft.table.lower() and reader.ahead().says("."):
        reader.i += 2


def _partition(reader: Reader, draft: _Draft, begin: Token) -> None:
    while True:
        _pass_table(reader, draft)
        token = reader.identifier("a column")
        if reader.now.says("(", "."):
            reader.refuse(
                token,
                f"PARTITION BY takes columns, got an expression at {token}",
                "compute it in a step before: with_columns(...)",
            )
        draft.partition_by.append(token.name)
        if not reader.takes(","):
            return


def _order(reader: Reader, draft: _Draft, begin: Token) -> None:
    while True:
        _pass_table(reader, draft)
        start = reader.now
        while not (
            reader.now.kind == "end" or reader.now.says(",", "ASC", "DESC", "NULLS") or _starts(reader)
        ):
            if reader.take().says("(", "["):
                reader.inside()
        if reader.tokens[reader.i - 1].at < start.at:
            reader.unexpected("a column to order by", [])
        text = reader.statement[start.at : reader.tokens[reader.i - 1].end]
        descending = reader.takes("DESC") or (reader.takes("ASC") and False)
        nulls_last = descending
        if reader.takes("NULLS"):
            nulls_last = not reader.takes("FIRST")
            if nulls_last:
                reader.need("LAST")
        draft.order_by.append(Order(text, descending, nulls_last, start.at))
        if not reader.takes(","):
            return


def _measures(reader: Reader, draft: _Draft, begin: Token) -> None:
    while True:
        start = reader.now
        while not reader.now.says("AS"):
            if reader.now.kind == "end" or reader.now.says(","):
                reader.unexpected("`AS` and a name for the measure", ["AS"], "write LAST(A.price) AS price")
            if reader.take().says("(", "["):
                reader.inside()
        text = (
            reader.statement[start.at : reader.tokens[reader.i - 1].end] if reader.now.at > start.at else ""
        )
        if not text:
            reader.unexpected("a measure", [])
        reader.need("AS")
        name = reader.identifier("a name for the measure")
        if name.name.lower() in (other.lower() for other, _ in draft.measures):
            reader.refuse(name, f"there is a measure `{name.name}` already", "rename one")
        draft.measures.append((name.name, Text(text, start.at)))
        if not reader.takes(","):
            return


def _one_row(reader: Reader, draft: _Draft, begin: Token) -> None:
    _once_rows(reader, draft, begin, "one")


def _all_rows(reader: Reader, draft: _Draft, begin: Token) -> None:
    rows: Rows = "show_empty"
    if reader.takes("OMIT"):
        reader.need("EMPTY", "MATCHES")
        rows = "omit_empty"
    elif reader.takes("WITH"):
        reader.need("UNMATCHED", "ROWS")
        rows = "with_unmatched"
    elif reader.takes("SHOW"):
        reader.need("EMPTY", "MATCHES")
    _once_rows(reader, draft, begin, rows)


def _once_rows(reader: Reader, draft: _Draft, begin: Token, rows: Rows) -> None:
    if draft.rows_at is not None:
        reader.refuse(begin, "ROWS PER MATCH is said already", "write ONE ROW or ALL ROWS")
    draft.rows, draft.rows_at = rows, begin


def _skip(reader: Reader, draft: _Draft, begin: Token) -> None:
    if reader.takes("PAST"):
        reader.need("LAST", "ROW")
        draft.skip = "past_last"
        return
    if not reader.takes("TO"):
        reader.unexpected("PAST LAST ROW or TO ...", ["PAST", "TO"], "AFTER MATCH SKIP PAST LAST ROW")
    if reader.takes("NEXT", "ROW"):
        draft.skip = "to_next"
        return
    draft.skip = "to_last"
    if reader.now.says("FIRST", "LAST") and _is_variable(reader.ahead()) and not _starts(reader, 1):
        draft.skip = "to_first" if reader.take().says("FIRST") else "to_last"
    draft.skip_to = _variable(reader)


def _from_start(reader: Reader, draft: _Draft, begin: Token) -> None:
    if begin.says("INITIAL"):
        reader.refuse(begin, "INITIAL is for window functions", "anchor the pattern: PATTERN (^ A B)")
    reader.refuse(begin, "SEEK is for window functions", "leave it out: matches are looked for everywhere")


def _pattern(reader: Reader, draft: _Draft, begin: Token) -> None:
    reader.need("(")
    draft.pattern = read_pattern(Reader(reader.statement, reader.inside(), reader.where))


def _within(reader: Reader, draft: _Draft, begin: Token) -> None:
    reader.takes("INTERVAL")
    amount = reader.take()
    text = amount.text.strip("'\"")
    if reader.now.kind == "word" and not _starts(reader):
        text = f"{text} {reader.take().text.lower()}"
    try:
        draft.within = microseconds(text)
    except DurationError as error:
        reader.refuse(amount, f"WITHIN: {error.what}", error.hint or "write WITHIN INTERVAL '10' MINUTES")


def _subsets(reader: Reader, draft: _Draft, begin: Token) -> None:
    while True:
        name = _variable(reader, "a name for the subset")
        if canonical(name) in draft.subsets:
            reader.refuse(name, f"there is a subset `{canonical(name)}` already", "rename one, or join them")
        reader.need("=")
        reader.need("(")
        members = [reader.take()]
        while reader.takes(","):
            members.append(reader.take())
        reader.need(")", hint="write SUBSET U = (A, B)")
        draft.subsets[canonical(name)] = tuple(dict.fromkeys(canonical(member) for member in members))
        draft.subset_at.append((name, members))
        if not reader.takes(","):
            return


def _define(reader: Reader, draft: _Draft, begin: Token) -> None:
    while True:
        name = _variable(reader)
        reader.need("AS", hint="write DEFINE A AS A.price > 10")
        start = reader.now
        while reader.now.kind != "end" and not reader.now.says(","):
            if reader.now.says("PATTERN") and reader.ahead().says("("):
                reader.refuse(reader.now, "DEFINE comes last", "write PATTERN (...) DEFINE ...")
            if reader.take().says("(", "["):
                reader.inside()
        if reader.now.at <= start.at:
            reader.unexpected("a condition", [])
        if canonical(name) in draft.define:
            reader.refuse(name, f"`{canonical(name)}` is defined already", "join the conditions with AND")
        text = reader.statement[start.at : reader.tokens[reader.i - 1].end]
        draft.define[canonical(name)] = Text(text, start.at)
        draft.define_at.append(name)
        if not reader.takes(","):
            return


def _starts(reader: Reader, n: int = 0) -> bool:
    """Whether another part of the clause begins here."""
    return any(all(reader.ahead(n + i).says(word) for i, word in enumerate(words)) for words in _SECTIONS)


_SECTIONS: dict[tuple[str, ...], Callable[[Reader, _Draft, Token], None]] = {
    ("PARTITION", "BY"): _partition,
    ("ORDER", "BY"): _order,
    ("MEASURES",): _measures,
    ("ONE", "ROW", "PER", "MATCH"): _one_row,
    ("ALL", "ROWS", "PER", "MATCH"): _all_rows,
    ("AFTER", "MATCH", "SKIP"): _skip,
    ("INITIAL",): _from_start,
    ("SEEK",): _from_start,
    ("PATTERN",): _pattern,
    ("WITHIN",): _within,
    ("SUBSET",): _subsets,
    ("DEFINE",): _define,
}
_KNOWN = sorted({words[0] for words in _SECTIONS})
