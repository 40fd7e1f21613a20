"""Read values without a model: sections of a document, tables of rules, transcripts."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.errors import did_you_mean
from headrace.yaml.errors import ErrorCollector, raise_problem
from headrace.yaml.positions import Fields, Scalar, Value


def read_text(value: Value, *, expected: str = "text") -> str:
    """Return a text that is not empty; a number or `true` is accepted as text."""
    if not isinstance(value, Scalar) or value.value is None or not value.text.strip():
        raise_problem(value.where, f"expected {expected}, got {value}")
    return value.text


def read_word(value: Value, words: Iterable[str]) -> str:
    """Return one of the given words."""
    known = tuple(words)
    word = read_text(value, expected=f"one of {', '.join(known)}")
    if word not in known:
        raise_problem(
            value.where, f"expected one of {', '.join(known)}, got `{word}`", did_you_mean(word, known)
        )
    return word


def read_flag(value: Value) -> bool:
    """Return `true` or `false`."""
    if not isinstance(value, Scalar) or not isinstance(value.value, bool):
        raise_problem(value.where, f"expected true or false, got {value}")
    return value.value


def read_mapping(value: Value, *, expected: str, hint: str = "", empty: bool = False) -> Fields:
    """Return a mapping; with `empty`, null is accepted as an empty mapping."""
    if empty and isinstance(value, Scalar) and value.value is None:
        return Fields(value.where)
    if not isinstance(value, Fields):
        raise_problem(value.where, f"expected {expected}, got {value}", hint)
    return value


def read_one_entry(value: Value, *, expected: str, hint: str) -> tuple[str, Value]:
    """Return key and value of a mapping with one entry; a bare word is a key without a value."""
    if isinstance(value, Scalar) and value.value is not None:
        return value.text, Scalar(value.where, "", None)
    if not isinstance(value, Fields) or len(value) != 1:
        several = isinstance(value, Fields) and len(value) > 1
        actual = f"the keys {', '.join(value)}" if several and isinstance(value, Fields) else value
        raise_problem(value.where, f"expected {expected}, got {actual}", hint)
    [key] = value
    return key, value[key]


def reject_unknown(mapping: Fields, known: Iterable[str], what: str, errors: ErrorCollector) -> None:
    """Add a problem for every key that is not known."""
    words = tuple(known)
    for key in mapping:
        if key not in words:
            errors.add(mapping.key_at(key), f"unknown key `{key}` in {what}", did_you_mean(key, words))
