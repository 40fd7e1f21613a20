"""Redirects of HTTP requests: the headers may hold a token, which no other server gets."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from headrace.connectors.network.requests import open_client


def answer(location: str) -> Callable[[httpx.Request], httpx.Response]:
    def reply(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/items":
            return httpx.Response(302, headers={"Location": location})
        return httpx.Response(200, text=str(request.url))

    return reply


def get(address: str, location: str, monkeypatch: pytest.MonkeyPatch) -> str:
    with open_client({"X-Key": "secret"}, 5) as client:
        monkeypatch.setattr(client, "_transport", httpx.MockTransport(answer(location)))
        monkeypatch.setattr(client, "_mounts", {})
        return client.get(address).text


@pytest.mark.parametrize(
    ("address", "location", "reached"),
    [
        ("http://shop/items", "/others", "http://shop/others"),
        ("http://shop:8080/items", "http://shop:8080/others", "http://shop:8080/others"),
        ("http://shop/items", "http://shop:80/others", "http://shop/others"),
        ("http://shop/items", "https://shop/others", "https://shop/others"),
    ],
)
def test_a_redirect_to_the_same_server_is_followed(
    address: str, location: str, reached: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert get(address, location, monkeypatch) == reached


@pytest.mark.parametrize(
    ("address", "location", "problem"),
    [
        ("http://shop/items", "http://other/others", "another host, other"),
        ("https://shop/items", "http://shop/others", "from https to http"),
        ("http://shop/items", "http://shop:9200/others", "another port, 9200"),
        ("http://shop:8080/items", "http://shop/others", "another port, http"),
    ],
)
def test_a_redirect_to_another_server_is_an_error(
    address: str, location: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(httpx.HTTPStatusError, match=f"answers 302 and redirects .*{problem}"):
        get(address, location, monkeypatch)
