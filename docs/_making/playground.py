"""Add the scenarios and Pyodide to the playground of a built site.

Pyodide (Python compiled to WebAssembly, 13 MB) is not in the repository: it is downloaded once from npm, compared with
its digest, and copied into the site, so that no page requests another host.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.plugins import get_plugin_logger
from ruamel.yaml import YAML

from headrace.durations import microseconds
from headrace.spark.cache import cache_directory, locked

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

PACKAGE, VERSION = "pyodide", "314.0.7"
DIGEST = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
WINDOWS = (
    "tumbling",
    "sliding",
    "session",
    "trailing",
    "global",
    "count",
    "delta",
    "punctuation",
    "landmark",
)
TRIGGERS = ("after_watermark", "after_count", "every", "any_all", "in_sequence", "or_finally")
MODES = ("accumulating", "discarding", "retracting")
_LENGTHS = ("size", "every", "offset", "reset", "step", "gap")
_MARKS = {"punctuation": "sold", "landmark": "open", "delta": "v"}
PATTERNS = [
    {
        "name": "patterns: small, then large at once",
        "pattern": [{"name": "small", "verb": "begin", "letters": "s"}, {"name": "large", "verb": "next", "letters": "L"}],
        "rows": "s.L sL",
        "within": 20,
    },
    {
        "name": "patterns: small, followed by large",
        "pattern": [{"name": "small", "verb": "begin", "letters": "s"}, {"name": "large", "verb": "followed_by", "letters": "L"}],
        "rows": "s.LsoL",
        "within": 20,
    },
    {
        "name": "patterns: small, followed by any large",
        "pattern": [{"name": "small", "verb": "begin", "letters": "s"}, {"name": "large", "verb": "followed_by_any", "letters": "L"}],
        "rows": "s.LoL",
        "within": 20,
        "skip": "none",
    },
    {
        "name": "patterns: two or more small, then large",
        "pattern": [
            {"name": "small", "verb": "begin", "letters": "s", "least": 2, "most": None, "greedy": True},
            {"name": "large", "verb": "followed_by", "letters": "L"},
        ],
        "rows": "sssoL",
        "within": 20,
    },
]  # fmt: skip


def scenarios() -> list[dict[str, Any]]:
    """Return the scenarios: those of the transcripts of the documentation, and patterns."""
    return [
        *(each for name in (*WINDOWS, *TRIGGERS, *MODES) for each in _of_transcript(name)),
        *map(_of_pattern, PATTERNS),
    ]


def _of_transcript(name: str) -> list[dict[str, Any]]:
    documents = YAML(typ="safe").load_all((TRANSCRIPTS / f"{name}.transcript.yaml").read_text())
    return [_scenario(name, number, document) for number, document in enumerate(documents)]


def _scenario(file: str, number: int, document: dict[str, Any]) -> dict[str, Any]:
    pipeline = document["pipeline"]
    [source], [(step, declared)] = pipeline["sources"].values(), pipeline["steps"].items()
    emit, window = declared.get("emit", {}), _window(declared["window"])
    lateness = microseconds(emit.get("lateness", "0 seconds"))
    late = emit.get("late") or ({"after_count": 1} if lateness else None)
    short = {key: _trigger(part) for key, part in (("early", emit.get("early")), ("late", late)) if part}
    trigger = _trigger(emit["trigger"]) if "trigger" in emit else {"after_watermark": short}
    return {
        "id": f"{file}-{number}",
        "kind": "windows",
        "name": document.get("name", file),
        "step": step,
        "spec": {
            "window": window,
            "trigger": trigger,
            "mode": emit.get("mode", "accumulating"),
            "lateness": lateness,
        },
        "looks_at": _MARKS.get(window["kind"]) if "reset" not in window else None,
        "out_of_order": microseconds(source["event_time"].get("out_of_order", "0 seconds")) / 1e6,
        "steps": [_line(line) for line in document["script"] if "expect" not in line],
        "declared": {key: declared[key] for key in ("window", "emit") if key in declared},
    }


def _line(line: dict[str, Any]) -> dict[str, Any]:
    if "rows" in line:
        return {"rows": line["rows"]["tx"]}
    if "watermark" in line:
        return {"watermark": line["watermark"]["tx"]}
    return {"advance": microseconds(line["advance"]) / 1e6} if "advance" in line else {"end": True}


def _window(declared: dict[str, Any]) -> dict[str, Any]:
    [(kind, options)] = declared.items()
    if kind == "punctuation" or not options:
        return {"kind": kind}
    if not isinstance(options, dict):
        options = {"gap" if kind == "session" else "size": options}
    lengths = _LENGTHS if kind != "count" else ()
    return {"kind": kind} | {
        key: microseconds(value) if key in lengths else value for key, value in options.items()
    }


def _trigger(declared: dict[str, Any]) -> dict[str, Any]:
    [(kind, options)] = declared.items()
    if kind == "every":
        return {kind: microseconds(options)}
    if isinstance(options, list):
        return {kind: [_trigger(part) for part in options]}
    return {kind: _trigger(options) if kind == "repeatedly" else options}


def _of_pattern(pattern: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {"letter": letter, "ts": 2 + 3 * place}
        for place, letter in enumerate(pattern["rows"])
        if letter.strip()
    ]
    return {
        "skip": "past_last",
        **pattern,
        "rows": rows,
        "id": pattern["name"].replace(" ", "-"),
        "kind": "patterns",
    }


def pyodide_files() -> Path | None:
    """Return the directory with Pyodide, downloaded if it is missing; None without npm or a connection."""
    place = cache_directory() / "docs" / f"{PACKAGE}-{VERSION}"
    with locked(place):
        if not place.exists() and not _download(place):
            return None
    return place


def _download(place: Path) -> bool:
    npm = shutil.which("npm")
    if npm is None:
        return False
    with tempfile.TemporaryDirectory(dir=place.parent) as directory:
        command = [npm, "pack", "--silent", f"{PACKAGE}@{VERSION}"]
        packed = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        if packed.returncode:
            return False
        archive = Path(directory) / f"{PACKAGE}-{VERSION}.tgz"
        actual = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if actual != DIGEST:
            raise SystemExit(f"{PACKAGE}@{VERSION} has the digest {actual}, expected {DIGEST}")
        files = Path(directory) / "files"
        files.mkdir()
        with tarfile.open(archive) as packages:
            for name in FILES:
                content = packages.extractfile(f"package/{name}")
                assert content is not None
                (files / name).write_bytes(content.read())
        files.replace(place)
    return True


def complete(site: Path) -> bool:
    """Write the scenarios and Pyodide into a built playground; return False without Pyodide."""
    (site / "scenarios.json").write_text(json.dumps(scenarios()))
    files = pyodide_files()
    if files is None:
        return False
    shutil.copytree(files, site / "pyodide", dirs_exist_ok=True)
    return True


def on_post_build(config: MkDocsConfig, **_: object) -> None:
    """Complete the playground of the site."""
    if not complete(Path(config.site_dir) / "playground"):
        get_plugin_logger("playground").info(
            "built without Pyodide, which npm could not download: the page says so"
        )
