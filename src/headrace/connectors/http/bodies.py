"""Divides the body of a request or a response into records, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from headrace.formats import Format

_SPACE = " \t\r\n"


class BodyError(ValueError):
    """The body cannot be divided into records; the text is the reason, for the client."""


def body_encoding(chosen: Format | None) -> str:
    """Return how a body is divided: `json` if no format is set, `raw` if it is one binary record."""
    if chosen is None:
        return "json"
    return "raw" if chosen.is_binary else chosen.name


def split_body(body: bytes, content_type: str, encoding: str) -> list[bytes]:
    """Return the records of a body.

    >>> split_body(b'[{"n": 1}, {"n": 2.50}]', "application/json", "json")
    [b'{"n": 1}', b'{"n": 2.50}']

    Raises:
        BodyError: it is not UTF-8, or not the JSON that is expected.
    """
    if encoding == "raw":
        return [body]
    if encoding != "json":
        return [line.removesuffix(b"\r") for line in body.split(b"\n") if line.removesuffix(b"\r")]
    text = _decode(body)
    if "ndjson" in content_type or "jsonl" in content_type:
        lines = [line for line in text.split("\n") if line.strip(_SPACE)]
        return [_object(line, f"line {number}") for number, line in enumerate(lines, 1)]
    start = _skip(text, 0)
    if text.startswith("[", start):
        return list(_elements(text, start))
    return [_object(text, "the body")]


def find_items(body: bytes, path: str) -> bytes:
    """Return the array at a path of a response, `data.items`, as JSON.

    Raises:
        BodyError: there is none.
    """
    value = _parse(_decode(body), 0)[0]
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            raise BodyError(f"the answer has no field `{path}`")
        value = value[part]
    return json.dumps(value).encode()


def _elements(text: str, start: int) -> Iterator[bytes]:
    """Yield the objects of an array."""
    index, number = _skip(text, start + 1), 0
    if text.startswith("]", index):
        index += 1
    else:
        while True:
            number += 1
            if not text.startswith("{", index):
                raise BodyError(f"element {number}: expected a JSON object")
            end = _parse(text, index)[1]
            yield text[index:end].encode()
            index = _skip(text, end)
            separator, index = text[index : index + 1], _skip(text, index + 1)
            if separator == "]":
                break
            if separator != ",":
                raise BodyError(f"element {number}: expected `,` or `]` after it")
    if _skip(text, index) < len(text):
        raise BodyError("there is text after the array")


def _object(text: str, where: str) -> bytes:
    start = _skip(text, 0)
    if not text.startswith("{", start):
        raise BodyError(f"{where}: expected a JSON object or an array of objects")
    end = _parse(text, start)[1]
    if _skip(text, end) < len(text):
        raise BodyError(f"{where}: there is text after the object")
    return text[start:end].encode()


def _parse(text: str, start: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise BodyError(f"not valid JSON: {error}") from None
    except ValueError as error:  # Python limits the digits of a number
        raise BodyError(f"a number is too long: {error}") from None
    except RecursionError:
        raise BodyError("the JSON is nested too deeply") from None


def _decode(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise BodyError(f"not valid UTF-8: byte {error.start}") from None


def _skip(text: str, index: int) -> int:
    """Return the index of the next character that is not white space."""
    while index < len(text) and text[index] in _SPACE:
        index += 1
    return index


def _refuse_constant(name: str) -> Any:
    raise BodyError(f"not valid JSON: {name}")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
