"""Load Mermaid from the site itself, on the pages that have diagrams.

The theme loads it from a public host otherwise, so that diagrams are missing without a connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mkdocs.utils import get_relative_url

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

_SCRIPT = "javascripts/mermaid.tiny.js"


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Add the script to a page with a diagram; the theme draws with it, so it does not start by itself."""
    if 'class="mermaid"' not in output:
        return output
    source = get_relative_url(_SCRIPT, page.url)
    script = f'<script src="{source}"></script><script>mermaid.initialize({{startOnLoad: false}})</script>'
    return output.replace("</head>", f"{script}</head>", 1)
