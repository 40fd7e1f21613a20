"""Load pipelines from files: run a Python file under `collecting()`, or read a document or SQL statements.

Errors in a user's file are reported with the file and line of the user's code, without frames of this
package.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import traceback
from pathlib import Path
from types import TracebackType

from headrace.cli.terminal.advice import advice
from headrace.errors import (
    DocumentError,
    HeadraceError,
    LoadError,
    PlanError,
    Problem,
    did_you_mean,
)
from headrace.streams.pipeline import Pipeline, collecting

PYTHON, YAML, SQL = (".py",), (".yaml", ".yml"), (".sql",)
SUFFIXES = (*PYTHON, *YAML, *SQL)
_PACKAGE = str(Path(__file__).parent.parent)
_PLACE_OF_MODULE = re.compile(r" \((/[^)]*|unknown location)\)$")
_FRAMES = 4
"""The number of frames shown from each end of a deep stack."""


def load_all(path: Path) -> list[Pipeline]:
    """Return all pipelines of a file in order of creation, not validated yet.

    Raises:
        LoadError: the file is missing, holds no pipeline, or fails.
        DocumentError: the document is invalid.
    """
    _check_readable(path)
    if path.suffix.lower() in YAML:
        return [Pipeline.from_yaml(path)]
    if path.suffix.lower() in SQL:
        return [Pipeline.from_sql(path)]
    pipelines = _execute(path)
    if not pipelines:
        hint = 'build one at the top level: fraud = Pipeline("fraud"), not inside a function or an `if`'
        raise LoadError("it builds no pipeline", where=str(path), hint=hint)
    return pipelines


def load_one(path: Path, name: str | None = None) -> Pipeline:
    """Return the pipeline of a file: the only one, or the one named `name`.

    Raises:
        LoadError: no pipeline has this name, or there are several and no name.
    """
    pipelines = load_all(path)
    names = [pipeline.name for pipeline in pipelines]
    if name is None and len(pipelines) > 1:
        hint = f"choose one: --pipeline {names[0]}"
        raise LoadError(
            f"it builds {len(pipelines)} pipelines: {', '.join(names)}", where=str(path), hint=hint
        )
    if name is not None and names.count(name) != 1:
        what = f"several pipelines are named `{name}`" if name in names else f"unknown pipeline `{name}`"
        raise LoadError(what, where=str(path), hint=did_you_mean(name, names))
    return pipelines[0] if name is None else pipelines[names.index(name)]


def _check_readable(path: Path) -> None:
    if path.is_dir():
        inside = [file.name for file in sorted(path.iterdir()) if file.suffix.lower() in SUFFIXES]
        hint = f"name a file in it: {path / inside[0]}" if inside else "it has no .py, .yaml or .sql file"
        raise LoadError("it is a directory", where=str(path), hint=hint)
    if not path.exists():
        beside = sorted(file.name for file in path.parent.glob("*")) if path.parent.is_dir() else []
        known = [name for name in beside if name.endswith(SUFFIXES)]
        hint = did_you_mean(path.name, known) if known else f"the current directory is {Path.cwd()}"
        raise LoadError("no such file", where=str(path), hint=hint)
    if path.suffix.lower() not in SUFFIXES:
        raise LoadError(
            f"expected a .py, .yaml, .yml or .sql file, got {path.suffix or 'no suffix'}",
            where=str(path),
            hint="a pipeline is a Python file, a YAML document or a script of SQL statements",
        )
    if not os.access(path, os.R_OK):
        raise LoadError("it cannot be read", where=str(path), hint=f"chmod u+r {path}")


def _execute(path: Path) -> list[Pipeline]:
    path = path.absolute()
    if str(path.parent) not in sys.path[:1]:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(f"headrace_file_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise LoadError("Python cannot load it", where=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module here to resolve annotations
    with collecting() as pipelines:
        try:
            spec.loader.exec_module(module)
        except HeadraceError as error:
            raise _with_location(error, path) from error
        except SyntaxError as error:
            raise _syntax_error(error, path) from error
        except SystemExit as error:
            raise LoadError("it calls sys.exit while it is loaded", where=_place(error, path)) from error
        except Exception as error:
            raise _load_error(error, path) from error
    return list(pipelines)


def _with_location(error: HeadraceError, path: Path) -> HeadraceError:
    """Return the error with the location in the user's file."""
    place = _place(error, path)
    if isinstance(error, PlanError | DocumentError):
        return error
    where = error.where if error.where.startswith(place) else f"{place}: {error.where}".removesuffix(": ")
    return type(error)(error.what, where=where, hint=error.hint)


def _syntax_error(error: SyntaxError, path: Path) -> LoadError:
    file = _short(error.filename or str(path))
    where = f"{file}:{error.lineno or 1}:{error.offset or 1}"
    code = (error.text or "").rstrip()
    excerpt = f"\n    {code.strip()}" if code.strip() else ""
    return LoadError(f"{type(error).__name__}: {error.msg}{excerpt}", where=where)


def _load_error(error: Exception, path: Path) -> LoadError:
    frames = [f"{_short(f.filename)}:{f.lineno} in {f.name}: {f.line}" for f in _frames(error.__traceback__)]
    if len(frames) > 2 * _FRAMES:
        frames[_FRAMES:-_FRAMES] = [f"... {len(frames) - 2 * _FRAMES} more ..."]
    stack = "".join(f"\n    {frame}" for frame in frames) if len(frames) > 1 else ""
    reason = _PLACE_OF_MODULE.sub("", str(error))
    return LoadError(
        f"{type(error).__name__}: {reason}{stack}", where=_place(error, path), hint=advice(error)
    )


def _place(error: BaseException, path: Path) -> str:
    """Return `file:line` of the user's code that led to the error."""
    frames = [frame for frame in _frames(error.__traceback__) if Path(frame.filename) == path]
    return f"{_short(str(path))}:{frames[-1].lineno}" if frames else _short(str(path))


def _frames(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    """Return the frames of the user's code."""
    return [
        frame
        for frame in traceback.extract_tb(trace)
        if not frame.filename.startswith((_PACKAGE, "<frozen importlib"))
    ]


def _short(file: str) -> str:
    """Return the path relative to the current directory."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


def check(pipeline: Pipeline) -> tuple[Problem, ...]:
    """Return all problems of a pipeline."""
    try:
        pipeline.check()
    except PlanError as error:
        return error.problems
    return ()
