"""A server whose disk is full.

The epoch is refused with a clear message, and delivered when there is room again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.support.servers import CROWDED, DATABASE, Server, small_disk
from tests.support.sinks import deliver

from headrace import connect
from headrace.connectors.base import Connector, WriteContext
from headrace.errors import DeliveryError

DISK = 24


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disk(DISK) as place:
        yield place


@pytest.fixture
def out(server: Server, table: str, disk: Path) -> Iterator[Connector]:
    """A table of a database whose files, and nothing else, are on the small disk."""
    if server.kind == "postgres":
        server.sql(f"CREATE TABLESPACE small LOCATION '{_change_owner(disk, server)}'")
        server.sql(f"CREATE DATABASE {CROWDED} TABLESPACE small")
    else:
        server.sql(f"CREATE DATABASE {CROWDED}")
        present = server.directory / "data" / CROWDED
        shutil.copytree(present, _change_owner(disk, server), dirs_exist_ok=True)
        shutil.rmtree(present)
        present.symlink_to(disk / "data")
    url = server.url.replace(f"/{DATABASE}", f"/{CROWDED}")
    yield getattr(connect, server.kind)(url=url, table=table)
    if server.kind == "postgres":
        server.sql(f"DROP DATABASE {CROWDED} WITH (FORCE)")  # sessions end a moment after they were closed
        server.sql("DROP TABLESPACE small")
    else:
        server.sql(f"DROP DATABASE {CROWDED}")


def _change_owner(disk: Path, server: Server) -> Path:
    """A directory on the disk that is the server's own."""
    place = disk / "data"
    place.mkdir(mode=0o700)
    owner = (server.directory / "data").stat()
    os.chown(place, owner.st_uid, owner.st_gid)
    return place


def rows(spark: SparkSession, epoch: int) -> DataFrame:
    return spark.range(epoch * 1000, (epoch + 1) * 1000).selectExpr(
        "id", "repeat(md5(string(id)), 20) as text"
    )


def test_epoch_that_does_not_fit_is_delivered_when_there_is_room(
    spark: SparkSession,
    server: Server,
    table: str,
    run: Callable[..., WriteContext],
    out: Connector,
    disk: Path,
) -> None:
    deliver(out, run(), 0, rows(spark, 0))
    room = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(room.f_bavail * room.f_frsize))
    with pytest.raises(
        DeliveryError, match=r"cannot (take|commit) epoch 1: .*\n  hint: free some space"
    ) as caught:
        deliver(out, run(), 1, rows(spark, 1))
    assert "Traceback" not in str(caught.value)
    (disk / "filler").unlink()
    deliver(out, run(), 1, rows(spark, 1))
    counted = f"SELECT count(*), count(DISTINCT id) FROM {table}"
    with server.connect(CROWDED) as connection:
        cursor = connection.cursor()
        cursor.execute(counted)
        assert cursor.fetchall() in ([(2000, 2000)], ((2000, 2000),))
