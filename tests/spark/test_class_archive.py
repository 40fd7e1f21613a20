"""Spark starts with the class archive that `headrace jars archive` has stored, also with jars of connectors."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from headrace.spark.class_archive import archive_path
from headrace.spark.gateway import jvm
from headrace.spark.java import find_java
from headrace.spark.launch import spark_home


def test_java_has_mapped_the_archive_if_there_is_one(spark: SparkSession) -> None:
    archive = archive_path(find_java(), spark_home())
    process = jvm(spark).java.lang.ProcessHandle.current().pid()
    assert (str(archive) in Path(f"/proc/{process}/maps").read_text()) == archive.exists()
