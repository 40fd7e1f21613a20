"""The documentation builds without warnings, and the reference has every public name."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.support.matrix.cells import cells
from tests.support.pattern_matrix.runs import PATTERNS

import headrace
from headrace import formats, testing
from headrace.connectors import registry

ROOT = Path(__file__).parents[2]


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
