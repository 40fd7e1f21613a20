"""Files of checkpoints on this machine: whole or not there, and without Hadoop's checksums beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from tests.support.checkpoints import write_sealed

from headrace.sealed_files import is_sealed, seal


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


def sealed_files(spark: SparkSession, root: Path) -> Any:
    """Return the manager for file systems other than the local one: Spark's, with seals."""
    jvm: Any = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(f"file:{root}")
    managers = jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
    plain = managers.create(path, jvm.org.apache.hadoop.conf.Configuration())
    return jvm.org.apache.spark.sql.headrace.compat.SealedFiles(plain)


def read(files: Any, path: Any) -> bytes:
    stream = files.open(path)
    try:
        return bytes(stream.readAllBytes())
    finally:
        stream.close()


OFFSETS = "queries/totals/spark/offsets/4"


@pytest.mark.parametrize("local", [True, False])
def test_files_of_queries_are_sealed_as_python_seals_them(
    spark: SparkSession, files: Any, at: Any, tmp_path: Path, local: bool
) -> None:
    manager = files if local else sealed_files(spark, tmp_path)
    manager.mkdirs(at(OFFSETS).getParent())
    write(manager, at(OFFSETS), "v1\n{}\n7", overwrite=False)
    file = tmp_path / OFFSETS
    assert file.read_bytes() == seal(b"v1\n{}\n7", file)
    assert read(manager, at(OFFSETS)) == b"v1\n{}\n7"


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("content", [b"", b"v1", b"v1\n#seal 00000000000000000000000000000000\n"])
def test_damaged_file_of_a_query_is_an_error(
    spark: SparkSession, files: Any, at: Any, tmp_path: Path, local: bool, content: bytes
) -> None:
    manager = files if local else sealed_files(spark, tmp_path)
    (tmp_path / OFFSETS).parent.mkdir(parents=True)
    (tmp_path / OFFSETS).write_bytes(content)
    with pytest.raises(Py4JJavaError, match=f"compat.DamagedFile: file:{tmp_path / OFFSETS}: its checksum"):
        manager.open(at(OFFSETS))


def test_sealed_file_that_python_has_written_is_read_and_can_be_sought(
    files: Any, at: Any, tmp_path: Path
) -> None:
    write_sealed(tmp_path / OFFSETS, "0123456789")
    stream = files.open(at(OFFSETS))
    stream.seek(4)
    assert (stream.getPos(), chr(stream.read())) == (4, "4")
    assert bytes(stream.readAllBytes()) == b"56789"
    stream.close()


@pytest.mark.parametrize(
    "name",
    ["queries/totals/spark/state/0/1/3_x.changelog", "queries/totals/spark/state/0/1/left/3_x.zip",
     "out/_spark_metadata/0", "elsewhere/offsets/0", "queries/totals/checkpoint_id"],
)  # fmt: skip
def test_state_and_files_of_other_queries_have_no_seal(
    files: Any, at: Any, tmp_path: Path, name: str
) -> None:
    write(files, at(name), "as it is", overwrite=False)
    assert (tmp_path / name).read_text() == "as it is"
    assert read(files, at(name)) == b"as it is"


@pytest.mark.parametrize(
    "name",
    ["metadata", "sources/0/9.compact", "state/0/_metadata/v2/0", "state/0/_stateSchema/default/0_x",
     "state/0/1/_metadata/schema"],
)  # fmt: skip
def test_other_files_of_a_query_have_a_seal(files: Any, at: Any, tmp_path: Path, name: str) -> None:
    write(files, at(f"queries/totals/spark/{name}"), "v1", overwrite=False)
    assert is_sealed((tmp_path / "queries/totals/spark" / name).read_bytes())


def test_cancelled_file_leaves_nothing(files: Any, at: Any, tmp_path: Path) -> None:
    stream = files.createAtomic(at(OFFSETS), False)
    stream.write(bytearray(b"half"))
    stream.cancel()
    stream.close()
    assert list((tmp_path / OFFSETS).parent.iterdir()) == []


def test_spark_verifies_the_checksums_of_state(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.streaming.checkpoint.fileChecksum.enabled") == "true"
