"""Paths that a restricted service accepts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_core import PydanticCustomError

from headrace.access import Access, restrict
from headrace.access.paths import check_path


@pytest.mark.parametrize(
    "path",
    [
        "out/",
        "in/{a,b}/*.json",
        "in/a..b",
        "s3a://bucket/../x",
        "hdfs://host:8020/x",
        "a b/c=1",
        "in/[.]x",
        "{}",
    ],
)
def test_a_path_of_the_job_or_of_a_store_is_accepted(path: str) -> None:
    with restrict(Access()):
        assert check_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "/x",
        "~/x",
        "../x",
        "a/..",
        "{..,a}/x",
        "{.}{.}/x",
        "{/x,y}",
        "{file,s3a}:/x",
        "file:x",
        "a\\b",
        "a\0b",
        "http://h/x",
        "har:/x",
    ],
)
def test_a_path_of_the_machine_is_rejected(path: str) -> None:
    with restrict(Access()), pytest.raises(PydanticCustomError, match="service's machine is not accepted"):
        check_path(path)


def test_files_of_the_accepted_directory_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with restrict(Access(files=str(tmp_path))):
        check_path(f"{tmp_path}/x")
        check_path(f"file://{tmp_path}/x")
        for path in (f"{tmp_path}/../x", f"{tmp_path}/link/x", f"{tmp_path}2/x"):
            with pytest.raises(PydanticCustomError, match="service's machine is not accepted"):
                check_path(path)


def test_a_glob_with_many_alternatives_is_rejected() -> None:
    with restrict(Access()), pytest.raises(PydanticCustomError, match="so many alternatives is not accepted"):
        check_path("{a,b}" * 10)


def test_a_bucket_is_a_host() -> None:
    with restrict(Access(hosts=("ours",))):
        check_path("s3a://ours/x")
        with pytest.raises(PydanticCustomError, match="the host `theirs` is not accepted"):
            check_path("s3a://theirs/x")
