"""Parse YAML text into values with positions; resolve merge keys and environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from headrace.errors import Location, Problem
from headrace.yaml.composer import MAX_CHARACTERS, MAX_NODES, MAX_NODES_OF_DATA, BoundedComposer
from headrace.yaml.errors import ErrorCollector, locate_errors, raise_problem
from headrace.yaml.positions import Fields, Items, KeyedValue, PlainScalar, Scalar, Value
from headrace.yaml.variables import expand

_TAG = "tag:yaml.org,2002:"
_MAX_DIGITS = 400
"""Longer numbers are texts: Python neither prints nor converts those of several thousand digits."""
_QUOTE = "put the whole text in double quotes"


def compose(text: str, *, file: str, data: bool = False) -> list[Node]:
    """Return the documents in a text, as ruamel.yaml composes them.

    Args:
        text: the text.
        file: its name in errors.
        data: True for rules and transcripts, which may be larger than a pipeline.

    Raises:
        DocumentError: the text is not YAML, has too many nodes or levels, or a tag that is not accepted.
    """
    if not data:
        check_length(text, file)
    yaml = YAML(typ="rt", pure=True)
    max_nodes = MAX_NODES_OF_DATA if data else MAX_NODES
    composer: Any = partial(BoundedComposer, file=file, max_nodes=max_nodes)
    yaml.Composer = composer
    try:
        return [node for node in yaml.compose_all(text) if node is not None]
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = text.splitlines()[mark.line] if mark.line < len(text.splitlines()) else ""
        problem = _syntax(error, line)
        raise_problem(f"{file}:{mark.line + 1}:{mark.column + 1}", problem.what, problem.hint)
    except ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        raise_problem(
            f"{file}:{line}:{column}",
            f"the character {chr(error.character) if isinstance(error.character, int) else error.character!r}"
            " is not allowed in YAML",
            "save the file as UTF-8 text without control characters",
        )
    except (
        YAMLError,
        ValueError,
    ) as error:  # errors without a position, such as a directive that YAML 1.2 lacks
        raise_problem(f"{file}:1:1", f"invalid YAML: {error}")


def check_length(text: str, file: str) -> None:
    """Reject a document or a script that is too long to be checked.

    Raises:
        DocumentError: it is.
    """
    if len(text) > MAX_CHARACTERS:
        what = f"expected at most {MAX_CHARACTERS} characters, got {len(text)}"
        raise_problem(f"{file}:1:1", what, "put data into files beside the document")


def build_tree(node: Node, *, file: str, environment: Mapping[str, str], errors: ErrorCollector) -> Value:
    """Build the tree of a composed node; errors in keys and variables are added to the collector."""
    return _Reader(file, environment, errors).value(node)


class _Reader:
    def __init__(self, file: str, environment: Mapping[str, str], errors: ErrorCollector) -> None:
        self._file = file
        self._environment = environment
        self._errors = errors
        self._resolver = YAML(typ="rt", pure=True).resolver

    def value(self, node: Node) -> Value:
        if isinstance(node, MappingNode):
            return Fields(self._where(node), self._entries(node))
        if isinstance(node, SequenceNode):
            return Items(self._where(node), tuple(self.value(item) for item in node.value))
        assert isinstance(node, ScalarNode)
        return self._scalar(node)

    def _scalar(self, node: ScalarNode) -> Scalar:
        where, tag = self._where_text(node), str(node.tag)
        content = node.value.replace("\a", "") if node.style == ">" else node.value  # ruamel.yaml marks folds
        if not tag.startswith(_TAG):
            self._errors.add(where, f"unknown YAML tag `{tag}`", "remove it; quote a text that starts with !")
            return Scalar(where, content, content)
        text = self._errors.attempt(_expand, content, where, self._environment)
        if text is None:
            self._errors.ignore(where)
            return Scalar(where, content, content)
        if text != content and node.style is None:  # `port: ${PORT}` is a number if the variable is
            tag = str(self._resolver.resolve(ScalarNode, text, (True, False)))
        return Scalar(where, text, _plain_value(text, tag.removeprefix(_TAG)))

    def _entries(self, node: MappingNode) -> dict[str, KeyedValue]:
        own: dict[str, KeyedValue] = {}
        merged: dict[str, KeyedValue] = {}
        for key, item in node.value:
            where = self._where(key)
            if not isinstance(key, ScalarNode):
                self._errors.add(where, "expected a word before the colon, got a list or a mapping", _QUOTE)
            elif str(key.tag) == f"{_TAG}merge":
                merged |= {k: v for k, v in self._merge(item).items() if k not in merged}
            elif key.value in own:
                first = own[key.value].key_at.removeprefix(f"{self._file}:")
                self._errors.add(
                    where, f"duplicate key `{key.value}`", f"the first is at {first}; remove one"
                )
            else:
                empty = item.start_mark.index == item.end_mark.index and item.anchor is None
                below = item.start_mark.line > key.start_mark.line  # the mark of no value is the next token
                value = Scalar(where, "", None) if empty and below else self.value(item)
                own[key.value] = KeyedValue(where, value)
        return {**{k: v for k, v in merged.items() if k not in own}, **own}

    def _merge(self, node: Node) -> dict[str, KeyedValue]:
        nodes = node.value if isinstance(node, SequenceNode) else [node]
        entries: dict[str, KeyedValue] = {}
        for other in nodes:
            if isinstance(other, MappingNode):
                entries |= {k: v for k, v in self._entries(other).items() if k not in entries}
            else:
                self._errors.add(self._where(other), "expected a mapping after `<<`", "write `<<: *name`")
        return entries

    def _where(self, node: Node) -> Location:
        return Location(self._file, node.start_mark.line + 1, node.start_mark.column + 1)

    def _where_text(self, node: ScalarNode) -> Location:
        """Return the place of a scalar; positions in its text are known if it is written in one piece."""
        start, end = node.start_mark, node.end_mark
        quotes = 1 if node.style in ("'", '"') else 0
        in_one_piece = start.line == end.line and end.column - start.column == len(node.value) + 2 * quotes
        text_at = quotes if in_one_piece and "${" not in node.value else None
        return Location(self._file, start.line + 1, start.column + 1, text_at=text_at)


def expand_tree(value: Value, environment: Mapping[str, str], errors: ErrorCollector) -> Value:
    """Replace the variables in the texts of a tree."""
    if isinstance(value, Fields):
        entries = {k: KeyedValue(value.key_at(k), expand_tree(value[k], environment, errors)) for k in value}
        return Fields(value.where, entries)
    if isinstance(value, Items):
        return Items(value.where, tuple(expand_tree(item, environment, errors) for item in value.items))
    if not isinstance(value.value, str):
        return value
    text = errors.attempt(_expand, value.text, value.where, environment)
    if text is None:
        errors.ignore(value.where)
    return value if text is None else Scalar(value.where, text, text)


def _expand(text: str, where: str, environment: Mapping[str, str]) -> str:
    with locate_errors(where):
        return expand(text, environment)


def _plain_value(text: str, kind: str) -> PlainScalar:
    if kind in ("int", "float") and len(text) > _MAX_DIGITS:
        return text
    try:
        if kind == "int":
            return _parse_int(text.replace("_", ""))
        if kind == "float":
            return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan").lower())
    except ValueError:
        return text
    if kind == "bool":
        return text.lower() == "true"
    return None if kind == "null" else text


def _parse_int(text: str) -> int:
    return int(text, 0) if text.lstrip("+-")[:2].lower() in ("0x", "0o", "0b") else int(text)


def _syntax(error: Any, line: str) -> Problem:
    """Return the problem that ruamel.yaml reports, with the usual fix as its hint."""
    what = " ".join(part for part in (error.problem, error.context and f"({error.context})") if part)
    if "\\t" in what:
        return Problem("", "expected spaces, got a tab", "indent with spaces")
    if "${" in line and "flow" in what:
        return Problem("", what, 'inside { } and [ ] put a variable in quotes: "${NAME}"')
    if "undefined alias" in what or "cannot start any token" in what:
        return Problem("", what, f"{_QUOTE}: this character is an indicator in YAML")
    if "not allowed here" in what:
        return Problem("", what, f"indent keys of one mapping alike; if `: ` is part of a text, {_QUOTE}")
    if "stream end" in what or "end of stream" in what:
        return Problem("", what, "a bracket or quote of an earlier line is not closed")
    return Problem("", what, f"check brackets, commas and indentation; if it is a text, {_QUOTE}")
