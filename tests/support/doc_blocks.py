"""The code blocks of a page, run in order as a reader would.

Each page in a directory and a namespace of its own.

python                    run; what it prints is kept
python title="x.py"       written to the file, for the command line to take
yaml title="x.yaml"       written to the file, loaded and checked; without a title loaded and checked only
any  title="x.y"          written to the file
text title="Output"       what has been printed since the last such block must be exactly this
console                   lines that begin with `headrace` are run, in this process
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
_FENCE = re.compile(r'^( *)```(\w+)(?: title="([^"]+)")?[^\n]*\n(.*?)^\1```$', re.MULTILINE | re.DOTALL)
OUTPUT = "Output"


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its title, its text and the line it begins on."""

    language: str
    title: str
    text: str
    line: int


def blocks_of(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    content = page.read_text(encoding="utf-8")
    for actual in _FENCE.finditer(content):
        line = content.count("\n", 0, actual.start()) + 1
        yield Block(actual[2], actual[3] or "", textwrap.dedent(actual[4]), line)


class Reader:
    """Runs the blocks of a page in a working directory."""

    def __init__(self, page: Path) -> None:
        self.page = page
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._printed = io.StringIO()

    def read(self) -> None:
        """Take every block in turn."""
        for block in blocks_of(self.page):
            self._take(block)

    def _take(self, block: Block) -> None:
        if block.title == OUTPUT:
            printed = self._printed.getvalue().strip()
            assert printed == block.text.strip(), f"{self.page}:{block.line} printed:\n{printed}"
        elif "." in block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            self._execute(block)
        elif block.language == "console":
            self._type(block)
        if block.language == "yaml":
            self._load(block)

    def _execute(self, block: Block) -> None:
        self._printed = io.StringIO()
        code = compile("\n" * block.line + block.text, str(self.page), "exec")
        with contextlib.redirect_stdout(self._printed):
            exec(code, self._names)

    def _load(self, block: Block) -> None:
        from headrace import Pipeline

        if "script:" not in block.text:  # a transcript is run by `headrace test`
            Pipeline.from_yaml_text(block.text, file=f"{self.page}:{block.line}", name=self.page.stem).check()

    def _type(self, block: Block) -> None:
        from headrace.cli.app import app

        self._printed = io.StringIO()
        for line in block.text.splitlines():
            if line.startswith("headrace "):
                with contextlib.redirect_stdout(self._printed):
                    status = app(args=shlex.split(line, comments=True)[1:], standalone_mode=False)
                assert not status, f"{self.page}:{block.line}: {line} ended with {status}"
