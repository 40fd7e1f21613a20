"""Files that connectors write and read again: damage is an error, whatever the connector."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.connectors.base import WriteContext
from headrace.connectors.durable_files import HINT, read_json, write_json
from headrace.connectors.message_sink import MessageWriter
from headrace.connectors.postgres_cdc.slot_record import SlotRecord
from headrace.errors import DamagedFileError


def test_value_is_read_again(tmp_path: Path) -> None:
    write_json(tmp_path / "new" / "poll.json", {"cursor": 7})
    assert read_json(tmp_path / "new" / "poll.json", {}) == {"cursor": 7}
    assert read_json(tmp_path / "none.json", {"cursor": 0}) == {"cursor": 0}


def test_flipped_bit_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "poll.json"
    write_json(path, {"cursor": 7})
    content = path.read_bytes()
    for bit in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with pytest.raises(
            DamagedFileError, match="the file is damaged: its checksum does not match"
        ) as caught:
            read_json(path, {})
        assert (caught.value.where, caught.value.hint) == (str(path), HINT)


def test_file_that_is_cut_off_has_its_value_or_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "poll.json"
    write_json(path, {"cursor": 7})
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        if content[:length].strip() == b'{"cursor": 7}':  # as version 0.2 wrote it
            assert read_json(path, {}) == {"cursor": 7}
        else:
            with pytest.raises(DamagedFileError, match=r"the file is (empty|damaged)"):
                read_json(path, {})


def test_damaged_snapshot_file_is_an_error(tmp_path: Path) -> None:
    record = SlotRecord.read(tmp_path).update(slot="s", sealed=True)
    record.clear_snapshot()
    record.store_part(0, b"rows")
    assert record.read_part(0) == b"rows"
    record.part(0).write_bytes(record.part(0).read_bytes().replace(b"rows", b"sows"))
    with pytest.raises(DamagedFileError, match="the file is damaged: its checksum does not match"):
        record.read_part(0)
    with pytest.raises(
        DamagedFileError, match="the file is missing: it has rows of the snapshot of the slot `s`"
    ):
        record.read_part(1)


def test_snapshot_file_of_version_0_2_is_read(tmp_path: Path) -> None:
    record = SlotRecord(tmp_path, slot="s", parts=1)
    record.snapshot.mkdir()
    record.part(0).write_bytes(b"rows")
    assert record.read_part(0) == b"rows"


class _Publisher:
    def open(self) -> None: ...


def test_damaged_record_of_a_message_sink_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "published.json").write_text("{")
    writer = MessageWriter(lambda context: _Publisher())  # type: ignore[arg-type, return-value]
    with pytest.raises(DamagedFileError, match="the file is damaged"):
        writer.open(WriteContext("p", "out", "c", "append", str(tmp_path)))
