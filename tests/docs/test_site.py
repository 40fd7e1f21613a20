"""The documentation builds without warnings, and the reference has every public name."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import playwright
import pytest
from tests.support.matrix.cells import cells
from tests.support.pattern_matrix.runs import PATTERNS

import headrace
from headrace import formats, testing
from headrace.connectors import registry

ROOT = Path(__file__).parents[2]
NODE = Path(playwright.__file__).parent / "driver" / "node"
SEARCHES = {
    "exactly once": "explanation/delivery/",
    "late": "how-to/late-rows/",
    "late data": "how-to/late-rows/",
    "deduplicate": "how-to/deduplicate/",
    "deploy": "how-to/deploy/",
    "docker": "how-to/deploy/",
    "kubernetes": "how-to/deploy/",
    "Databricks": "how-to/cluster/",
    "monitor": "how-to/monitor/",
    "Prometheus": "how-to/monitor/",
    "alert": "how-to/alerts/",
    "anomaly": "how-to/detect-anomalies/",
    "model": "how-to/use-models/",
    "GPU": "how-to/python-functions/",
    "schema evolution": "how-to/schema-changes/",
    "backfill": "how-to/backfill/",
    "cron": "how-to/schedules/",
    "test": "how-to/tests/",
    "retry": "how-to/troubleshooting/",
    "sliding window": "windows/sliding/",
    "Flink": "explanation/compared-with/",
}
"""Words that people search for, and the page that should be among the first three results."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site with warnings as errors: broken links, pages outside the navigation, unknown names."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return target


@pytest.fixture(scope="module")
def documented(site: Path) -> set[str]:
    """Return the names in the reference, from the inventory of the site."""
    content = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return {line.split()[0] for line in zlib.decompress(content).decode().splitlines()}


def public(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public names of a module.

    Its `__all__`, or its own functions and classes without an underscore.
    """
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    return ((name, getattr(module, name)) for name in names)


def path_of(thing: Any) -> str:
    return thing.__name__ if inspect.ismodule(thing) else f"{thing.__module__}.{thing.__qualname__}"


def test_reference_has_every_name_of_the_root(documented: set[str]) -> None:
    classes = {name: path_of(thing) for name, thing in public(headrace) if inspect.isclass(thing)}
    assert {name for name, path in classes.items() if path not in documented} == set()
    modules = {name: path_of(thing) for name, thing in public(headrace) if inspect.ismodule(thing)}
    # The page of connectors is generated from their options.
    undocumented = {
        name for name, path in modules.items() if not any(d.startswith(f"{path}.") for d in documented)
    }
    assert undocumented <= {"connect"}


@pytest.mark.parametrize(
    "module", [headrace.windows, headrace.triggers, headrace.patterns], ids=lambda module: module.__name__
)
def test_reference_has_every_name_of_a_namespace(module: Any, documented: set[str]) -> None:
    assert {
        name
        for name, thing in public(module)
        if (inspect.isclass(thing) or inspect.isfunction(thing)) and path_of(thing) not in documented
    } == set()


def test_reference_has_every_verb_of_every_stage(documented: set[str]) -> None:
    stages = [name for name in documented if re.fullmatch(r"headrace\.streams\.\w+\.[A-Z]\w+", name)]
    missing = set()
    for stage in stages:
        module, _, name = stage.rpartition(".")
        verbs = vars(getattr(import_module(module), name)).items()
        public_verbs = [
            verb for verb, value in verbs if inspect.isfunction(value) or isinstance(value, property)
        ]
        missing |= {f"{stage}.{verb}" for verb in public_verbs if not verb.startswith("_")} - documented
    internal = {f"headrace.streams.pipeline.Pipeline.{verb}" for verb in ("add", "unnamed", "rename")}
    assert len(stages) >= 10
    assert missing - internal == set()


def test_reference_has_every_name_of_testing(documented: set[str]) -> None:
    assert {name for name, thing in public(testing) if path_of(thing) not in documented} == set()


@pytest.mark.parametrize("kind", registry.kinds())
def test_reference_has_every_option_of_a_connector(kind: str, site: Path) -> None:
    page = (site / "reference/connectors/index.html").read_text()
    assert f'id="{kind}"' in page
    fields = registry.connector(kind).model_fields
    assert [n for n, e in fields.items() if f"<code>{e.alias or n}</code>" not in page] == []
    assert [n for n, e in fields.items() if not e.description] == []


@pytest.mark.parametrize("name", formats.names())
def test_reference_has_every_option_of_a_format(name: str, site: Path) -> None:
    page = (site / "reference/formats/index.html").read_text()
    assert f'id="{name}"' in page
    options = [field.alias or option for option, field in formats.get(name).model_fields.items()]
    assert [option for option in options if f"<code>{option}</code>" not in page] == []


def test_reference_has_every_command_and_option(site: Path) -> None:
    import typer.main

    from headrace.cli.app import app

    page = (site / "reference/cli/index.html").read_text()
    every = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    commands = {name: command for name, command in every.items() if not command.hidden}
    assert [name for name in commands if f'id="{name}"' not in page] == []
    options = {
        word
        for command in commands.values()
        for param in command.params
        if not getattr(param, "hidden", False)
        for word in param.opts
        if word[0] == "-"
    }
    assert [word for word in sorted(options) if f"<code>{word}" not in page] == []


def test_every_mark_of_the_window_matrix_links_to_its_transcript(site: Path) -> None:
    page = (site / "reference/matrix/index.html").read_text()
    links = re.findall(r'<a class="\w+" href="(\w+)/#([\w-]+)"', page)
    assert len(links) == len(set(links)) == sum(not cell.refusal for cell in cells())
    actual = {kind: (site / "reference/matrix" / kind / "index.html").read_text() for kind, _ in links}
    assert [(kind, anchor) for kind, anchor in links if f'id="{anchor}"' not in actual[kind]] == []
    refusals = set(re.findall(r'class="rejected" href="#([\w-]+)"', page))
    assert refusals
    assert [anchor for anchor in refusals if f'id="{anchor}"' not in page] == []


def test_every_mark_of_the_pattern_matrix_links_to_its_transcript(site: Path) -> None:
    page = (site / "reference/pattern-matrix/index.html").read_text()
    links = re.findall(r'<a class="\w+" href="(\w+)/#([\w-]+)"', page)
    assert len(links) == len(set(links)) == len(PATTERNS.allowed)
    actual = {
        name: (site / "reference/pattern-matrix" / name / "index.html").read_text() for name, _ in links
    }
    assert [(name, anchor) for name, anchor in links if f'id="{anchor}"' not in actual[name]] == []


def test_examples_in_docstrings_are_blocks_of_code(site: Path) -> None:
    """A prompt, `>>>`, that is parsed as prose becomes three nested quotes."""
    pages = sorted((site / "reference").rglob("*.html"))
    nested = re.compile(r"<blockquote>\s*<blockquote>")
    assert [page.parent.name for page in pages if nested.search(page.read_text())] == []


@pytest.fixture(scope="module")
def results(site: Path) -> dict[str, list[str]]:
    """Return the pages for each search, best first, as the site ranks them; Playwright brings the Node."""
    command = [str(NODE), str(Path(__file__).with_name("search.cjs")), str(site), *SEARCHES]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    pages: dict[str, list[str]] = json.loads(answer.stdout)
    return pages


@pytest.mark.parametrize(("words", "page"), SEARCHES.items())
def test_search_has_the_page_among_its_first_three_results(
    words: str, page: str, results: dict[str, list[str]]
) -> None:
    assert page in results[words][:3]


_IDS = re.compile(r'<\w+\b[^>]*?\sid="(?!__codelineno)([^"]+)"')
"""Identifiers, except those of lines of code, which the highlighter numbers in each docstring."""

_REQUESTS = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b(?=[^>]*rel=["']?(?:stylesheet|preload|modulepreload|preconnect|icon))[^>]*?href=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|(?:@import\s+(?:url\()?|url\()["']?(?:https?:)?//[^"')]+"""
)
"""References that a browser follows by itself, to another host."""


def test_no_page_requests_another_host(site: Path) -> None:
    files = [path for ending in ("html", "css") for path in site.rglob(f"*.{ending}")]
    assert len(files) > 100
    foreign = {path.relative_to(site): _REQUESTS.search(path.read_text()) for path in files}
    assert {path: match[0] for path, match in foreign.items() if match} == {}


def test_ids_of_a_page_differ(site: Path) -> None:
    """A heading with the id of an element of the page takes its place in scripts and styles."""
    repeated = {
        page.relative_to(site): [
            name for name, times in Counter(_IDS.findall(page.read_text())).items() if times > 1
        ]
        for page in site.rglob("*.html")
    }
    assert {page: names for page, names in repeated.items() if names} == {}


def test_colours_of_the_site_are_those_of_the_dashboard(site: Path) -> None:
    tokens = (ROOT / "src/headrace/dashboard/static/tokens.css").read_text()
    light, dark = (re.findall(r"--accent: (#\w+);", text) for text in tokens.split(":root.dark"))
    site_tokens = (site / "tokens.css").read_text()
    before, after = site_tokens.split('[data-md-color-scheme="slate"]')
    assert (re.findall(r"--accent: (#\w+);", before), re.findall(r"--accent: (#\w+);", after)) == (
        light,
        dark,
    )
    assert "--md-typeset-a-color: var(--accent)" in (site / "site.css").read_text()
    home = (site / "index.html").read_text()
    assert 'data-md-color-primary="custom"' in home
    assert re.search(r'href="tokens.css".*href="site.css"', home, re.DOTALL)
    icon = (ROOT / "src/headrace/dashboard/static/icon.svg").read_text()
    assert (site / "images/icon.svg").read_text() == icon
    assert '<img src="images/icon.svg"' in home


def test_diagrams_are_drawn_by_a_script_of_the_site(site: Path) -> None:
    """Without it the theme would load Mermaid from another host."""
    pages = {path: path.read_text() for path in site.rglob("*.html")}
    diagrams = {path: text for path, text in pages.items() if 'class="mermaid"' in text}
    assert len(diagrams) >= 2
    for path, text in diagrams.items():
        script = re.search(r'<script src="([^"]*mermaid[^"]*)"', text)
        assert script
        assert (path.parent / script[1]).resolve().is_relative_to(site.resolve())
        assert (path.parent / script[1]).is_file()
        assert text.index(script[0]) < text.index("assets/javascripts/bundle")
