"""The structure of the source tree: its layers and features, and which modules may use what."""

from __future__ import annotations

import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import grimp
import pytest

import headrace
from headrace.steps.grammar.declaration import StepNode
from headrace.steps.kinds import features, step_models

SOURCE = Path(headrace.__file__).parent
GATEWAY = SOURCE / "spark" / "gateway.py"
PRIVATE = re.compile(
    r"\b(_jvm|_jsc|_jdf|_jc|_jsparkSession|_gateway|java_gateway)\b|\b(?:import|from) py4j\b"
)
KERNEL = (
    SOURCE.parents[1] / "kernel" / "src" / "main" / "scala" / "org" / "apache" / "spark" / "sql" / "headrace"
)
KERNEL_IMPORT = re.compile(r"org\.apache\.spark\.sql\.headrace((?:\.[a-z]+)*)\.[A-Z{_]")


def modules() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield str(path.relative_to(SOURCE)), path.read_text()


def test_only_the_gateway_uses_py4j() -> None:
    gateway = str(GATEWAY.relative_to(SOURCE))
    users = [name for name, text in modules() if name != gateway and PRIVATE.search(text)]
    assert PRIVATE.search(GATEWAY.read_text())
    assert users == []


@cache
def import_graph() -> grimp.ImportGraph:
    return grimp.build_graph("headrace", cache_dir=None)


TRANSCRIPTS = dict.fromkeys(("headrace.analytics", "headrace.joins", "headrace.windows"), "testing")
"""Features whose steps the transcripts run in the driver of the kernel and draw, by kind."""


PUBLIC_PATHS = {
    ("headrace.detectors", "headrace.analytics.detectors"),
    ("headrace.smoothing", "headrace.analytics.smoothing"),
    ("headrace.triggers", "headrace.windows.triggers"),
    ("headrace.windowed_rows.lower", "headrace.windows.lower"),  # its steps are windows of rows
}
"""Modules that may import more: public paths, and a feature that builds on another."""


@pytest.mark.parametrize("feature", features())
def test_modules_outside_of_a_feature_import_its_declarations_only(feature: str) -> None:
    graph = import_graph()
    imports = {
        (importer, module)
        for module in {feature, *graph.find_descendants(feature)} - {feature, f"{feature}.declare"}
        for importer in graph.find_modules_that_directly_import(module)
        if not f"{importer}.".startswith((f"{feature}.", f"headrace.{TRANSCRIPTS.get(feature, feature)}."))
    }
    assert imports <= PUBLIC_PATHS


@pytest.mark.parametrize("feature", features())
def test_steps_of_a_feature_are_named_by_few_other_packages(feature: str) -> None:
    """A step is named where it is built and planned; everything else reaches it through its methods."""
    step_models()  # imports all kinds
    kinds = {kind.__name__ for kind in leaves(StepNode) if kind.__module__.startswith(f"{feature}.")}
    own = f"{feature.removeprefix('headrace.')}/"
    allowed = (own, "streams/", "plan/", "sql/", "yaml/", f"{TRANSCRIPTS.get(feature, own)}/")
    users = [name for name, words in names() if not name.startswith(allowed) and words & kinds]
    assert users == []


@cache
def names() -> list[tuple[str, set[str]]]:
    """Return the names in each module, without strings and comments."""
    tokens = ((name, tokenize.generate_tokens(io.StringIO(text).readline)) for name, text in modules())
    return [(name, {each.string for each in read if each.type == tokenize.NAME}) for name, read in tokens]


def leaves(kind: type[Any]) -> Iterator[type[Any]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from leaves(subclass)


def test_no_import_is_exempt_from_the_layers() -> None:
    settings = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())
    layers = next(c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    assert layers.get("ignore_imports", []) == []


def test_modules_have_no_import_cycles() -> None:
    """Imports inside functions included; the stages of `streams` return each other, so their verbs do."""
    graph = grimp.build_graph("headrace", exclude_type_checking_imports=True, cache_dir=None)
    imports = {
        module: graph.find_modules_directly_imported_by(module)
        for module in graph.modules
        if not module.startswith("headrace.streams.")
    }
    assert "headrace.cli.app" in TopologicalSorter(imports).static_order()  # raises CycleError


def test_packages_of_the_kernel_have_no_cycles() -> None:
    graph: dict[str, set[str]] = {}
    for path in KERNEL.rglob("*.scala"):
        package = ".".join(path.parent.relative_to(KERNEL).parts)
        imported = {match[1].removeprefix(".") for match in KERNEL_IMPORT.finditer(path.read_text())}
        graph.setdefault(package, set()).update(imported - {package})
    assert "operators.state" in TopologicalSorter(graph).static_order()  # raises CycleError
