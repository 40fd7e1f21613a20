"""The cache directory and the two ways of writing into it safely."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from headrace.spark.cache import cache_directory, locked, replace_atomically


def test_headrace_cache_names_the_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path


def test_without_it_the_users_cache_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HEADRACE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "headrace"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "headrace"


def test_one_at_a_time_holds_the_lock(tmp_path: Path) -> None:
    order: list[str] = []
    started = threading.Event()

    def second() -> None:
        started.set()
        with locked(tmp_path / "it"):
            order.append("second")

    thread = threading.Thread(target=second)
    with locked(tmp_path / "it"):
        thread.start()
        started.wait()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file"
    replace_atomically(target, b"one", mode=0o755)
    replace_atomically(target, b"two", mode=0o755)
    assert target.read_bytes() == b"two"
    assert target.stat().st_mode & 0o777 == 0o755
    assert list(target.parent.iterdir()) == [target]
