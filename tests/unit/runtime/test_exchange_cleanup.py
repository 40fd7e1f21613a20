"""Files of an exchange are deleted once every reader has committed them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.checkpoints import write_sealed

from headrace.runtime.exchanges.cleanup import CLEANED, ExchangeCleaner


def write_reader(checkpoint: Path, exchange: Path, committed: dict[int, int]) -> Path:
    """Write the logs of a reader that has read file `n.parquet` of the exchange at offset n."""
    spark = checkpoint / "spark"
    log = spark / "sources" / "0"
    for epoch, offset in committed.items():
        write_sealed(spark / "commits" / str(epoch))
        write_sealed(spark / "offsets" / str(epoch), f'v1\n{{}}\n{{"logOffset":{offset}}}')
    for offset in range(max(committed.values()) + 1):
        entry = {"path": f"file://{exchange}/{offset}.parquet", "timestamp": 0, "batchId": offset}
        write_sealed(log / str(offset), f"v1\n{json.dumps(entry)}")
    return log


def make_exchange(directory: Path, files: int) -> Path:
    exchange = directory / "exchange"
    exchange.mkdir()
    for number in range(files):
        (exchange / f"{number}.parquet").touch()
    return exchange


def stored(exchange: Path) -> list[str]:
    return sorted(file.name for file in exchange.glob("*.parquet"))


def test_files_up_to_the_last_but_one_epoch_of_every_reader_are_deleted(tmp_path: Path) -> None:
    exchange = make_exchange(tmp_path, 5)
    write_reader(tmp_path / "fast", exchange, {0: 0, 1: 3, 2: 4})
    write_reader(tmp_path / "slow", exchange, {0: 1, 1: 2})
    ExchangeCleaner({exchange: [tmp_path / "fast", tmp_path / "slow"]}).clean()
    assert stored(exchange) == ["2.parquet", "3.parquet", "4.parquet"]
    assert (exchange / CLEANED).exists()


def test_a_reader_without_two_epochs_keeps_all_files(tmp_path: Path) -> None:
    exchange = make_exchange(tmp_path, 2)
    write_reader(tmp_path / "reader", exchange, {0: 1})
    ExchangeCleaner({exchange: [tmp_path / "reader"]}).clean()
    assert stored(exchange) == ["0.parquet", "1.parquet"]
    assert not (exchange / CLEANED).exists()


def test_a_log_file_that_spark_deletes_meanwhile_is_skipped(tmp_path: Path) -> None:
    exchange = make_exchange(tmp_path, 3)
    log = write_reader(tmp_path / "reader", exchange, {0: 1, 1: 2})
    (log / "0").unlink()
    (log / "0").symlink_to(tmp_path / "deleted")  # listed, but not there when it is read
    ExchangeCleaner({exchange: [tmp_path / "reader"]}).clean()
    assert stored(exchange) == ["0.parquet", "2.parquet"]
