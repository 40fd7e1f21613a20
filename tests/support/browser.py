"""Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def is_installed() -> bool:
    """Return True if there is a Chromium."""
    return shutil.which("chromium") is not None


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start a browser.

    Raises:
        SystemExit: it is not installed.
    """
    if not is_installed():
        sys.exit("chromium is not installed: make servers")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        yield browser
        browser.close()
