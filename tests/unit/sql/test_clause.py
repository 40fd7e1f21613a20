"""Parsing `MATCH_RECOGNIZE`; errors have line and column."""

from __future__ import annotations

import pytest

from headrace.errors import OptionError
from headrace.sql.match_recognize.clause import MatchRecognize
from headrace.sql.match_recognize.pattern import (
    Alternatives,
    Anchor,
    Exclusion,
    Pattern,
    Permutation,
    Repeat,
    Sequence,
    Variable,
)
from headrace.sql.match_recognize.statement import split_statement
from headrace.sql.match_recognize.values import Aggregation, MatchNumber, Navigation

A, B, C = map(Variable, "ABC")
COLUMNS = ("symbol", "price", "ts", "end")


def read(inside: str) -> MatchRecognize:
    actual = split_statement(f"select * from ticks match_recognize ({inside})", where="hits")
    assert actual is not None
    return actual.clause


def pattern(text: str) -> Pattern:
    return read(f"pattern ({text})").pattern


def refusal(statement: str) -> str:
    with pytest.raises(OptionError) as caught:
        split_statement(statement, where="hits")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A B+", Sequence((A, Repeat(B, 1, None)))),
        ("a", A),
        ('"a" `b c`', Sequence((Variable("a"), Variable("b c")))),
        ("A | B C", Alternatives((A, Sequence((B, C))))),
        ("(A | B)*?", Repeat(Alternatives((A, B)), 0, None, greedy=False)),
        ("A? B?? C+?", Sequence((Repeat(A, 0, 1), Repeat(B, 0, 1, False), Repeat(C, 1, None, False)))),
        ("A{2} B{2,} C{,5}", Sequence((Repeat(A, 2, 2), Repeat(B, 2, None), Repeat(C, 0, 5)))),
        ("A{2,5}? B{,}", Sequence((Repeat(A, 2, 5, False), Repeat(B, 0, None)))),
        ("()", Sequence(())),
        ("() | A", Alternatives((Sequence(()), A))),
        ("^ A $", Sequence((Anchor("start"), A, Anchor("end")))),
        ("A {- B+ -} C", Sequence((A, Exclusion(Repeat(B, 1, None)), C))),
        ("{- A -}* B", Sequence((Repeat(Exclusion(A), 0, None), B))),
        ("permute(A, B C)", Permutation((A, Sequence((B, C))))),
        ("A /* then */ B -- end\n", Sequence((A, B))),
    ],
)
def test_patterns_are_read_as_trees(text: str, tree: Pattern) -> None:
    assert pattern(text) == tree


def test_every_part_of_a_clause_is_read() -> None:
    clause = read(
        """partition by symbol order by ts asc nulls last
           measures first(A.price) as start, classifier() as label
           all rows per match with unmatched rows
           after match skip to first B
           pattern (A B+ C?) within interval '10' minutes
           subset U = (A, B), W = (B, C)
           define B as B.price < prev(B.price), C as sum(U.price) > 10"""
    )
    assert clause.partition_by == ("symbol",)
    assert [(key.text, key.descending) for key in clause.order_by] == [("ts", False)]
    assert [(name, text.text) for name, text in clause.measures] == [
        ("start", "first(A.price)"),
        ("label", "classifier()"),
    ]
    assert (clause.rows, clause.skip, clause.skip_to) == ("with_unmatched", "to_first", ("B",))
    assert clause.within == 600_000_000
    assert clause.subsets == (("U", ("A", "B")), ("W", ("B", "C")))
    assert [name for name, _ in clause.define] == ["B", "C"]


@pytest.mark.parametrize(
    ("text", "skip", "to"),
    [
        ("past last row", "past_last", ()),
        ("to next row", "to_next", ()),
        ("to first B", "to_first", ("B",)),
        ("to last B", "to_last", ("B",)),
        ("to B", "to_last", ("B",)),
        ("to last U", "to_last", ("A", "B")),
        ('to first "U"', "to_first", ("A", "B")),
        ("to last `B`", "to_last", ("B",)),
    ],
)
def test_every_skip_is_read(text: str, skip: str, to: tuple[str, ...]) -> None:
    clause = read(f"after match skip {text} pattern (A B) subset U = (A, B)")
    assert (clause.skip, clause.skip_to) == (skip, to)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("one row per match", "one"),
        ("", "one"),
        ("all rows per match", "show_empty"),
        ("all rows per match show empty matches", "show_empty"),
        ("all rows per match omit empty matches", "omit_empty"),
        ("all rows per match with unmatched rows", "with_unmatched"),
    ],
)
def test_every_way_to_show_rows_is_read(text: str, rows: str) -> None:
    assert read(f"{text} pattern (A)").rows == rows


@pytest.mark.parametrize(
    ("written", "text", "values"),
    [
        ("B.price < prev(B.price)", "__v0 < __v1", (Navigation("price", ("B",)), Navigation("price", ("B",), shift=-1))),
        ("price > 3", "__v0 > 3", (Navigation("price"),)),
        ("next(last(A.price + 1, 2), 3) > 1", "__v0 > 1", (Navigation("price + 1", ("A",), skip=2, shift=3),)),
        ("first(price, 1) > 1", "__v0 > 1", (Navigation("price", last=False, skip=1),)),
        ("sum(U.price) / count(*) > avg(price)", "__v0 / __v1 > __v2",
         (Aggregation("sum( price )", ("A", "B")), Aggregation("count( * )"), Aggregation("avg( price )"))),
        ("count(A.*) = count()", "__v0 = __v1", (Aggregation("count( * )", ("A",)), Aggregation("count( * )"))),
        ("classifier() = classifier(A)", "__v0 = __v1", (Navigation("__classifier"), Navigation("__classifier", ("A",)))),
        ("match_number() = 1", "__v0 = 1", (MatchNumber(),)),
        ("max(lower(classifier()) || match_number()) > 'a'", "__v0 > 'a'",
         (Aggregation("max( lower ( __classifier ) || __match_number )"),)),
        ("count(distinct A.price) filter (where A.price > 1) > 1", "__v0 > 1",
         (Aggregation("count( distinct price ) filter ( where price > 1 )", ("A",)),)),
        ("exists(array(price), x -> x > A.price)", "exists ( array ( __v0 ) , x -> x > __v1 )",
         (Navigation("price"), Navigation("price", ("A",)))),
        ("array_contains(ARRAY[price, 2], 1)", "array_contains ( array ( __v0 , 2 ) , 1 )", (Navigation("price"),)),
        ("last(array_max(ARRAY[A.price, 2])) > ARRAY[1, 2][0]", "__v0 > array ( 1 , 2 ) [ 0 ]",
         (Navigation("array_max ( array ( price , 2 ) )", ("A",)),)),
        ("case when symbol like any ('a%', 'b%') then 1 else 2 end = 1",
         "case when __v0 like any ( 'a%' , 'b%' ) then 1 else 2 end = 1", (Navigation("symbol"),)),
        ("cast(price as varchar) = 'x'", "cast ( __v0 as string ) = 'x'", (Navigation("price"),)),
        ("ts > timestamp '2026-01-01' and `price` > 1", "__v0 > timestamp '2026-01-01' and __v1 > 1",
         (Navigation("ts"), Navigation("`price`"))),
    ],
)  # fmt: skip
def test_expressions_become_formulas_over_values(written: str, text: str, values: tuple[object, ...]) -> None:
    clause = read(f"pattern (A B) subset U = (A, B) define B as {written}")
    holed = clause.condition(clause.define[0][1], COLUMNS)
    assert (holed.text, holed.values) == (text, values)


def test_measures_are_running_unless_they_say_final() -> None:
    clause = read(
        "measures final last(A.price) as a, running sum(price) as b, final count(*) as c pattern (A)"
    )
    made = [clause.measure(text, COLUMNS).values[0] for _, text in clause.measures]
    assert [value.final for value in made if not isinstance(value, MatchNumber)] == [True, False, True]


@pytest.mark.parametrize(
    ("statement", "message", "hint"),
    [
        ("select * from t match_recognize (patern (A))",
         "at line 1, column 34: expected a part of MATCH_RECOGNIZE, got `patern`", "did you mean `PATTERN`?"),
        ("select *\nfrom t match_recognize (\n  pattern (A B) define D as true)",
         "at line 3, column 24: DEFINE of `D`, which is not in PATTERN", "Known: A, B"),
        ("select * from t match_recognize (order by ts)", "column 45: PATTERN is missing", "add PATTERN"),
        ("select * from t match_recognize (pattern (A", "column 33: `(` is never closed", "add `)`"),
        ("select * from t match_recognize (pattern (A))) x match_recognize (pattern (B))",
         "expected one MATCH_RECOGNIZE, got a second one", "write a step for each"),
        ("select * from (\nwith t as (select v from tx) select * from t match_recognize (pattern (A)))",
         "at line 2, column 44: MATCH_RECOGNIZE reads `t` of a nested WITH", "move the WITH to the start"),
        ("with u(a) as (select * from tx), t as (select a from u)\nselect * from t match_recognize (pattern "
         "(A))",
         "at line 1, column 54: `u` has column names, but selects `*`", "each AS its name"),
        ("with t as (select v from tx join u)\nselect * from t match_recognize (pattern (A))",
         "at line 1, column 29: expected a stream, or a query that selects its columns and rows, got "
         "`join`", "a separate step"),
        ("select * from (values 1) match_recognize (pattern (A))",
         "column 16: expected a stream, or a query that selects its columns and rows, got "
         "`values`", "a separate step"),
        ("select * from t match_recognize (pattern (A) pattern (B))", "duplicate PATTERN", "once"),
        ("select * from t match_recognize (define A as true pattern "
         "(A))", "column 51: DEFINE must be the last part", "PATTERN (...) DEFINE"),
        ("select * from t match_recognize (pattern (A*+))", "column 45: a second quantifier `+`", "( )"),
        ("select * from t match_recognize (pattern "
         "(A{3,2}))", "column 44: expected {least,most}, got {3,2}", "{2,3}"),
        ("select * from t match_recognize (pattern (A{}))", "column 44: expected a number in `{}`", "{2,5}"),
        ("select * from t match_recognize (pattern "
         "(A{0,0}))", "an upper bound of 1 or more, got 0", "remove the part"),
        ("select * from t match_recognize (pattern (A{1.5}))", "expected a whole number, got `1.5`", ""),
        ("select * from t match_recognize (pattern (A || B))", "expected one `|`", "A | B"),
        ("select * from t match_recognize (pattern ((A B))", "is never closed", ""),
        ("select * from t match_recognize (pattern (* A))", "column 43: expected a pattern variable", ""),
        ("select * from t match_recognize (pattern ({- A }))", "expected `-`, got `}`", "{- A B -}"),
        ("select * from t match_recognize (pattern (permute(A,B,C,D,E,F,G)))",
         "PERMUTE of 7 parts has 5,040 orders", "at most 6"),
        ("select * from t match_recognize (pattern ((A{1,999} "
         "B){1,999}))", "the pattern is too large", "smaller counts"),
        ("select * from t match_recognize (partition by lower(k) pattern (A))",
         "expected columns after PARTITION BY, got an expression", "with_columns"),
        ("select * from t match_recognize (order by pattern "
         "(A))", "expected a column to order by, got `pattern`", ""),
        ("select * from t match_recognize (measures last(x) pattern "
         "(A))", "expected `AS` and a name", "AS price"),
        ("select * from t match_recognize (measures 1 as a, 2 as A pattern (A))",
         "duplicate measure `A`", "rename one"),
        ("select * from t match_recognize (one row per match all rows per match pattern (A))",
         "ROWS PER MATCH is already set", "ONE ROW or ALL ROWS"),
        ("select * from t match_recognize (all rows per match with unmatched rows pattern ({- A -}))",
         "WITH UNMATCHED ROWS cannot be combined with an exclusion", "remove one of them"),
        ("select * from t match_recognize (after match skip two next row pattern (A))",
         "expected PAST LAST ROW or TO ..., got `two`", "SKIP PAST LAST ROW"),
        ("select * from t match_recognize (after match skip to D pattern (A B))",
         "unknown pattern variable `D`", "Known: A, B"),
        ("select * from t match_recognize (initial pattern (A))", "INITIAL is for window functions", "^ A B"),
        ("select * from t match_recognize (seek pattern "
         "(A))", "column 34: SEEK is for window functions", "remove it"),
        ("select * from t match_recognize (pattern (A{0}))", "column 44: expected an upper bound of 1 or "
                                                             "more, got 0", "remove the part"),
        ("select * from t match_recognize (pattern (A B) subset U = (A), u = (B))",
         "column 64: duplicate subset `U`", "rename one"),
        ("select * from t match_recognize (partition by s.k pattern "
         "(A))", "expected columns after PARTITION BY", "with_columns"),
        ("select * from t match_recognize (pattern (A) within interval '3' moons)",
         "WITHIN: expected a duration, got '3 moons'", "such as"),
        ("select * from t match_recognize (pattern (A B) subset A = "
         "(B))", "`A` has the name of a variable", "rename"),
        ("select * from t match_recognize (pattern (A B) subset U = (A, "
         "D))", "column 63: unknown pattern variable `D`", ""),
        ("select * from t match_recognize (pattern (A) define A as)", "expected a condition", ""),
        ("select * from t match_recognize (pattern (A) define A as true, a as "
         "false)", "duplicate definition of `A`", "AND"),
        ("select * from t match_recognize (pattern (A) define A = "
         "true)", "expected `AS`, got `=`", "DEFINE A AS"),
        ("select * from t match_recognize (pattern (A) define A as final last(A.x) > 1)",
         "column 64: FINAL is not allowed in DEFINE", "leave FINAL out"),
        ("select * from t match_recognize (pattern (A) define A as final sum(A.x) > "
         "1)", "FINAL is not allowed in DEFINE", ""),
        ("select * from t match_recognize (pattern (A) define A as running prev(A.x) > 1)",
         "RUNNING is not allowed for PREV", "PREV(RUNNING LAST(...))"),
        ("select * from t match_recognize (pattern (A) define A as running abs(A.x) > 1)",
         "RUNNING is allowed only before FIRST, LAST and aggregates", "RUNNING LAST"),
        ("select * from t match_recognize (pattern (A) define A as first(prev(A.x)) > 1)",
         "PREV is not allowed inside FIRST", "can enclose FIRST or LAST"),
        ("select * from t match_recognize (pattern (A) define A as sum(last(A.x)) > "
         "1)", "LAST is not allowed inside SUM", ""),
        ("select * from t match_recognize (pattern (A) define A as prev(1 + last(A.x)) > "
         "1)", "LAST is not allowed inside PREV", ""),
        ("select * from t match_recognize (pattern (A B) define A as sum(A.x + B.x) > 1)",
         "SUM refers to rows of A and of B", "one call per variable"),
        ("select * from t match_recognize (pattern (A) define A as prev(A.x, n) > 1)",
         "expected a number of rows as the second argument of PREV, got `n`", ""),
        ("select * from t match_recognize (pattern (A) define A as prev(A.x, 3000000000) > 1)",
         "expected at most 2,147,483,647 rows, got `3000000000`", ""),
        ("select * from t match_recognize (pattern (A) define A as prev(A.x, 1, 2) > "
         "1)", "expected `)` after the arguments of PREV", ""),
        ("select * from t match_recognize (pattern (A) define A as match_number(1) > "
         "1)", "MATCH_NUMBER() has no arguments", ""),
        ("select * from t match_recognize (pattern (A) define A as classifier(D) = "
         "'A')", "unknown pattern variable `D`", ""),
        ("select * from t match_recognize (pattern (A) define A as sum(A.x) over () > "
         "1)", "OVER is not allowed after sum", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_reported_with_its_place(statement: str, message: str, hint: str) -> None:
    text = refusal(statement)
    assert message in text
    assert hint in text


def test_names_are_checked_once_the_columns_are_known() -> None:
    clause = read("pattern (A B) define B as D.price > 1, A as last(1) > 0")
    with pytest.raises(OptionError, match="unknown pattern variable `D`"):
        clause.condition(clause.define[0][1], COLUMNS)
    with pytest.raises(OptionError, match="LAST has no column"):
        clause.condition(clause.define[1][1], COLUMNS)


@pytest.mark.parametrize("table", ["ticks", "ticks as t", "(select * from ticks) as t"])
def test_columns_of_partition_and_order_may_be_of_the_table(table: str) -> None:
    called = table.rsplit(maxsplit=1)[-1]
    actual = split_statement(
        f"select * from {table} match_recognize (partition by {called}.symbol, end order by "
        f"{called.upper()}.ts, end pattern (A))",
        where="hits",
    )
    assert actual is not None
    assert actual.clause.partition_by == ("symbol", "end")
    assert [key.text for key in actual.clause.order_by] == ["ts", "end"]


def test_the_rest_of_the_query_keeps_its_places() -> None:
    query = "select m.price\nfrom ticks match_recognize (\n  pattern (A)\n) as m where m.price > 1"
    actual = split_statement(query, where="hits")
    assert actual is not None
    assert (actual.table, len(actual.rest), actual.rest.index("where")) == (
        "ticks",
        len(query),
        query.index("where"),
    )
    assert split_statement("select 1 from t", where="hits") is None
    assert split_statement("select 'match_recognize (' from t -- match_recognize (", where="hits") is None


@pytest.mark.parametrize("table", ["ticks t", "ticks as t", "ticks"])
def test_a_table_may_have_another_name(table: str) -> None:
    actual = split_statement(f"select * from {table} match_recognize (pattern (A)) m", where="hits")
    assert actual is not None
    assert actual.table == "ticks"
    assert actual.rest.split() == ["select", "*", "from", "ticks", "m"]


@pytest.mark.parametrize(
    ("statement", "rest", "chosen", "outputs"),
    [
        ("with u as (select * from t where b = 1) select * from u match_recognize (pattern (X))",
         "select * from t as `u`", "select * from t where b = 1", ("a", "b")),
        ("with v(x, y) as (select a, b from t), u as (select y as z, x from v w where w.y = 1) "
         "select u.z from u match_recognize (pattern (X)) where z > 1",
         "select u.z from t as `u` where z > 1",
         "select y as z, x , `p` from (select * from (select a, b , `p` from t) as `t`(`x`, `y`, `p`)) w "
         "where w.y = 1",
         ("b", "a")),
        ("with t as (select a from t where a > 1) select * from t match_recognize (pattern (X)) as m",
         "select * from t as m", "select a , `p` from t where a > 1", ("a",)),
        ("with u as (select a + 1 as n, b from t), m as (select * from u match_recognize (pattern (X)) q) "
         "select * from m",
         "with m as (select * from t q) select * from m", "select a + 1 as n, b , `p` from t", (None, "b")),
        ("select * from (select * from (select b from t where a > 1) where b < 5) match_recognize (pattern "
         "(X)) m",
         "select * from `t` m", "select * from (select b , `p` from t where a > 1) as `t` where b < "
                                "5", ("b",)),
    ],
)  # fmt: skip
def test_a_table_of_with_is_read_as_if_it_stood_in_place(
    statement: str, rest: str, chosen: str, outputs: tuple[str | None, ...]
) -> None:
    actual = split_statement(statement, where="m")
    assert actual is not None
    assert actual.input_query is not None
    assert actual.table == "t"
    assert " ".join(actual.rest.split()) == rest
    assert len(actual.rest) == len(statement), "a place in it is a place in what was written"
    assert actual.input_query.to_sql(["p"]).strip() == chosen
    assert tuple(source for _, source in actual.input_query.outputs(("a", "b"))) == outputs
