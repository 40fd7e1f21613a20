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
    """Adds the kernel jar to the package."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernel if it has changed, and include the jar, which git ignores."""
        source = Path(self.root, "src")
        _register_empty_package("headrace", source / "headrace")
        _register_empty_package("headrace.spark", source / "headrace" / "spark")
        jar = import_module("headrace.spark.kernel_jar").ensure_kernel_jar(self.app.display_info)
        build_data["artifacts"].append(jar.relative_to(Path(self.root).resolve()).as_posix())


def _register_empty_package(name: str, path: Path) -> None:
    package = ModuleType(name)
    package.__path__ = [str(path)]
    sys.modules[name] = package
