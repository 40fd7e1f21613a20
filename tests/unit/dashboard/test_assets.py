"""Scripts and styles: versioned addresses, compressed once, cached by browsers."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import pytest

import headrace.dashboard
from headrace.dashboard.assets import STATIC, Assets

TEMPLATES = Path(headrace.dashboard.__file__).parent / "templates"


def get(assets: Assets, path: str, **headers: str) -> httpx.Response:
    async def request() -> httpx.Response:
        transport = httpx.ASGITransport(app=assets)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get(path, headers=headers)

    return asyncio.run(request())


@pytest.fixture
def assets(tmp_path: Path) -> Assets:
    (tmp_path / "page.js").write_text("let x = 1;\n" * 1000)
    (tmp_path / "small.css").write_text("a {}")
    return Assets(tmp_path)


def test_a_file_is_compressed_and_kept_by_the_browser(assets: Assets) -> None:
    response = get(assets, f"/{assets.version}/page.js", **{"accept-encoding": "gzip, br"})
    assert response.headers["content-encoding"] == "gzip"
    assert int(response.headers["content-length"]) < 1000
    assert response.text.startswith("let x = 1;")
    assert "immutable" in response.headers["cache-control"]
    assert response.headers["content-type"].startswith("text/javascript")


def test_a_client_without_gzip_receives_the_file_as_it_is(assets: Assets) -> None:
    response = get(assets, f"/{assets.version}/page.js", **{"accept-encoding": "identity"})
    assert "content-encoding" not in response.headers
    assert len(response.content) == 11_000


@pytest.mark.parametrize("path", ["page.js", "0123/page.js", "{version}/../page.js", "{version}/other.js"])
def test_other_addresses_are_not_found(assets: Assets, path: str) -> None:
    assert get(assets, "/" + path.format(version=assets.version)).status_code == 404


def test_the_version_changes_with_a_file(assets: Assets, tmp_path: Path) -> None:
    (tmp_path / "small.css").write_text("b {}")
    assert Assets(tmp_path).version != assets.version


def test_every_file_that_a_template_names_exists() -> None:
    text = "".join(file.read_text() for file in TEMPLATES.glob("*.html"))
    names = set(re.findall(r"\{\{ static \}\}/([\w./-]+)", text)) - {""}
    assert len(names) > 15
    assert [name for name in names if not (STATIC / name).is_file()] == []
