"""The structure of the source tree: its size, its layers, and which modules may use what."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

import headrace

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


@pytest.mark.parametrize(
    ("step", "module", "most"),
    [("Distinct", "stateful.distinct", 6), ("Match", "patterns.match", 9)],
)
def test_few_modules_name_a_step_kind(step: str, module: str, most: int) -> None:
    named = re.compile(
        rf"(?:from headrace\.steps\.{re.escape(module)} import [^\n]*|class )\b{step}\b(?!Model)"
    )
    users = [name for name, text in modules() if named.search(re.sub(r"\(\s+|,\s+", " ", text))]
    assert len(users) <= most, users


def test_no_package_has_more_than_15_modules() -> None:
    sizes = {
        str(init.parent.relative_to(SOURCE)): len(list(init.parent.glob("*.py"))) - 1
        for init in SOURCE.rglob("__init__.py")
    }
    assert {name for name, size in sizes.items() if size > 15} == set()


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
