"""Masks the secrets of a pipeline file, for readers who may not change the job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, SecretStr
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from headrace.connectors import registry
from headrace.errors import DocumentError
from headrace.statements.options import option_values
from headrace.yaml.parsing import compose

MASK = "***"
_NAME = r"(?<![\w.-])[\w.-]*?(?:password|passwd|secret|token|credentials?|(?:api|access|private)[._-]?key)"
_NAMED = re.compile(_NAME, re.IGNORECASE)
"""Names of settings that are passed on to a client, and of options of user code."""
_COLUMNS = {"schema", "columns", "select", "with_columns", "aggregate", "define", "measures"}
"""Keys whose mappings have names of columns."""
_ENTRIES = 2
"""The depth of keys below the names of sources, steps and sinks, which are names of users."""
_VARIABLE = re.compile(r"((?<!\$)\$\{\w+\})")
_PROPERTIES = re.compile(r"([&!]\S*\s+)*")
_QUOTED = r"'[^'\n]*'|\\?\"[^\"\n]*\""
_IN_URL = re.compile(r"(://[^:/\s]*:)(?!\$\{\w+\}@)[^/\s]+@")
_IN_QUERY = re.compile(rf"([?&]{_NAME}=)(?!\$\{{\w+\}})[^\s&'\"]+", re.IGNORECASE)
_IN_SETTING = re.compile(
    rf"(passw(?:or)?d\s*=\s*)(?!\$\{{\w+\}}|'\$\{{\w+\}}')({_QUOTED}|[^\s&'\"]+)", re.IGNORECASE
)
_IN_PYTHON = re.compile(
    rf"({_NAME}[\"']?\s*(?::\s*\w+\s*)?[:=]\s*\(?\s*)[rbfu]*"
    rf"(\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')",
    re.IGNORECASE | re.DOTALL,
)
_IN_COMMENT = re.compile(
    rf"({_NAME}[\"']?\s*[:=]\s*)(?![\"']?\$\{{\w+\}})({_QUOTED}|[^\s,}}]+)", re.IGNORECASE
)
_SQL_COMMENT = re.compile(r"--.*|/\*.*?\*/", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"(?:^\ufeff?|(?<=\s))#.*", re.MULTILINE)


def mask_document(text: str, file: str) -> str:
    r"""Mask the secrets of a pipeline file: options and settings, and passwords in URLs and comments.

    Variables stay visible, but not their defaults. Every line keeps its number, and a document stays valid.

    >>> mask_document("sinks: {out: {webhook: {url: 'https://ada:x1@host', token: x2}}}", "p.yaml")
    'sinks: {out: {webhook: {url: \'https://ada:***@host\', token: "***"}}}'
    >>> mask_document("sources: {tx: {redis: {password: '${REDIS_PASSWORD}'}}}", "p.yaml")
    "sources: {tx: {redis: {password: '${REDIS_PASSWORD}'}}}"
    """
    if file.endswith(".sql"):
        masked, comments = mask_options(text), _SQL_COMMENT
    else:
        masked = _IN_PYTHON.sub(rf'\1"{MASK}"', text) if file.endswith(".py") else _mask_values(text)
        comments = _COMMENT
    masked = comments.sub(lambda comment: _IN_COMMENT.sub(rf"\g<1>{MASK}", comment[0]), masked)
    masked = _IN_URL.sub(rf"\g<1>{MASK}@", masked)
    return _IN_SETTING.sub(rf"\g<1>{MASK}", _IN_QUERY.sub(rf"\g<1>{MASK}", masked))


def mask_options(text: str) -> str:
    """Mask the secrets among the options of the statements of a script.

    >>> mask_options("CREATE SINK s WITH (connector = 'redis', password = 'x1', key = 'a')")
    "CREATE SINK s WITH (connector = 'redis', password = '***', key = 'a')"
    """
    places = option_values(text)
    if places is None:
        return _IN_COMMENT.sub(rf"\1'{MASK}'", text)
    for name, start, end in reversed(places):
        if any(_is_secret(part) for part in name.split(".")):
            text = text[:start] + _mask_literal(text[start:end]) + text[end:]
    return text


def _mask_literal(written: str) -> str:
    """Return an option's value in quotes without its secret parts; variables and line breaks stay."""
    parts = _VARIABLE.split(written.strip("'\"`"))
    if not any(parts[::2]):
        return written
    shown = "".join(part if number % 2 else MASK * bool(part) for number, part in enumerate(parts))
    return f"'{shown}'" + "\n" * written.count("\n")


@cache
def secret_options() -> frozenset[str]:
    """Return the names of the options of connectors that are secrets, or mappings to secrets.

    >>> sorted(secret_options())
    ['headers', 'key_password', 'password', 'storage', 'token']
    """
    return frozenset(name for kind in registry.kinds() for name in _secret_fields(registry.connector(kind)))


def _secret_fields(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        types = set(_types_in(field.annotation))
        if SecretStr in types:
            yield field.alias or name
        for inner in types:
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from _secret_fields(inner)


def _types_in(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inner in get_args(annotation):
        yield from _types_in(inner)


def _mask_values(text: str) -> str:
    """Replace the values of secret keys; a text that is not YAML is masked like a comment."""
    try:
        nodes = compose(text, file="")
    except DocumentError:
        return _IN_COMMENT.sub(rf'\1"{MASK}"', text)
    scalars = {node.start_mark.index: node for root in nodes for node in _secrets_in(root, set())}
    for start, node in sorted(scalars.items(), reverse=True):
        end = node.end_mark.index
        text = text[:start] + _mask_scalar(text[start:end], node.value) + text[end:]
    return text


def _secrets_in(
    node: Node, seen: set[tuple[int, int, bool]], depth: int = 0, *, secret: bool = False
) -> Iterator[ScalarNode]:
    """Yield the scalars below secret keys; `seen` ends the search in a document that contains itself."""
    place = (id(node), min(depth, _ENTRIES), secret)
    if place in seen:
        return
    seen.add(place)
    if isinstance(node, ScalarNode):
        yield from [node] if secret else []
    elif isinstance(node, SequenceNode):
        for item in node.value:
            yield from _secrets_in(item, seen, depth + 1, secret=secret)
    elif isinstance(node, MappingNode):
        for key, item in node.value:
            name = str(key.value) if depth >= _ENTRIES else ""
            if secret or name not in _COLUMNS or not isinstance(item, MappingNode):
                yield from _secrets_in(item, seen, depth + 1, secret=secret or _is_secret(name))


def _is_secret(name: str) -> bool:
    return name in secret_options() or _NAMED.fullmatch(name) is not None


def _mask_scalar(written: str, value: str) -> str:
    """Return a scalar in quotes without its secret parts; anchor, tag and line breaks stay."""
    parts = _VARIABLE.split(value)
    if not any(parts[::2]):
        return written
    properties = _PROPERTIES.match(written)
    shown = "".join(part if number % 2 else MASK * bool(part) for number, part in enumerate(parts))
    breaks = "\n" * written.count("\n")
    return f'{properties[0] if properties else ""}"{shown}"{breaks}'
