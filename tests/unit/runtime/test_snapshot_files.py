"""Files of lookup tables that a run reads again are verified when a worker reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checkpoints import write_sealed

from headrace.errors import DamagedFileError
from headrace.lookups.snapshots import SnapshotTable


def test_missing_or_damaged_table_of_a_lookup_is_an_error(tmp_path: Path) -> None:
    reader = SnapshotTable(str(tmp_path), 1, {}, "homes").connect()
    with pytest.raises(
        DamagedFileError, match="current: the file is missing: it has a version that an epoch has used"
    ):
        reader.rows([("a",)])
    write_sealed(tmp_path / "current", "0")
    with pytest.raises(DamagedFileError, match=r"0\.arrow: the file is missing"):
        reader.rows([("a",)])
    (tmp_path / "0.arrow").write_bytes(b"ARROW1")
    with pytest.raises(DamagedFileError, match=r"0\.arrow: the file is damaged: its checksum does not match"):
        reader.rows([("a",)])
