"""Spark starts with the class archive that `headrace jars archive` has stored, also with jars of connectors."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.spark.class_archive import archive_path
from headrace.spark.gateway import jvm
from headrace.spark.java import find_java
from headrace.spark.kernel_jar import find_spark_home


def test_java_has_mapped_the_archive(spark: SparkSession) -> None:
    archive = archive_path(find_java(), find_spark_home())
    if not archive.exists():
        pytest.skip("there is no class archive; make archive")
    process = jvm(spark).java.lang.ProcessHandle.current().pid()
    assert str(archive) in Path(f"/proc/{process}/maps").read_text()
