"""A type checker accepts correct programs and rejects those that fail for a missing verb or side output."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(__file__).with_name("programs.txt")


def test_mypy_rejects_exactly_the_lines_that_are_marked(tmp_path: Path) -> None:
    program = tmp_path / "programs.py"
    text = PROGRAMS.read_text()
    program.write_text(text)
    cache = ROOT / ".mypy_cache" / "programs"
    options = ("--config-file", ROOT / "pyproject.toml", "--cache-dir", cache, "--no-pretty")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, program],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.stderr == ""
    actual: dict[int, list[str]] = defaultdict(list)
    for file, line, message in re.findall(r"^(\S+):(\d+): error: (.*)$", done.stdout, re.MULTILINE):
        assert Path(file).name == program.name, done.stdout
        actual[int(line)].append(message)
    expected = {
        number: line.partition("# error: ")[2]
        for number, line in enumerate(text.splitlines(), 1)
        if "# error: " in line and number > 1
    }
    wrong = [
        f"{number}: {actual.get(number, 'accepted')}"
        for number in sorted({*actual, *expected})
        if number not in expected or not any(expected[number] in message for message in actual[number])
    ]
    assert wrong == []
    assert len(expected) > 40
