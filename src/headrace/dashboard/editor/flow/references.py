"""The entries of a document as plain data, and the references between them; the document may have errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from headrace.dashboard.editor.yaml_parts import Path
from headrace.errors import HeadraceError, OptionError
from headrace.sql import facts
from headrace.yaml.entries import STEPS

NOT_YAML = (YAMLError, ArithmeticError, LookupError, TypeError, ValueError)
"""The errors of ruamel.yaml; a scalar with a wrong tag raises those of Python."""
SECTIONS = ("sources", "steps", "sinks")
SQL = "sql"
_OTHER = {model.key: model.other_key for model in STEPS if model.other_key}


@dataclass(frozen=True)
class Reference:
    """A place in a document that names a source, a step or one of its outputs."""

    path: Path
    reader: str
    input: str
    """`from`, `union`, `with`, or `sql` for a table of a query."""
    name: str
    output: str = ""

    @property
    def ref(self) -> str:
        """The text of the reference, such as `totals.late`."""
        return f"{self.name}.{self.output}" if self.output else self.name


def entries_of(text: str) -> dict[str, tuple[str, dict[str, Any]]]:
    r"""Return the section and the content of each entry, by name; empty if the text is not YAML.

    >>> entries_of("sources: {tx: {memory: }}\nsteps: {big: 7}")
    {'tx': ('sources', {'memory': None}), 'big': ('steps', {})}
    """
    loader = YAML(typ="safe", pure=True)
    loader.allow_duplicate_keys = True
    try:
        document = loader.load(text)
    except NOT_YAML:
        return {}
    return {
        str(name): (section, entry if isinstance(entry, dict) else {})
        for section in SECTIONS
        for name, entry in _mapping(document, section).items()
    }


def parse_value(text: str) -> Any:
    """Return the value of a YAML text.

    Raises:
        OptionError: the text is not YAML.
    """
    try:
        return YAML(typ="safe", pure=True).load(text)
    except NOT_YAML as error:
        first = str(getattr(error, "problem", "") or error).partition("\n")[0]
        raise OptionError(f"the value is not YAML: {first}") from None


def _mapping(value: Any, key: str) -> Mapping[Any, Any]:
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def references_of(entries: Mapping[str, tuple[str, Mapping[str, Any]]]) -> list[Reference]:
    """Return all references in the order of the entries; a name that no entry has is included.

    >>> [each.ref for each in references_of({"big": ("steps", {"union": ["tx", "totals.late"]})})]
    ['tx', 'totals.late']
    """
    return [
        reference
        for reader, (section, entry) in entries.items()
        for reference in _references(reader, (section, reader), entry, entries)
    ]


def _references(reader: str, path: Path, entry: Mapping[str, Any], names: Any) -> Iterator[Reference]:
    if isinstance(entry.get("from"), str):
        yield _reference((*path, "from"), reader, "from", entry["from"])
    streams = entry.get("union")
    for index, name in enumerate(streams if isinstance(streams, list) else ()):
        yield _reference((*path, "union", index), reader, "union", str(name))
    for key, other in _OTHER.items():
        if isinstance(name := _mapping(entry, key).get(other), str):
            yield _reference((*path, key, other), reader, other, name)
    for table in tables_of(entry.get(SQL)):
        if table in names:
            yield Reference((*path, SQL), reader, SQL, table)


def _reference(path: Path, reader: str, key: str, text: str) -> Reference:
    name, _, output = text.strip().partition(".")
    return Reference(path, reader, key, name, output)


def other_path(entry: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the keys of the second input of a step, such as `join` and `with`; None if it has none.

    >>> other_path({"from": "tx", "join": {"on": "card"}})
    ('join', 'with')
    """
    return next(((key, other) for key, other in _OTHER.items() if key in entry), None)


def tables_of(query: Any) -> tuple[str, ...]:
    """Return the tables that a query reads; empty if it cannot be parsed."""
    try:
        return facts.read(query, where="").tables if isinstance(query, str) else ()
    except HeadraceError:
        return ()


def rename_table(query: str, old: str, new: str) -> str:
    """Rename a table in the text of a query: after FROM and JOIN, and before the dot of a column.

    >>> rename_table("select tx.card from tx join rates on tx.id = rates.tx", "tx", "payments")
    'select payments.card from payments join rates on payments.id = rates.tx'
    """
    word = re.escape(old)
    pattern = (
        rf"(?i:(?<=\bfrom\s)|(?<=\bjoin\s)|(?<=,\s))(\s*`?){word}\b(?!\s*\()|(?<![\w.'\"]){word}(?=\.\w)"
    )
    return re.sub(pattern, lambda match: f"{match[1] or ''}{new}", query)
