"""Delta tables in an object store, against moto: written, fenced, swept and read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.base import WriteContext
from headrace.errors import DeliveryError, FencedError
from tests.support.kinesis_server import running_kinesis
from tests.support.sinks import deliver, rows

RUN = WriteContext("pipe", "out", "one", "append", "")


@pytest.fixture(scope="module")
def storage() -> Iterator[dict[str, str]]:
    """The settings of a store with the bucket `lake`."""
    login = {"aws_access_key_id": "key", "aws_secret_access_key": "hush"}
    with running_kinesis() as server:
        store = boto3.client("s3", region_name="us-east-1", endpoint_url=server.endpoint, **login)
        store.create_bucket(Bucket="lake")
        settings = {name.upper(): value for name, value in login.items()}
        yield settings | {
            "AWS_ENDPOINT_URL": server.endpoint, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true",
        }  # fmt: skip


def test_rows_are_written_once_and_read_again(
    spark: SparkSession, storage: dict[str, Any], tmp_path: Path
) -> None:
    table = connect.delta(path="s3://lake/out", storage=storage, partition_by="k")
    for epoch in (0, 1, 1):
        deliver(table, RUN, epoch, rows(spark, ("a b", epoch), ("c", epoch)))
    older, newer = table.writer(), table.writer()
    older.open(RUN)
    staged: Any = older.stage(2, rows(spark, ("a", 9)))
    newer.open(RUN)
    with pytest.raises(FencedError):
        older.commit(2, staged)
    written = DeltaTable("s3://lake/out", storage_options=storage).to_pyarrow_table().to_pylist()
    assert sorted((row["k"], row["v"]) for row in written) == [("a b", 0), ("a b", 1), ("c", 0), ("c", 1)]
    files = table.location.open_files()
    with pytest.raises(FileNotFoundError):
        files.open_input_file(staged.files[0].path)
    assert read_all(storage, tmp_path) == [("a b", 0), ("a b", 1), ("c", 0), ("c", 1)]


def read_all(storage: dict[str, Any], work: Path) -> list[tuple[str, int]]:
    """Return the rows of the table, read by a pipeline."""
    box, pipeline = connect.memory(), Pipeline("from-store")
    source = connect.delta(path="s3://lake/out", storage=storage)
    pipeline.read("rows", source, schema="k string, v int").write("box", box)
    pipeline.run(until="caught_up", checkpoint=work / "checkpoint")
    return sorted((row["k"], row["v"]) for row in box.contents())


def test_missing_bucket_is_an_error_without_secrets(storage: dict[str, Any]) -> None:
    writer = connect.delta(path="s3://no-such-bucket/out", storage=storage).writer()
    with pytest.raises(
        DeliveryError, match=r"the Delta table s3://no-such-bucket/out cannot be opened"
    ) as error:
        writer.open(RUN)
    assert "hush" not in str(error.value)
    assert "\n" not in error.value.what
