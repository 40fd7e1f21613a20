"""Build hook that compiles the kernel for wheels and editable installs.

`headrace.spark.kernel_jar` needs the standard library only. `headrace/__init__.py` imports packages that a
build environment does not have, so the hook registers empty packages in its place.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelBuildHook(BuildHookInterface):
    """Adds the kernel jars to the package."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernel if it has changed, and include the jars, which git ignores."""
        source = Path(self.root, "src")
        _register_empty_package("headrace", source / "headrace")
        _register_empty_package("headrace.spark", source / "headrace" / "spark")
        jars = import_module("headrace.spark.kernel_jar").ensure_jars_of_wheel(self.app.display_info)
        root = Path(self.root).resolve()
        build_data["artifacts"] += [jar.relative_to(root).as_posix() for jar in jars]


def _register_empty_package(name: str, path: Path) -> None:
    package = ModuleType(name)
    package.__path__ = [str(path)]
    sys.modules[name] = package
