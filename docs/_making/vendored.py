"""Copy JavaScript libraries from npm packages: `python docs/_making/vendored.py`.

Downloads the versions below with `npm install` into a temporary directory and copies their browser builds and licences
to `src/headrace/dashboard/static/vendor`; those of the documentation to `docs/javascripts`. CodeMirror is published as ES modules that import each other by package name;
the names are rewritten to file names, because an import map would need an inline script.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENDOR = ROOT / "src" / "headrace" / "dashboard" / "static" / "vendor"
AXE = ROOT / "tests" / "dashboard" / "axe"
DOCS = ROOT / "docs" / "javascripts"
FILES = {
    "react@18.3.1": ("umd/react.production.min.js",),
    "react-dom@18.3.1": ("umd/react-dom.production.min.js",),
    "@xyflow/react@12.12.1": ("dist/umd/index.js:react-flow.umd.js", "dist/style.css:react-flow.css"),
    "@dagrejs/dagre@3.1.1": ("dist/dagre.min.js",),
    "uplot@1.6.32": ("dist/uPlot.iife.min.js", "dist/uPlot.min.css"),
    "htmx.org@4.0.0": ("dist/htmx.min.js",),
}
MODULES = {
    "@codemirror/autocomplete@6.20.4": "dist/index.js",
    "@codemirror/commands@6.11.1": "dist/index.js",
    "@codemirror/lang-yaml@6.1.3": "dist/index.js",
    "@codemirror/language@6.13.1": "dist/index.js",
    "@codemirror/lint@6.9.7": "dist/index.js",
    "@codemirror/state@6.7.6": "dist/index.js",
    "@codemirror/streamparser@6.0.0": "dist/index.js",
    "@codemirror/view@6.43.15": "dist/index.js",
    "@lezer/common@1.5.5": "dist/index.js",
    "@lezer/highlight@1.2.5": "dist/index.js",
    "@lezer/lr@1.4.12": "dist/index.js",
    "@lezer/yaml@1.0.4": "dist/index.js",
    "@marijn/find-cluster-break@1.0.4": "src/index.js",
    "crelt@1.0.7": "index.js",
    "style-mod@4.1.4": "src/style-mod.js",
    "w3c-keyname@2.2.8": "index.js",
}
AXE_PACKAGE = "axe-core@4.14.0"
MERMAID_PACKAGE = "@mermaid-js/tiny@11.17.2"
"""Mermaid without the kinds of diagrams that need KaTeX or files loaded at run time."""
_IMPORT = re.compile(r"""(from\s+)(["'])([@\w/.-]+)\2""")


def main() -> None:
    """Replace the vendored files."""
    with tempfile.TemporaryDirectory() as directory:
        packages = Path(directory)
        (packages / "package.json").write_text('{"private": true}')
        command = [
            "npm",
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            *FILES,
            *MODULES,
            AXE_PACKAGE,
            MERMAID_PACKAGE,
        ]
        subprocess.run(command, cwd=packages, check=True, stdout=subprocess.DEVNULL)
        _copy_all(packages / "node_modules")


def _copy_all(packages: Path) -> None:
    shutil.rmtree(VENDOR, ignore_errors=True)
    for directory in (VENDOR / "licences", VENDOR / "codemirror", AXE, DOCS):
        directory.mkdir(parents=True, exist_ok=True)
    for package, files in FILES.items():
        for file in files:
            source, _, name = file.partition(":")
            shutil.copy(packages / _name(package) / source, VENDOR / (name or Path(source).name))
    for package, file in MODULES.items():
        text = (packages / _name(package) / file).read_text()
        (VENDOR / "codemirror" / _file(_name(package))).write_text(_IMPORT.sub(_relative, text))
    for package in (*FILES, *MODULES):
        _copy_licence(packages, _name(package), VENDOR / "licences")
    shutil.copy(packages / "axe-core" / "axe.min.js", AXE / "axe.min.js")
    _copy_licence(packages, "axe-core", AXE)
    mermaid = _name(MERMAID_PACKAGE)
    shutil.copy(packages / mermaid / "dist" / "mermaid.tiny.js", DOCS / "mermaid.tiny.js")
    _copy_licence(packages, mermaid, DOCS)
    listed = {_name(package): package.rpartition("@")[2] for package in (*FILES, *MODULES)}
    (VENDOR / "versions.json").write_text(json.dumps(listed, indent=2) + "\n")


def _name(package: str) -> str:
    return package.rpartition("@")[0]


def _file(name: str) -> str:
    return name.lstrip("@").replace("/", "-") + ".js"


def _relative(match: re.Match[str]) -> str:
    known = match[3] in map(_name, MODULES)
    return f'{match[1]}"./{_file(match[3])}"' if known else match[0]


def _copy_licence(packages: Path, name: str, target: Path) -> None:
    licence = next(
        path for path in sorted((packages / name).iterdir()) if path.name.upper().startswith("LICEN")
    )
    shutil.copy(licence, target / f"{_file(name).removesuffix('.js')}.txt")


if __name__ == "__main__":
    main()
