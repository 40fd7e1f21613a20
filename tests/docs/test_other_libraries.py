"""The programs of other libraries on the migration pages print what Headrace's programs beside them print."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from tests.support.doc_blocks import DOCS, OUTPUT, blocks_of


@pytest.mark.parametrize("name", ["bytewax_mean.py", "bytewax_threes.py"])
def test_bytewax_prints_the_output_of_headrace(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = list(blocks_of(DOCS / "how-to" / "from-bytewax.md"))
    at = next(at for at, block in enumerate(blocks) if block.title == name)
    program = tmp_path / name
    program.write_text(blocks[at].text)
    runpy.run_path(str(program))
    expected = next(block.text for block in blocks[at:] if block.title == OUTPUT)
    assert capsys.readouterr().out == expected
