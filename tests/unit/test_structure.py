"""The structure of the package: its size, its layers, and how many modules name a step kind."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "headrace"
TOO_LARGE = {"runtime", "testing/transcripts"}
"""Packages that are still to be divided."""


def modules_naming(step: str, module: str) -> list[str]:
    """Return the modules that import a node class, its own included."""
    named = re.compile(
        rf"(?:from headrace\.steps\.{re.escape(module)} import [^\n]*|class )\b{step}\b(?!Model)"
    )
    texts = {path: re.sub(r"\(\s+|,\s+", " ", path.read_text()) for path in PACKAGE.rglob("*.py")}
    return sorted(str(path.relative_to(PACKAGE)) for path, text in texts.items() if named.search(text))


@pytest.mark.parametrize(
    ("step", "module", "most"),
    [("Distinct", "stateful.distinct", 6), ("Match", "patterns.match", 9)],
)
def test_few_modules_name_a_step_kind(step: str, module: str, most: int) -> None:
    names = modules_naming(step, module)
    assert len(names) <= most, names


def test_no_package_has_more_than_15_modules() -> None:
    sizes = {
        str(init.parent.relative_to(PACKAGE)): len(list(init.parent.glob("*.py"))) - 1
        for init in PACKAGE.rglob("__init__.py")
    }
    assert {name for name, size in sizes.items() if size > 15} <= TOO_LARGE


def test_no_import_is_exempt_from_the_layers() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = next(c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    assert len(layers.get("ignore_imports", [])) <= 3
