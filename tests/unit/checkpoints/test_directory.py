"""The checkpoint directory of a pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.checkpoints.directory import directory_of
from headrace.errors import OptionError


@pytest.mark.parametrize(
    "path", ["s3a://lake/fraud", Path("s3a://lake/fraud"), "hdfs://host:8020/x", "file:///x"]
)
def test_a_checkpoint_in_an_object_store_is_rejected(path: str | Path) -> None:
    with pytest.raises(OptionError) as caught:
        directory_of("fraud", path)
    assert str(caught.value) == (
        f"checkpoint {path}: a checkpoint needs a file system with locks and atomic renames, not an object store\n"
        "  hint: use a disk, a volume or a mounted share (NFS, EFS); sources and sinks can be in a store"
    )


def test_a_path_is_accepted() -> None:
    assert directory_of("fraud") == Path(".headrace/fraud")
    assert directory_of("fraud", "/shared/a:b/fraud") == Path("/shared/a:b/fraud")
