"""Connectors installed as a third party's package would be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.connectors import registry


@pytest.fixture(autouse=True, scope="module")
def contract_connectors() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent / "plugin")
        _forget()
        yield
    _forget()


def _forget() -> None:
    registry.kinds.cache_clear()
    registry.connector.cache_clear()
