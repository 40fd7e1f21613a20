"""Add the reference pages that are generated from the code to each build of the documentation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs loads a hook as a lone file

from commands import cli_page
from matrix import pages as matrix_pages
from options import connectors_page, formats_page
from pattern_matrix import pages as pattern_pages
from rest import rest_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

PAGES: dict[str, Callable[[], str]] = {
    "reference/connectors.md": connectors_page,
    "reference/formats.md": formats_page,
    "reference/cli.md": cli_page,
    "reference/rest-api.md": rest_page,
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the files on disk."""
    generated = {path: page() for path, page in PAGES.items()} | matrix_pages() | pattern_pages()
    for path, content in generated.items():
        files.append(File.generated(config, path, content=content))
    return files
