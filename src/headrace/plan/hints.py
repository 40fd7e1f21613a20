"""Hints in the language of the reader: the spellings of Python as those of documents."""

from __future__ import annotations

import re
from functools import cache

from headrace.steps.kinds import step_models

_TRIGGERS = (
    "after_count", "after_watermark", "all_of", "any_of", "every", "in_sequence", "or_finally", "repeatedly"
)  # fmt: skip
_CALL = re.compile(r"\b(?P<name>[a-z_]+)\((?P<value>[^()]*)\)")
_CHAIN = re.compile(r"\b[a-z_]+\([^()]*\)(?:\.[a-z_]+\([^()]*\))*")
_WORD = re.compile(r'"(\w+)"')
_OPTION = re.compile(r'\b(?P<name>[a-z_]+)=(?P<value>"[^"]*"|True|False|\d+|\{[^}]*\})')
_OPEN_OPTION = re.compile(r"\b([a-z_]+)=(?=[\s,;)]|$)")


@cache
def _keys() -> frozenset[str]:
    return frozenset([*(model.key for model in step_models()), "aggregate", "key_by", "window", "emit"])


def in_document(hint: str) -> str:
    """Return a hint with the keys of a document in place of verbs and options of Python.

    Functions of SQL, such as `max(amount)`, are the same in both.

    >>> in_document('use mode="update" or key_by(card).aggregate(...), not max(n)')
    'use `mode: update` or `key_by: card` and `aggregate`, not max(n)'
    >>> in_document("use late=after_count(1), or set allow_loss=True")
    'use `late: {after_count: 1}`, or set `allow_loss: true`'
    """
    hint = hint.replace("write(...)", "a sink")
    hint = re.sub(rf"\b(?:{'|'.join(_TRIGGERS)})\([^()]*\)", _trigger, hint)
    hint = _CHAIN.sub(_chain, hint)
    return _WORD.sub(r"`\1`", _OPEN_OPTION.sub(r"`\1`", _OPTION.sub(_option, hint)))


def _trigger(call: re.Match[str]) -> str:
    name, _, value = call[0].removesuffix(")").partition("(")
    return name if value in ("", "...") else f"{{{name}: {value}}}"


def _chain(chain: re.Match[str]) -> str:
    calls = list(_CALL.finditer(chain[0]))
    if any(call["name"] not in _keys() for call in calls):
        return chain[0]
    return " and ".join(_entry(call["name"], call["value"]) for call in calls)


def _entry(name: str, value: str) -> str:
    if re.fullmatch(r'[a-z_]+|"[^"]*"', value):
        return f"`{name}: {value.strip(chr(34))}`"
    options = re.findall(r"([a-z_]+)=", value)
    return f"`{name}`" + (f" with `{'`, `'.join(options)}`" if options else "")


def _option(option: re.Match[str]) -> str:
    value = option["value"].strip('"')
    return f"`{option['name']}: {value.lower() if value in ('True', 'False') else value}`"
