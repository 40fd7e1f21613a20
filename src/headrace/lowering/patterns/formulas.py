"""The conditions and measures of a `MATCH_RECOGNIZE` clause as formulas over values.

A value (`__v0, __v1, ...`) is an expression on one row, an aggregate over rows, or the number of the match.
Spark analyses the expressions; the kernel uses the analysed plans.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BooleanType, DataType, LongType

from headrace.errors import PlanError, Problem, did_you_mean
from headrace.spark.errors import quoted_expression
from headrace.sql.match_recognize.tokens import position_of, tokens_of
from headrace.sql.match_recognize.values import (
    CLASSIFIER,
    Aggregation,
    ExpressionTemplate,
    MatchNumber,
    Navigation,
    Subquery,
    Value,
)
from headrace.steps.facts import plain_column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.sql.match_recognize.clause import MatchRecognize
    from headrace.steps.patterns.match_recognize import RowPattern

_VALUE = re.compile(r"\b__v(\d+)\b")
_QUERY = re.compile(r"\b__q(\d+)\b")


@dataclass(frozen=True)
class AnalysedFrames:
    """Empty frames whose columns are the analysed expressions."""

    rows: DataFrame
    aggregates: DataFrame | None
    results: DataFrame


@dataclass(frozen=True)
class Formulas:
    """All conditions and measures of a clause over one list of values."""

    texts: tuple[str, ...]
    values: tuple[Value, ...]
    conditions: tuple[str, ...]
    subqueries: tuple[Subquery, ...]

    @staticmethod
    def of(node: RowPattern, columns: tuple[str, ...]) -> Formulas:
        """Return the formulas of a clause over these columns."""
        clause = node.clause
        templates = [clause.condition(text, columns, where=f"`{node.name}`") for _, text in clause.define]
        templates += [clause.measure(text, columns, where=f"`{node.name}`") for _, text in clause.measures]
        values, subqueries, texts = list[Value](), list[Subquery](), list[str]()
        for template in templates:
            shifted = _shift_subqueries(template, len(subqueries))
            subqueries += template.subqueries
            values += [value for value in shifted.values if value not in values]
            at = [values.index(value) for value in shifted.values]
            texts.append(_VALUE.sub(lambda match, at=at: f"__v{at[int(match[1])]}", shifted.text))  # type: ignore[misc]
        return Formulas(
            tuple(texts), tuple(values), tuple(name for name, _ in clause.define), tuple(subqueries)
        )

    def run_subqueries(self, spark: SparkSession) -> Formulas:
        """Replace subqueries, which cannot depend on rows, by their results."""
        literals = [_literal(spark, query) for query in self.subqueries]

        def replace_subqueries(text: str) -> str:
            return _QUERY.sub(lambda match: literals[int(match[1])], text)

        values = _map_texts(self.values, replace_subqueries)
        return Formulas(tuple(map(replace_subqueries, self.texts)), values, self.conditions, ())

    def analyse(self, extended: DataFrame, node: RowPattern) -> AnalysedFrames:
        """Return the expressions, analysed by Spark over the columns of the input."""
        on_rows = [value for value in self.values if isinstance(value, Navigation)]
        over_rows = [value for value in self.values if isinstance(value, Aggregation)]
        rows = extended.select(*(F.expr(value.text).alias(f"__r{i}") for i, value in enumerate(on_rows)))
        columns = [F.expr(value.text).alias(f"__a{i}") for i, value in enumerate(over_rows)]
        aggregates = extended.groupBy().agg(*columns) if columns else None
        types: dict[Value, DataType] = {v: f.dataType for v, f in zip(on_rows, rows.schema, strict=True)}
        if aggregates is not None:
            types |= {v: f.dataType for v, f in zip(over_rows, aggregates.schema, strict=True)}
        empty = extended.sparkSession.range(0).select(
            "id",
            *(
                F.lit(None).cast(types.get(value, LongType())).alias(f"__v{i}")
                for i, value in enumerate(self.values)
            ),
        )
        results = empty.select(*(F.expr(text).alias(f"__f{i}") for i, text in enumerate(self.texts)))
        self._check_conditions(results, node)
        return AnalysedFrames(rows, aggregates, results)

    def translate_error(
        self, error: AnalysisException, node: RowPattern, columns: tuple[str, ...]
    ) -> Problem:
        """Translate an analysis error of Spark into a problem with the user's expression and columns."""
        where = f"`{node.name}`"
        if (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
            name = (error.getMessageParameters() or {}).get("objectName", "").strip("`")
            at = _position_of(node, name)
            return Problem(where, f"unknown column `{name}`{at}", did_you_mean(name, columns))
        text = " ".join(str(error).split("SQLSTATE")[0].split())
        reason = re.sub(r"^\[[A-Z_.]+\]\s*", "", text).rstrip(" .;") + quoted_expression(str(error))
        return Problem(where, _VALUE.sub(lambda match: _format_value(self.values[int(match[1])]), reason))

    def _check_conditions(self, results: DataFrame, node: RowPattern) -> None:
        for (name, text), field in zip(node.clause.define, results.schema, strict=False):
            if not isinstance(field.dataType, BooleanType):
                at = position_of(node.query, text.at)
                what = (
                    f"DEFINE of `{name}` at {at}: expected a condition, got {field.dataType.simpleString()}"
                )
                raise PlanError([Problem(f"`{node.name}`", what, "write a comparison, such as A.price > 10")])

    def declaration(self, clause: MatchRecognize, columns: list[str], time: str) -> dict[str, Any]:
        """Return the declaration of the clause for the kernel."""
        spelled = {name.lower(): name for name in columns}
        order = [(key, spelled.get((plain_column(key.text) or "").lower())) for key in clause.order_by]
        first = len(self.conditions)
        return {
            "pattern": clause.pattern.plain(),
            "variables": list(clause.variables),
            "conditions": {name: i for i, name in enumerate(self.conditions)},
            "measures": [{"name": name, "formula": first + i} for i, (name, _) in enumerate(clause.measures)],
            "values": self._values(),
            "rows": clause.rows,
            "skip": clause.skip,
            "skip_to": list(clause.skip_to),
            "within": clause.within,
            "keys": [spelled[name.lower()] for name in clause.partition_by],
            "order": [column for _, column in order if column is not None],
            "ties": [
                {"column": column, "descending": key.descending, "nulls_last": key.nulls_last}
                for key, column in order[1:]
                if column is not None
            ],
            "time": time,
        }

    def _values(self) -> list[dict[str, Any]]:
        counts = {Navigation: 0, Aggregation: 0}
        plain_values = []
        for value in self.values:
            plain = value.plain()
            if isinstance(value, Navigation | Aggregation):
                plain["index"] = counts[type(value)]
                counts[type(value)] += 1
            plain_values.append(plain)
        return plain_values


def _position_of(node: RowPattern, name: str) -> str:
    """Return the position of a name in the clause."""
    texts = [text for _, text in (*node.clause.define, *node.clause.measures)]
    places = [
        token.at
        for text in texts
        for token in tokens_of(node.query, text.at, text.at + len(text.text))
        if token.names and token.name.lower() == name.lower()
    ]
    return f" ({position_of(node.query, min(places))})" if places else ""


def _format_value(value: Value) -> str:
    """Return a value in the syntax of the clause."""
    if isinstance(value, MatchNumber):
        return "MATCH_NUMBER()"
    if isinstance(value, Aggregation):
        return value.text.replace("( ", "(").replace(" )", ")")
    inner = "CLASSIFIER()" if value.text == CLASSIFIER else value.text
    return ".".join((*value.labels[:1], inner)) if value.text != CLASSIFIER else inner


def _shift_subqueries(template: ExpressionTemplate, by: int) -> ExpressionTemplate:
    """Add `by` to the numbers of subqueries."""

    def shift(text: str) -> str:
        return _QUERY.sub(lambda match: f"__q{int(match[1]) + by}", text)

    return ExpressionTemplate(shift(template.text), _map_texts(template.values, shift), template.subqueries)


def _map_texts(values: tuple[Value, ...], convert: Callable[[str], str]) -> tuple[Value, ...]:
    return tuple(
        replace(value, text=convert(value.text)) if isinstance(value, Navigation | Aggregation) else value
        for value in values
    )


def _literal(spark: SparkSession, query: Subquery) -> str:
    """Return the result of a subquery as a SQL literal."""
    rows = spark.sql(query.text).collect()
    if query.kind == "exists":
        return "true" if rows else "false"
    if query.kind == "in":
        return ", ".join(_constant(row[0]) for row in rows) or "null"
    return _constant(rows[0][0]) if rows else "null"


def _constant(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"double('{value!r}')"
    if isinstance(value, Decimal):
        return f"{value}BD"
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
