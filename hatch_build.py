"""The build hook: compiles the kernel before a wheel or an editable install is made.

The work is done by `headrace.spark.kernel_jar`, which needs only the standard library. The package's own
`__init__` needs much more than a build environment has, so bare packages stand in for it here.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelBuildHook(BuildHookInterface):
    """Puts the kernel's jar into the package."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what is stale and include the jar, which git ignores, among the package's files."""
        source = Path(self.root, "src")
        _bare_package("headrace", source / "headrace")
        _bare_package("headrace.spark", source / "headrace" / "spark")
        jar = import_module("headrace.spark.kernel_jar").ensure_kernel_jar(self.app.display_info)
        build_data["artifacts"].append(jar.relative_to(Path(self.root).resolve()).as_posix())


def _bare_package(name: str, path: Path) -> None:
    package = ModuleType(name)
    package.__path__ = [str(path)]
    sys.modules[name] = package
