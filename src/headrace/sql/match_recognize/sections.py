"""Read the sections of `MATCH_RECOGNIZE (...)`, such as `PARTITION BY` and `DEFINE`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from headrace.durations import microseconds
from headrace.errors import DurationError
from headrace.sql.match_recognize.pattern import Pattern, canonical, read_pattern
from headrace.sql.match_recognize.tokens import Token, TokenReader
from headrace.sql.match_recognize.values import Labels, Text

Rows = Literal["one", "show_empty", "omit_empty", "with_unmatched"]
Skip = Literal["past_last", "to_next", "to_first", "to_last"]


@dataclass(frozen=True)
class Order:
    """One key of ORDER BY."""

    text: str
    descending: bool = False
    nulls_last: bool = False
    at: int = 0


@dataclass
class Draft:
    """The parts of a clause as they are read; `*_at` are the tokens of errors about them."""

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


def _variable(reader: TokenReader, wanted: str = "a pattern variable") -> Token:
    """Consume the name of a variable: a word, or a name in backticks or double quotes."""
    if not _is_variable(reader.current):
        reader.fail_expected(wanted, [])
    return reader.advance()


def _is_variable(token: Token) -> bool:
    return token.names or token.text.startswith('"')


def _skip_qualifier(reader: TokenReader, draft: Draft) -> None:
    """Skip the name of the table before a column."""
    if (
        reader.current.names
        and reader.current.name.lower() == draft.table.lower()
        and reader.peek().matches(".")
    ):
        reader.i += 2


def _partition(reader: TokenReader, draft: Draft, begin: Token) -> None:
    while True:
        _skip_qualifier(reader, draft)
        token = reader.identifier("a column")
        if reader.current.matches("(", "."):
            reader.fail(
                token,
                f"expected columns after PARTITION BY, got an expression at {token}",
                "compute it in a previous step: with_columns(...)",
            )
        draft.partition_by.append(token.name)
        if not reader.accept(","):
            return


def _order(reader: TokenReader, draft: Draft, begin: Token) -> None:
    while True:
        _skip_qualifier(reader, draft)
        start = reader.current
        while not (
            reader.current.kind == "end"
            or reader.current.matches(",", "ASC", "DESC", "NULLS")
            or _starts(reader)
        ):
            reader.skip_part()
        if reader.tokens[reader.i - 1].at < start.at:
            reader.fail_expected("a column to order by", [])
        text = reader.text_since(start)
        descending = reader.accept("DESC")
        if not descending:
            reader.accept("ASC")
        nulls_last = descending
        if reader.accept("NULLS"):
            nulls_last = not reader.accept("FIRST")
            if nulls_last:
                reader.expect("LAST")
        draft.order_by.append(Order(text, descending, nulls_last, start.at))
        if not reader.accept(","):
            return


def _measures(reader: TokenReader, draft: Draft, begin: Token) -> None:
    while True:
        start = reader.current
        while not reader.current.matches("AS"):
            if reader.current.kind == "end" or reader.current.matches(","):
                reader.fail_expected(
                    "`AS` and a name for the measure", ["AS"], "write LAST(A.price) AS price"
                )
            reader.skip_part()
        if reader.current.at <= start.at:
            reader.fail_expected("a measure", [])
        text = reader.text_since(start)
        reader.expect("AS")
        name = reader.identifier("a name for the measure")
        if name.name.lower() in (other.lower() for other, _ in draft.measures):
            reader.fail(name, f"duplicate measure `{name.name}`", "rename one")
        draft.measures.append((name.name, Text(text, start.at)))
        if not reader.accept(","):
            return


def _one_row(reader: TokenReader, draft: Draft, begin: Token) -> None:
    _set_rows(reader, draft, begin, "one")


def _all_rows(reader: TokenReader, draft: Draft, begin: Token) -> None:
    rows: Rows = "show_empty"
    if reader.accept("OMIT"):
        reader.expect("EMPTY", "MATCHES")
        rows = "omit_empty"
    elif reader.accept("WITH"):
        reader.expect("UNMATCHED", "ROWS")
        rows = "with_unmatched"
    elif reader.accept("SHOW"):
        reader.expect("EMPTY", "MATCHES")
    _set_rows(reader, draft, begin, rows)


def _set_rows(reader: TokenReader, draft: Draft, begin: Token, rows: Rows) -> None:
    if draft.rows_at is not None:
        reader.fail(begin, "ROWS PER MATCH is already set", "write ONE ROW or ALL ROWS")
    draft.rows, draft.rows_at = rows, begin


def _skip(reader: TokenReader, draft: Draft, begin: Token) -> None:
    if reader.accept("PAST"):
        reader.expect("LAST", "ROW")
        draft.skip = "past_last"
        return
    if not reader.accept("TO"):
        reader.fail_expected("PAST LAST ROW or TO ...", ["PAST", "TO"], "AFTER MATCH SKIP PAST LAST ROW")
    if reader.accept("NEXT", "ROW"):
        draft.skip = "to_next"
        return
    draft.skip = "to_last"
    if reader.current.matches("FIRST", "LAST") and _is_variable(reader.peek()) and not _starts(reader, 1):
        draft.skip = "to_first" if reader.advance().matches("FIRST") else "to_last"
    draft.skip_to = _variable(reader)


def _from_start(reader: TokenReader, draft: Draft, begin: Token) -> None:
    if begin.matches("INITIAL"):
        reader.fail(begin, "INITIAL is for window functions", "anchor the pattern: PATTERN (^ A B)")
    reader.fail(begin, "SEEK is for window functions", "remove it: matches are searched from every row")


def _pattern(reader: TokenReader, draft: Draft, begin: Token) -> None:
    reader.expect("(")
    draft.pattern = read_pattern(TokenReader(reader.statement, reader.read_bracketed(), reader.where))


def _within(reader: TokenReader, draft: Draft, begin: Token) -> None:
    reader.accept("INTERVAL")
    amount = reader.advance()
    text = amount.text.strip("'\"")
    if reader.current.kind == "word" and not _starts(reader):
        text = f"{text} {reader.advance().text.lower()}"
    try:
        draft.within = microseconds(text)
    except DurationError as error:
        reader.fail(amount, f"WITHIN: {error.what}", error.hint or "write WITHIN INTERVAL '10' MINUTES")


def _subsets(reader: TokenReader, draft: Draft, begin: Token) -> None:
    while True:
        name = _variable(reader, "a name for the subset")
        if canonical(name) in draft.subsets:
            reader.fail(name, f"duplicate subset `{canonical(name)}`", "rename one, or join them")
        reader.expect("=")
        reader.expect("(")
        members = [reader.advance()]
        while reader.accept(","):
            members.append(reader.advance())
        reader.expect(")", hint="write SUBSET U = (A, B)")
        draft.subsets[canonical(name)] = tuple(dict.fromkeys(canonical(member) for member in members))
        draft.subset_at.append((name, members))
        if not reader.accept(","):
            return


def _define(reader: TokenReader, draft: Draft, begin: Token) -> None:
    while True:
        name = _variable(reader)
        reader.expect("AS", hint="write DEFINE A AS A.price > 10")
        start = reader.current
        while reader.current.kind != "end" and not reader.current.matches(","):
            if reader.current.matches("PATTERN") and reader.peek().matches("("):
                reader.fail(reader.current, "DEFINE must be the last part", "write PATTERN (...) DEFINE ...")
            reader.skip_part()
        if reader.current.at <= start.at:
            reader.fail_expected("a condition", [])
        if canonical(name) in draft.define:
            reader.fail(name, f"duplicate definition of `{canonical(name)}`", "join the conditions with AND")
        draft.define[canonical(name)] = Text(reader.text_since(start), start.at)
        draft.define_at.append(name)
        if not reader.accept(","):
            return


def _starts(reader: TokenReader, n: int = 0) -> bool:
    """True if a section of the clause starts here."""
    return any(all(reader.peek(n + i).matches(word) for i, word in enumerate(words)) for words in SECTIONS)


SECTIONS: dict[tuple[str, ...], Callable[[TokenReader, Draft, Token], None]] = {
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
KNOWN = sorted({words[0] for words in SECTIONS})
