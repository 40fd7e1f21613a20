"""The structure of the source tree: which modules may use what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import headrace

SOURCE = Path(headrace.__file__).parent
GATEWAY = SOURCE / "spark" / "gateway.py"
PRIVATE = re.compile(
    r"\b(_jvm|_jsc|_jdf|_jc|_jsparkSession|_gateway|java_gateway)\b|\b(?:import|from) py4j\b"
)


def modules() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield str(path.relative_to(SOURCE)), path.read_text()


def test_only_the_gateway_uses_py4j() -> None:
    gateway = str(GATEWAY.relative_to(SOURCE))
    users = [name for name, text in modules() if name != gateway and PRIVATE.search(text)]
    assert PRIVATE.search(GATEWAY.read_text())
    assert users == []
