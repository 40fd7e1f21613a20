"""Generate the files of the example: `python -m examples.page_views.make_events`.

The expected rows are computed here in plain Python, so that they check Headrace rather than repeat it.
"""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

from examples.writing import instant, json_lines, write_all

VISITORS = ("Aino", "Eero", "Ilona", "Otso")
PAGES = ("/", "/basket", "/pay")
TIMEOUT = 30

View = tuple[float, str, str, int]


def views(seed: int = 7, minutes: int = 15) -> list[View]:
    """(second, visitor, page, status): one view in five fails, and most of those are tried again."""
    chance = random.Random(seed)
    made: list[View] = []
    for _ in range(minutes * 8):
        second, visitor, page = chance.uniform(0, minutes * 60), chance.choice(VISITORS), chance.choice(PAGES)
        status = chance.choice([200, 200, 200, 304, 503])
        made.append((round(second, 1), visitor, page, status))
        while status == 503 and chance.random() < 0.7:
            second, status = second + chance.uniform(2, 40), chance.choice([200, 503])
            made.append((round(second, 1), visitor, page, status))
    return sorted(made, key=lambda view: (view[0] + chance.choice([0, 0, 0, 4]), view))


def outcomes(own: list[View | None]) -> list[dict[str, Any]]:
    """Find the retry of each failed view.

    The next view of the visitor and page within half a minute, or none.
    """
    actual = []
    for view, after in pairwise(own):
        if view is not None and view[3] >= 500:
            row: dict[str, Any] = {"visitor": view[1], "page": view[2], "failed_at": instant(view[0])}
            again = after is not None and after[0] - view[0] < TIMEOUT
            actual.append(row | {"helped": after[3] < 400} if again and after else row)
    return actual


def files() -> dict[str, str]:
    """Return the files by name."""
    value = views()
    rows = [
        {"visitor": visitor, "page": page, "status": status, "ts": instant(second)}
        for second, visitor, page, status in value
    ]
    actual = []
    for visitor in VISITORS:
        for page in PAGES:
            own = sorted(view for view in value if view[1:3] == (visitor, page))
            actual += outcomes([*own, None])
    return {"events.jsonl": json_lines(rows), "expected.jsonl": json_lines(actual)}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
