"""The check without a JVM agrees with Spark.

It knows every function and rejects no example of Spark's documentation.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import sqlglot

from headrace.sql import expression_check
from headrace.sql.expression_check import check_aggregate, check_expression
from headrace.sql.functions import spark_functions

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

EXAMPLE = re.compile(r"^\s*> SELECT (.*?);\s*$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"\bFROM (?:VALUES|\(|[a-z_]+\()", re.IGNORECASE)


@cache
def built_in(spark: SparkSession) -> tuple[Any, ...]:
    jvm: Any = spark._jvm
    return tuple(jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos())


def _is_list(text: str) -> bool:
    try:
        query: Any = sqlglot.parse_one(f"select {text}", dialect="spark")
        return len(query.selects) > 1
    except sqlglot.ParseError:
        return False


def is_aggregate(spark: SparkSession, info: Any) -> bool:
    """Spark lists most aggregates in a group of their own, and a few among the functions of a type."""
    jvm: Any = spark._jvm
    load = jvm.Thread.currentThread().getContextClassLoader().loadClass
    kind = load("org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction")
    if info.getGroup() in ("agg_funcs", "window_funcs"):
        return bool(info.getGroup() == "agg_funcs")
    return bool(kind.isAssignableFrom(load(info.getClassName()))) or info.getName() == "schema_of_variant_agg"


def test_packaged_list_holds_every_function_of_this_spark(spark: SparkSession) -> None:
    names = {info.getName(): is_aggregate(spark, info) for info in built_in(spark)}
    expected = {name: kind for name, kind in names.items() if re.fullmatch("[a-z_][a-z0-9_]*", name)}
    packaged = {name: kind for name, kind in spark_functions().items() if name not in ("case",)}
    assert packaged == expected


def test_no_example_of_a_built_in_function_is_rejected(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expression_check, "_session_has", lambda function: False)
    checked = 0
    for info in built_in(spark):
        for query in EXAMPLE.findall(info.getExamples().replace("_FUNC_", info.getName())):
            text, *table = TABLE.split(query)
            if not table and _is_list(text):
                continue  # several expressions, which may refer to each other
            columns = None if table else ()
            assert [*check_expression(text, columns)] == [], text
            if info.getGroup() == "agg_funcs" and table and not info.getName().startswith("grouping"):
                assert [*check_aggregate(text, None, ())] == [], text
            checked += 1
    assert checked > 1000


def test_function_that_the_user_registered_is_known(spark: SparkSession) -> None:
    assert [fault.problem for fault in check_expression("doubled(1)", ())] == ["unknown function `doubled`"]
    spark.udf.register("doubled", lambda number: 2 * number, "int")
    assert [*check_expression("doubled(1)", ())] == []
