"""`headrace registry`: addresses and versions that are wrong, and a registry that does not answer."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.devtools.ports import free_ports

Call = Callable[..., subprocess.CompletedProcess[str]]


def test_a_wrong_address_or_version_is_status_2(call: Call) -> None:
    done = call("registry", "list", "--url", "localhost:8081")
    assert done.returncode == 2
    assert "registry: url: expected an address such as http://localhost:8081" in done.stderr
    done = call("registry", "show", "orders-value", "--version", "newest")
    assert done.returncode == 2
    assert "--version: expected a number or latest, got 'newest'" in done.stderr


def test_a_registry_that_does_not_answer_is_an_error_without_the_password(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("SCHEMA_REGISTRY", url)
    monkeypatch.setenv("SCHEMA_REGISTRY_PASSWORD", "hush")
    file = tmp_path / "orders.avsc"
    done = call("registry", "pull", "orders-value", str(file), "--user", "ada")
    assert done.returncode == 1
    assert f"the schema of `orders-value` cannot be read: no schema registry answers at {url}" in done.stderr
    assert "hush" not in done.stdout + done.stderr
    assert not file.exists()
