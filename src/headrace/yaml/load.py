"""Reading a document into a pipeline: the same plan as Python builds."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ruamel.yaml.nodes import Node as YamlNode

from headrace.steps.base import NAME
from headrace.streams.pipeline import Pipeline
from headrace.yaml import sections, yamltext
from headrace.yaml.build import Builder
from headrace.yaml.faults import Faults, at, fault
from headrace.yaml.reading import fields, only, text
from headrace.yaml.tree import Fields, Scalar, Value, tree_of
from headrace.yaml.variables import expanded

SECTIONS = ("name", "sources", "steps", "sinks")
_MADE_UP = re.compile(rf"{NAME.pattern}:[a-z_]+(:[0-9]+)?")
_EXAMPLE = "begin with `name: my-pipeline`, then sources, steps and sinks"
Entry = TypeVar("Entry")


def load(path: str | Path, *, environment: Mapping[str, str] | None = None) -> Pipeline:
    """Read a pipeline from a YAML file.

    Variables such as `${KAFKA:-localhost:9092}` are taken from the environment. The plan's own rules are asked by
    `Pipeline.check`, whose problems then carry the document's lines as well.

    >>> from pathlib import Path
    >>> _ = Path("words.yaml").write_text('''
    ... name: words
    ... sources:
    ...   lines: {memory: {}, schema: word string}
    ... steps:
    ...   counts: {from: lines, key_by: word, aggregate: {n: count(*)}}
    ... ''')
    >>> load("words.yaml")
    <pipeline words>

    Raises:
        DocumentError: the file can't be read, or the document is wrong; every fault is listed with its line and column.
    """
    file = str(path)
    try:
        content = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        fault(
            file,
            "there is no such file",
            f"it is looked for in {Path.cwd()}" if not Path(path).is_absolute() else "",
        )
    except UnicodeDecodeError as error:
        fault(
            file,
            f"expected UTF-8 text, got the byte {error.object[error.start]:#04x} at {error.start}",
            "save it as UTF-8",
        )
    except OSError as error:
        fault(file, f"the file can't be read: {error.strerror}")
    return from_text(content, file=file, environment=environment)


def from_text(
    content: str, *, file: str = "<text>", name: str = "", environment: Mapping[str, str] | None = None
) -> Pipeline:
    """Read a pipeline from YAML text.

    Args:
        content: the text of one document.
        file: what errors call it.
        name: the pipeline's name where the document has none.
        environment: where variables are looked up; the process's own environment if None.

    >>> from_text("sources: {lines: {memory: {}, schema: word string}}", name="words")
    <pipeline words>
    """
    nodes = yamltext.nodes_of(content, file=file)
    if not nodes:
        fault(f"{file}:1:1", "the document is empty", _EXAMPLE)
    if len(nodes) > 1:
        mark = nodes[1].start_mark
        fault(
            f"{file}:{mark.line + 1}:{mark.column + 1}",
            f"expected one document, got {len(nodes)}",
            "keep one pipeline a file: remove `---` and what follows",
        )
    return from_mapping(nodes[0], file=file, name=name, environment=environment)


def from_mapping(
    given: Mapping[str, Any] | YamlNode,
    *,
    file: str = "<mapping>",
    name: str = "",
    environment: Mapping[str, str] | None = None,
) -> Pipeline:
    """Read a pipeline from a mapping, or from a part of a larger YAML file.

    Args:
        given: a node that ruamel.yaml composed, whose positions are then exact; a mapping of its round-trip loader; or
            a plain `dict`, whose faults are named by their path.
        file: what errors call it.
        name: the pipeline's name where the document has none.
        environment: where variables are looked up; the process's own environment if None.

    >>> from_mapping({"name": "words", "sources": {"lines": {"memory": {}, "schema": "word string"}}})
    <pipeline words>
    """
    faults = Faults()
    variables = os.environ if environment is None else environment
    if isinstance(given, YamlNode):
        tree = yamltext.tree(given, file=file, environment=variables, faults=faults)
    else:
        tree = _expanded(tree_of(given, file=file), variables, faults)
    return _pipeline(tree, name, faults)


def _pipeline(tree: Value, name: str, faults: Faults) -> Pipeline:
    document = fields(tree, wanted="the keys of a pipeline", hint=_EXAMPLE)
    only(document, SECTIONS, "the document", faults)
    pipeline = faults.attempt(_named, document, name) or Pipeline("unnamed")
    taken: dict[str, str] = {}
    entries = {
        section: _entries(document, section, taken, faults) for section in ("sources", "steps", "sinks")
    }
    references = {*entries["sources"], *entries["steps"]}
    builder = Builder(pipeline, references, faults)
    builder.sources(_read(entries["sources"], sections.source, faults))
    builder.steps(_read(entries["steps"], sections.step, faults))
    builder.sinks(_read(entries["sinks"], sections.sink, faults))
    if not entries["sources"] and not faults.problems:
        faults.add(document.where, "the document has no sources", "add `sources:` with what is read, by name")
    faults.raise_any()
    return pipeline


def _named(document: Fields, name: str) -> Pipeline:
    if "name" not in document:
        if not name:
            fault(
                document.where, "`name` of the pipeline is missing", "add a line such as `name: my-pipeline`"
            )
        return Pipeline(name)
    with at(document["name"]):
        return Pipeline(text(document["name"], wanted="a name"))


def _entries(
    document: Fields, section: str, taken: dict[str, str], faults: Faults
) -> dict[str, tuple[str, Value]]:
    """The entries of a section, by name, each with the place of its name; a name is given once in a document."""
    if section not in document:
        return {}
    wanted = f"names and their {section}"
    found = faults.attempt(fields, document[section], wanted=wanted, empty=True) or Fields("")
    entries = {}
    for name in found:
        where = found.key_at(name)
        if not NAME.fullmatch(name) and not (section == "steps" and _MADE_UP.fullmatch(name)):
            faults.add(where, f"expected a name of letters, digits, _ and -, got `{name}`", "rename it")
        if name in taken:
            faults.add(where, f"the name `{name}` is taken", f"rename one; the first is at {taken[name]}")
            continue
        taken[name] = where
        entries[name] = (where, found[name])
    return entries


def _read(
    entries: Mapping[str, tuple[str, Value]], read: Callable[[str, str, Value], Entry], faults: Faults
) -> dict[str, Entry]:
    found = {name: faults.attempt(read, name, where, value) for name, (where, value) in entries.items()}
    return {name: entry for name, entry in found.items() if entry is not None}


def _expanded(tree: Value, variables: Mapping[str, str], faults: Faults) -> Value:
    from headrace.yaml.tree import Entry as TreeEntry
    from headrace.yaml.tree import Items

    if isinstance(tree, Fields):
        inner = {key: TreeEntry(tree.key_at(key), _expanded(tree[key], variables, faults)) for key in tree}
        return Fields(tree.where, inner)
    if isinstance(tree, Items):
        return Items(tree.where, tuple(_expanded(item, variables, faults) for item in tree.items))
    if not isinstance(tree.value, str):
        return tree
    found = faults.attempt(_substituted, tree, variables)
    if found is None:
        faults.spoil(tree.where)
        return tree
    return Scalar(tree.where, found, found)


def _substituted(scalar: Scalar, variables: Mapping[str, str]) -> str:
    with at(scalar):
        return expanded(scalar.text, variables)
