"""Give the site the colours and the icon of the dashboard, from its files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

_STATIC = Path(__file__).parents[2] / "src" / "headrace" / "dashboard" / "static"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the design tokens, with the theme's selectors of light and dark, and the icon."""
    tokens = (_STATIC / "tokens.css").read_text()
    tokens = tokens.replace(":root.dark {", '[data-md-color-scheme="slate"] {')
    files.append(File.generated(config, "tokens.css", content=tokens))
    files.append(File.generated(config, "images/icon.svg", content=(_STATIC / "icon.svg").read_text()))
    return files
