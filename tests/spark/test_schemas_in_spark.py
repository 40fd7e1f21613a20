"""Canonical DDL means in Spark what it means here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.formats import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERYTHING = (
    "a string NOT NULL COMMENT 'it\\'s \"so\"', b binary, c boolean, d tinyint, e smallint, f int, g bigint, "
    "h float, i double, j decimal(38,18), k date, l timestamp, m timestamp_ntz, n interval day to second, o "
    "interval year to month, p interval hour, q variant, r array<array<int>>, s map<string,struct<x:int NOT "
    "NULL>>, `card no` struct<`a.b`:decimal(1,1),`tick``ed`:string COMMENT 'c'>, `ä` int, `1st` int"
)
KEYWORDS = (
    "select from where table int string date map array struct not null comment order group all and or as"
)


def spark_says(spark: SparkSession, ddl: str) -> Schema:
    """The schema as Spark's own parser understands the text."""
    from pyspark.sql.types import StructType

    jvm = spark._jvm
    assert jvm is not None
    parsed = jvm.org.apache.spark.sql.types.StructType.fromDDL(ddl)
    import json

    return Schema.of(StructType.fromJson(json.loads(parsed.json())))


def test_spark_reads_the_canonical_text_as_the_same_schema(spark: SparkSession) -> None:
    schema = Schema.of(EVERYTHING)
    assert schema.ddl == EVERYTHING
    assert spark_says(spark, schema.ddl) == schema


def test_a_keyword_can_name_a_column_in_spark_as_here(spark: SparkSession) -> None:
    schema = Schema.of(", ".join(f"{word} int" for word in KEYWORDS.split()))
    assert spark_says(spark, schema.ddl) == schema
