"""Files of checkpoints on this machine: whole or not there, and without Hadoop's checksums beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> Any:
    jvm: Any = spark.sparkContext._jvm
    root = jvm.org.apache.hadoop.fs.Path(f"file:{tmp_path}")
    return jvm.org.apache.spark.sql.headrace.compat.CheckpointFiles(
        root, jvm.org.apache.hadoop.conf.Configuration()
    )


@pytest.fixture
def at(spark: SparkSession, tmp_path: Path) -> Any:
    jvm: Any = spark.sparkContext._jvm
    return lambda name: jvm.org.apache.hadoop.fs.Path(f"file:{tmp_path / name}")


def write(files: Any, path: Any, text: str, *, overwrite: bool) -> None:
    stream = files.createAtomic(path, overwrite)
    stream.write(bytearray(text.encode()))
    stream.close()


def test_queries_keep_their_offsets_through_them(spark: SparkSession) -> None:
    named = spark.conf.get("spark.sql.streaming.checkpointFileManagerClass")
    assert named == "org.apache.spark.sql.headrace.compat.CheckpointFiles"


def test_a_file_is_there_when_it_is_whole(files: Any, at: Any, tmp_path: Path) -> None:
    stream = files.createAtomic(at("offsets/0"), False)
    stream.write(bytearray(b"half"))
    assert not files.exists(at("offsets/0"))
    stream.close()
    assert (tmp_path / "offsets" / "0").read_text() == "half"
    given_up = files.createAtomic(at("offsets/1"), False)
    given_up.cancel()
    assert [path.name for path in (tmp_path / "offsets").iterdir()] == ["0"]


def test_a_file_that_is_there_is_written_again_only_if_that_is_requested(
    files: Any, at: Any, tmp_path: Path
) -> None:
    write(files, at("0"), "first", overwrite=False)
    with pytest.raises(Py4JJavaError, match="0 exists already"):
        write(files, at("0"), "second", overwrite=False)
    assert (tmp_path / "0").read_text() == "first"
    write(files, at("0"), "third", overwrite=True)
    assert (tmp_path / "0").read_text() == "third"


def test_checksums_that_hadoop_has_left_are_not_listed_and_go_with_their_file(
    files: Any, at: Any, tmp_path: Path
) -> None:
    (tmp_path / "0").write_text("by Hadoop")
    (tmp_path / ".0.crc").write_text("of it")
    assert [actual.getPath().getName() for actual in files.list(at(""))] == ["0"]
    write(files, at("0"), "by us", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0"]
    (tmp_path / ".0.crc").write_text("of it")
    files.delete(at("0"))
    assert list(tmp_path.iterdir()) == []


def test_another_file_system_is_left_to_spark(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    elsewhere = jvm.org.apache.hadoop.fs.Path("viewfs://nobody/there")
    with pytest.raises(Py4JJavaError, match="viewfs"):
        jvm.org.apache.spark.sql.headrace.compat.CheckpointFiles(
            elsewhere, jvm.org.apache.hadoop.conf.Configuration()
        )
