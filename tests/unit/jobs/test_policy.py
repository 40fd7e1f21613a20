"""The access policy: who can reach a service, and what it requires for it."""

from __future__ import annotations

import pytest

from headrace.errors import OptionError
from headrace.jobs.security.policy import Policy


@pytest.mark.parametrize(
    ("policy", "reachable"),
    [
        (Policy(), False),
        (Policy(host="0.0.0.0"), True),
        (Policy(public_url="https://jobs.example.org"), True),
        (Policy(trusted_proxies=("127.0.0.1",)), True),
    ],
)
def test_a_service_behind_a_proxy_is_reachable(policy: Policy, reachable: bool) -> None:
    assert (policy.is_reachable, policy.requires_login, policy.is_restricted) == (reachable,) * 3


def test_a_short_token_is_refused_on_a_reachable_address() -> None:
    with pytest.raises(OptionError, match="HEADRACE_TOKEN: expected at least 16 characters") as caught:
        Policy(host="0.0.0.0", token="x" * 15).check_bind(has_credentials=True)
    assert "openssl rand -hex 32" in str(caught.value)
    Policy(host="0.0.0.0", token="x" * 16).check_bind(has_credentials=True)
    Policy(login=True, token="x").check_bind(has_credentials=True)


def test_a_service_behind_a_proxy_needs_a_user() -> None:
    with pytest.raises(OptionError, match=r"https://jobs\.example\.org can be reached without a login"):
        Policy(public_url="https://jobs.example.org").check_bind(has_credentials=False)


@pytest.mark.parametrize(
    "url", ["jobs.example.org", "ftp://a", "https://a/b", "https://ada@a", "https://a\n"]
)
def test_a_public_url_is_an_origin(url: str) -> None:
    with pytest.raises(OptionError, match="--public-url: expected a URL without a path, got"):
        Policy(public_url=url)


@pytest.mark.parametrize("proxy", ["*", "proxy.example.org", "10.0.0.0/33"])
def test_a_trusted_proxy_is_an_address_or_a_network(proxy: str) -> None:
    with pytest.raises(OptionError, match="--trusted-proxies: expected an address or a network, got"):
        Policy(trusted_proxies=("10.0.0.0/8", proxy))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Policy(tls=True), True),
        (Policy(public_url="https://a"), True),
        (Policy(public_url="http://a"), False),
        (Policy(host="0.0.0.0"), False),
    ],
)
def test_https_is_that_of_the_service_or_of_its_proxy(policy: Policy, expected: bool) -> None:
    assert policy.uses_https == expected
