"""Mistakes in expressions that are detected without a JVM."""

from __future__ import annotations

import pytest

from headrace.sql.expression_check import check_aggregate, check_expression

COLUMNS = ("card", "amount", "ts", "tags", "place")


def problems(text: str) -> list[str]:
    return [fault.problem for fault in check_expression(text, COLUMNS)]


@pytest.mark.parametrize(
    "text",
    [
        "amount > 50 and place.country <> 'FI'",
        "AMOUNT + 1",
        "transform(tags, tag -> upper(tag))",
        "aggregate(tags, 0, (total, tag) -> total + length(tag))",
        "timestampadd(HOUR, 1, ts)",
        "extract(hour from ts)",
        "amount >>> 1",
        "case when amount is null then 0 else amount end",
        "`amount` between 1 and 2",
        "count(*) filter (where amount > 1)",
        "current_timestamp",
        "mine.udf(amount)",
    ],
)
def test_valid_expression_has_no_fault(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("amout > 1", "unknown column `amout`", "did you mean `amount`?"),
        ("transform(tags, tag -> tgas)", "unknown column `tgas`", "did you mean `tags`?"),
        ("summ(amount)", "unknown function `summ`", "did you mean `sum`?"),
        ("(amount + 1", "syntax error in `(amount + 1`", "1 opening and 0 closing parentheses"),
        ("amount >", "syntax error in `amount >`", ""),
        (
            "amount > 1; drop table tx",
            "syntax error in `amount > 1; drop table tx`: expected one expression, got `;` at column 11",
            "",
        ),
        (
            "amount > 1 limit 3",
            "syntax error in `amount > 1 limit 3`: expected one expression, got a clause LIMIT",
            "",
        ),
        (
            "amount from tx",
            "syntax error in `amount from tx`: expected one expression, got a clause FROM",
            "",
        ),
    ],
)
def test_fault_names_the_problem_and_a_hint(text: str, problem: str, hint: str) -> None:
    [fault] = check_expression(text, COLUMNS)
    assert fault.problem.startswith(problem)
    assert hint in fault.hint


def test_expression_that_sqlglot_fails_on_has_a_fault() -> None:
    expected = "syntax error in `map(amount)`: a function has too few or too many arguments"
    assert problems("map(amount)") == [expected]


def test_unknown_columns_are_not_judged_without_a_schema() -> None:
    assert list(check_expression("anything > 1", None)) == []


def test_all_faults_are_reported() -> None:
    assert problems("nmod(amout, crad)") == [
        "unknown function `nmod`",
        "unknown column `amout`",
        "unknown column `crad`",
    ]


@pytest.mark.parametrize(
    "text",
    ["sum(amount)", "max_by(card, amount)", "count(*)", "card", "1", "any(amount > 1)", "sum(amount) / "
                                                                                        "count(*)",
     "percentile_cont(0.5) within group (order by amount)", "my_udaf.of(amount)",
     "schema_of_variant_agg(place)"],
)  # fmt: skip
def test_aggregate_is_valid(text: str) -> None:
    assert list(check_aggregate(text, COLUMNS, ["card"])) == []


def test_column_outside_an_aggregate_is_a_fault() -> None:
    [fault] = check_aggregate("amount * 2", COLUMNS, ["card"])
    assert fault.problem == "`amount` is neither a key nor inside an aggregate function"
    assert "max(amount)" in fault.hint
