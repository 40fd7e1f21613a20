"""Documents and scripts with words left out, repeated or replaced: every error is one of Headrace.

They are the same in every run; MUTATIONS sets their number.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.doc_blocks import DOCS, blocks_of

from headrace.dashboard.editor.documents import check_document
from headrace.errors import HeadraceError
from headrace.jobs.security.documents import check_submission
from headrace.jobs.security.policy import Policy
from headrace.jobs.submission import Submission

MUTATIONS = int(os.environ.get("MUTATIONS", "150"))
CLOSED = Policy(host="0.0.0.0")
_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_ODD = [
    "",
    "NULL",
    "()",
    "*",
    "''",
    "{}",
    "[]",
    "~",
    "!!str ",
    "&a ",
    "*a",
    "<<",
    ";",
    "--",
    "`",
    "x:y",
    "9" * 30,
]


def texts(language: str, word: str) -> list[str]:
    """Return the blocks of the documentation in a language that have a word."""
    pages = sorted(DOCS.rglob("*.md"))
    blocks = (block for page in pages for block in blocks_of(page))
    return [block.text for block in blocks if block.language == language and word in block.text]


def mutate(text: str, chance: random.Random) -> str:
    words = _WORD.findall(text)
    for _ in range(chance.choice([1, 1, 2, 4])):
        at, length = chance.randrange(len(words)), chance.randrange(8)
        part = words[at : at + length]
        words[at : at + length] = chance.choice([[], part * 2, part[::-1], [chance.choice(_ODD + words)]])
        words = words or [" "]
    return "".join(words)


def mutations(language: str, word: str) -> Iterator[str]:
    originals = texts(language, word)
    assert len(originals) > 5
    chance = random.Random(1)
    for _ in range(MUTATIONS):
        yield mutate(chance.choice(originals), chance)


def test_a_mutated_document_has_errors_of_headrace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in mutations("yaml", "sources:"):
        try:
            check_document(text, CLOSED)
            with suppress(HeadraceError):
                check_submission(Submission("p.yaml", {"p.yaml": text.encode()}), CLOSED)
        except Exception as error:
            pytest.fail(f"{error!r} of\n{text}")


def test_a_mutated_script_has_errors_of_headrace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in mutations("sql", "SELECT"):
        try:
            with suppress(HeadraceError):
                check_submission(Submission("p.sql", {"p.sql": text.encode()}), CLOSED)
        except Exception as error:
            pytest.fail(f"{error!r} of\n{text}")
