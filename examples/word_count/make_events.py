"""Generate the files of the example: `python -m examples.word_count.make_events`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from examples.writing import json_lines, write_all

LINES = """\
The wheel turns because the stream runs,
and the stream runs because the channel brings it.
The channel that brings a stream to the wheel is a headrace.
"""


def files() -> dict[str, str]:
    """Return the files by name."""
    words = "".join(letter if letter.isalpha() else " " for letter in LINES.lower()).split()
    counts = [{"word": word, "n": n} for word, n in sorted(Counter(words).items())]
    return {"events.txt": LINES, "expected.jsonl": json_lines(counts)}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
