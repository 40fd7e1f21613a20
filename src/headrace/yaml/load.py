"""Read a document into a plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml.nodes import Node as YamlNode

from headrace.access import accepted_environment
from headrace.access.effort import TOO_DEEP, TOO_DEEP_HINT
from headrace.durations import EXPECTED_DURATION
from headrace.errors import DocumentError
from headrace.functions.reference import search_directory
from headrace.plan.graph import Graph
from headrace.plan.restrictions import rejected_expressions
from headrace.plan.validation import problems_of
from headrace.steps.base import NAME
from headrace.yaml.build import PlanBuilder
from headrace.yaml.entries import STEPS, Entry, read_sink, read_source, read_step
from headrace.yaml.errors import ErrorCollector, raise_problem
from headrace.yaml.parsing import build_tree, compose, expand_tree
from headrace.yaml.positions import Fields, Value, from_plain, replace_scalars
from headrace.yaml.reading import read_mapping, read_text, reject_unknown

GENERATED_NAME = re.compile(rf"{NAME.pattern}:[a-z_]+(:[0-9]+)?")
"""The generated name of an anonymous step, as `dump` writes it."""
_SECTIONS = ("sources", "steps", "sinks")
_EXAMPLE = "begin with `name: my-pipeline`, then sources, steps and sinks"


def load(path: str | Path, *, environment: Mapping[str, str] | None = None) -> Graph:
    """Read a plan from a YAML file.

    Variables such as `${KAFKA:-localhost:9092}` are replaced from the environment.

    >>> from pathlib import Path
    >>> _ = Path("words.yaml").write_text('''
    ... name: words
    ... sources:
    ...   lines: {memory: {}, schema: word string}
    ... steps:
    ...   counts: {from: lines, key_by: word, aggregate: {n: count(*)}}
    ... ''')
    >>> list(load("words.yaml").nodes)
    ['lines', 'counts']

    Raises:
        DocumentError: the file cannot be read, or the document is invalid; every error has line and column.
    """
    file = str(path)
    try:
        content = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        hint = "" if Path(path).is_absolute() else f"the current directory is {Path.cwd()}"
        raise_problem(file, "the file does not exist", hint)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise_problem(
            file, f"expected UTF-8 text, got the byte {byte:#04x} at {error.start}", "save it as UTF-8"
        )
    except OSError as error:
        raise_problem(file, f"the file cannot be read: {error.strerror}")
    return from_text(content, file=file, environment=environment)


def from_text(
    content: str, *, file: str = "<text>", name: str = "", environment: Mapping[str, str] | None = None
) -> Graph:
    """Read a plan from YAML text.

    Args:
        content: the text of one document.
        file: the name of the document in errors.
        name: the name of the pipeline if the document has none.
        environment: the variables; default: the environment of the process.

    >>> from_text("sources: {lines: {memory: {}, schema: word string}}", name="words").name
    'words'
    """
    return from_mapping(_compose_one(content, file), file=file, name=name, environment=environment)


def loads_code(content: str, *, file: str = "<text>") -> bool:
    """Return True if a document has a step that imports Python of the user; nothing is imported.

    >>> loads_code('steps: {a: {from: tx, map: {python: "scoring:score"}}}'), loads_code("steps: {}")
    (True, False)
    """
    try:
        node = _compose_one(content, file)
    except DocumentError:  # reported when the document is loaded
        return False
    tree = build_tree(node, file=file, environment={}, errors=ErrorCollector())
    steps = tree.get("steps") if isinstance(tree, Fields) else None
    keys = {model.key for model in STEPS if model.loads_code}
    entries = [steps[name] for name in steps] if isinstance(steps, Fields) else []
    return any(isinstance(entry, Fields) and not keys.isdisjoint(entry) for entry in entries)


def check_entries(content: str, *, file: str = "<text>") -> None:
    """Check the entries of a document one by one, without a plan, which would import Python of the user.

    Raises:
        DocumentError: an entry is invalid, or not accepted.
    """
    errors, names = ErrorCollector(), dict[str, str]()
    node = _compose_one(content, file)
    tree = build_tree(node, file=file, environment=accepted_environment(), errors=errors)
    document = read_mapping(tree, expected="the keys of a pipeline", hint=_EXAMPLE)
    for section, read in (("sources", read_source), ("steps", read_step), ("sinks", read_sink)):
        _read_entries(_read_section(document, section, names, errors), read, errors)
    errors.raise_any()


def _compose_one(content: str, file: str) -> YamlNode:
    nodes = compose(content, file=file)
    if not nodes:
        raise_problem(f"{file}:1:1", "the document is empty", _EXAMPLE)
    if len(nodes) > 1:
        mark = nodes[1].start_mark
        where = f"{file}:{mark.line + 1}:{mark.column + 1}"
        hint = "keep one pipeline per file: remove `---` and the rest"
        raise_problem(where, f"expected one document, got {len(nodes)}", hint)
    return nodes[0]


def from_mapping(
    content: Mapping[str, Any] | YamlNode,
    *,
    file: str = "<mapping>",
    name: str = "",
    environment: Mapping[str, str] | None = None,
) -> Graph:
    """Read a plan from a mapping, or from a part of a larger YAML file.

    Args:
        content: a node that ruamel.yaml composed, whose positions are exact; a mapping of its round-trip
            loader; or a plain `dict`, whose errors are located by path.
        file: the name of the document in errors.
        name: the name of the pipeline if the document has none.
        environment: the variables; default: the environment of the process.

    >>> from_mapping({"name": "words", "sources": {"lines": {"memory": {}, "schema": "word string"}}}).name
    'words'
    """
    errors = ErrorCollector()
    search_directory(Path(file).parent if Path(file).is_file() else Path.cwd())
    variables = accepted_environment() if environment is None else environment
    try:
        if isinstance(content, YamlNode):
            tree = build_tree(content, file=file, environment=variables, errors=errors)
        else:
            tree = expand_tree(from_plain(content, file=file), variables, errors)
        return read_tree(tree, name, errors)
    except RecursionError:
        raise_problem(file, TOO_DEEP, TOO_DEEP_HINT)


def read_draft(content: YamlNode, *, file: str = "<text>") -> Graph:
    r"""Return the plan of the entries that can be read; an entry with errors is left out.

    >>> from headrace.yaml.parsing import compose
    >>> [node] = compose("sources: {tx: {memory: {}, schema: a int}}\nsteps: {big: {from: tx}}", file="p")
    >>> list(read_draft(node).nodes)
    ['tx']
    """
    errors = ErrorCollector()
    tree = build_tree(content, file=file, environment=accepted_environment(), errors=errors)
    return _build(tree, "draft", errors) if isinstance(tree, Fields) else Graph("draft", {}, {})


def read_valid(document: Fields) -> Graph:
    """Return the plan of the entries of a document that can be read, without its errors."""
    return _build(document, "draft", ErrorCollector())


def read_tree(tree: Value, name: str, errors: ErrorCollector) -> Graph:
    """Read a plan from the tree of a document.

    Raises:
        DocumentError: the document is invalid, or the collector has problems already.
    """
    document = read_mapping(tree, expected="the keys of a pipeline", hint=_EXAMPLE)
    reject_unknown(document, ("name", *_SECTIONS), "the document", errors)
    graph = _build(document, errors.attempt(_read_name, document, name) or "unnamed", errors)
    sources = document.get("sources")
    if not (isinstance(sources, Fields) and sources) and not errors.problems:
        errors.add(document.where, "the document has no sources", "add `sources:` with at least one source")
    mended = _mend(document, graph, errors) if errors.problems else graph
    if errors.problems and mended.nodes:  # also check the steps that could be read
        for problem in problems_of(mended):
            errors.add(problem.where, problem.what, problem.hint)
    for problem in rejected_expressions(graph):
        errors.add(problem.where, problem.what, problem.hint)
    errors.raise_any()
    return graph


def _mend(document: Fields, graph: Graph, errors: ErrorCollector) -> Graph:
    """Return the plan with valid durations in place of wrong ones, so that their steps are checked."""
    wrong = {problem.where for problem in errors.problems if problem.what.startswith(EXPECTED_DURATION)}
    if not wrong:
        return graph
    mended = replace_scalars(document, wrong, "1 minute")
    return _build(mended, graph.name, ErrorCollector()) if isinstance(mended, Fields) else graph


def _build(document: Fields, name: str, errors: ErrorCollector) -> Graph:
    names: dict[str, str] = {}
    sources, steps, sinks = (_read_section(document, section, names, errors) for section in _SECTIONS)
    builder = PlanBuilder({*sources, *steps}, errors)
    builder.add_sources(_read_entries(sources, read_source, errors))
    builder.add_steps(_read_entries(steps, read_step, errors))
    builder.add_sinks(_read_entries(sinks, read_sink, errors))
    return builder.graph(name)


def _read_name(document: Fields, default: str) -> str:
    if "name" not in document and not default:
        raise_problem(
            document.where, "`name` of the pipeline is missing", "add a line such as `name: my-pipeline`"
        )
    name = read_text(document["name"], expected="a name") if "name" in document else default
    if not NAME.fullmatch(name):
        where = document["name"].where if "name" in document else document.where
        raise_problem(
            where, f"expected a name of letters, digits, _ and -, got `{name}`", "rename the pipeline"
        )
    return name


def _read_section(
    document: Fields, section: str, names: dict[str, str], errors: ErrorCollector
) -> dict[str, tuple[str, Value]]:
    """Return the entries of a section by name, each with the position of its name, and check their names."""
    if section not in document:
        return {}
    expected = f"names and their {section}"
    content = errors.attempt(read_mapping, document[section], expected=expected, empty=True) or Fields("")
    entries = {}
    for name in content:
        where = content.key_at(name)
        if not NAME.fullmatch(name) and not (section == "steps" and GENERATED_NAME.fullmatch(name)):
            errors.add(where, f"expected a name of letters, digits, _ and -, got `{name}`", "rename it")
        if name in names:
            errors.add(where, f"duplicate name `{name}`", f"rename one; the first is at {names[name]}")
            continue
        names[name] = where
        entries[name] = (where, content[name])
    return entries


def _read_entries(
    entries: Mapping[str, tuple[str, Value]], read: Callable[[str, str, Value], Entry], errors: ErrorCollector
) -> dict[str, Entry]:
    results = {name: errors.attempt(read, name, where, value) for name, (where, value) in entries.items()}
    return {name: entry for name, entry in results.items() if entry is not None}
