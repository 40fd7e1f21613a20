"""The version of the package and the head of the changelog agree."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADINGS = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_newest_release_of_the_changelog_is_the_version() -> None:
    releases = [heading for heading in HEADINGS if heading != "[Unreleased]"]
    version, _, day = releases[0].partition(" - ")
    assert version == PROJECT["version"]
    assert date.fromisoformat(day)


def test_unreleased_changes_are_the_first_section() -> None:
    assert HEADINGS.count("[Unreleased]") <= 1
    assert "[Unreleased]" not in HEADINGS[1:]


def test_the_lock_file_has_the_version() -> None:
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    assert [each["version"] for each in packages if each["name"] == "headrace"] == [PROJECT["version"]]


def test_the_extra_all_has_every_extra() -> None:
    extras = PROJECT["optional-dependencies"]
    assert extras["all"] == [f"headrace[{','.join(name for name in extras if name != 'all')}]"]
