"""Rows between two queries: files that are damaged, or missing before every reader has committed them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.checkpoints import write_sealed

from headrace.checkpoints.integrity.exchange_files import (
    check_exchange,
    check_listing,
    checksum,
    committed_files,
    write_listing,
)
from headrace.checkpoints.layout import write_record


@pytest.fixture
def exchange(tmp_path: Path) -> Path:
    """Return an exchange with three files, of which the only reader has committed the first."""
    exchange = tmp_path / "exchange" / "totals"
    exchange.mkdir(parents=True)
    for number in range(3):
        file = exchange / f"{number}.parquet"
        file.write_bytes(b"rows %d" % number)
        entry = {"epochs": {}, "moves": [[f"staging/{number}", file.name, *checksum(file)]]}
        write_sealed(ledger(exchange) / f"{number + 1:010d}", json.dumps(entry))
    spark = tmp_path / "queries" / "running" / "spark"
    for epoch in range(2):
        write_sealed(spark / "commits" / str(epoch))
        write_sealed(spark / "offsets" / str(epoch), f'v1\n{{}}\n{{"logOffset":{epoch}}}')
        logged = {"path": f"file://{exchange}/{epoch}.parquet", "timestamp": 0, "batchId": epoch}
        write_sealed(spark / "sources" / "0" / str(epoch), f"v1\n{json.dumps(logged)}")
    write_record(spark.parent, "sources.json", {"totals": ["rows of another query"]})
    return exchange


def ledger(exchange: Path) -> Path:
    return exchange / "_headrace" / "pay.exchange.totals" / "log"


def damaged(tmp_path: Path, exchange: Path) -> list[str]:
    return [damage.file.name for damage in check_exchange(tmp_path, exchange)]


def test_intact_exchange_has_no_damage(tmp_path: Path, exchange: Path) -> None:
    assert damaged(tmp_path, exchange) == []


def test_flipped_bit_in_a_stored_file_is_found(tmp_path: Path, exchange: Path) -> None:
    (exchange / "1.parquet").write_bytes(b"rows 0")
    (damage,) = check_exchange(tmp_path, exchange)
    assert str(damage.error()).startswith(f"{exchange / '1.parquet'}: the file is damaged")
    assert "rows that one query has passed to another" in str(damage.error())


def test_file_may_be_missing_only_if_every_reader_has_committed_it(tmp_path: Path, exchange: Path) -> None:
    (exchange / "0.parquet").unlink()
    assert damaged(tmp_path, exchange) == []
    (exchange / "2.parquet").unlink()
    assert damaged(tmp_path, exchange) == ["2.parquet"]
    (exchange / "1.parquet").unlink()
    assert damaged(tmp_path, exchange) == ["1.parquet", "2.parquet"]


def test_reader_that_was_added_later_does_not_need_files_that_were_removed(
    tmp_path: Path, exchange: Path
) -> None:
    (exchange / "0.parquet").unlink()
    added = tmp_path / "queries" / "added"
    write_record(added, "sources.json", {"totals": ["rows of another query"]})
    assert damaged(tmp_path, exchange) == []
    logged = {"path": f"file://{exchange}/2.parquet", "timestamp": 0, "batchId": 0}
    write_sealed(added / "spark" / "sources" / "0" / "0", f"v1\n{json.dumps(logged)}")
    assert damaged(tmp_path, exchange) == []
    logged["path"] = f"file://{exchange}/0.parquet"
    write_sealed(added / "spark" / "sources" / "0" / "0", f"v1\n{json.dumps(logged)}")
    assert damaged(tmp_path, exchange) == ["0.parquet"]


def test_exchange_without_a_reader_may_miss_files(tmp_path: Path, exchange: Path) -> None:
    (exchange / "2.parquet").unlink()
    (tmp_path / "queries" / "running" / "sources.json").unlink()
    assert damaged(tmp_path, exchange) == []


def test_file_that_the_next_run_will_move_is_verified_where_it_is(tmp_path: Path, exchange: Path) -> None:
    (exchange / "staging").mkdir()
    (exchange / "2.parquet").rename(exchange / "staging" / "2")
    assert damaged(tmp_path, exchange) == []
    (exchange / "staging" / "2").write_bytes(b"")
    assert damaged(tmp_path, exchange) == ["2"]


def test_missing_or_damaged_entry_of_the_ledger_is_found(tmp_path: Path, exchange: Path) -> None:
    entry = ledger(exchange) / "0000000002"
    entry.write_bytes(b"")
    assert damaged(tmp_path, exchange) == ["0000000002"]
    entry.unlink()
    assert damaged(tmp_path, exchange) == ["0000000002"]


def test_rows_of_a_dataframe_source_are_verified(tmp_path: Path) -> None:
    (tmp_path / "0.parquet").write_bytes(b"rows")
    assert list(check_listing(tmp_path)) == []  # version 0.2 wrote no list
    write_listing(tmp_path)
    assert list(check_listing(tmp_path)) == []
    (tmp_path / "0.parquet").write_bytes(b"rOws")
    (damage,) = check_listing(tmp_path)
    assert damage.lost == "rows of a DataFrame source"
    (tmp_path / "_files.json").write_bytes(b"")
    (damage,) = check_listing(tmp_path)
    assert damage.file.name == "_files.json"


def test_no_file_of_an_exchange_that_is_read_twice_is_committed(tmp_path: Path, exchange: Path) -> None:
    running = tmp_path / "queries" / "running"
    assert list(committed_files(running, exchange.absolute())) == ["0.parquet"]
    write_sealed(running / "spark" / "offsets" / "0", 'v1\n{}\n{"logOffset":0}\n{"logOffset":0}')
    assert list(committed_files(running, exchange.absolute())) == []
