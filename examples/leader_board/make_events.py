"""Generate the files of the example: `python -m examples.leader_board.make_events`.

The expected rows are computed here by sorting the last score of every player.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from examples.writing import instant, json_lines, write_all

GAMES = ("chess", "go", "darts")
PLAYERS = ("ann", "bob", "cid", "dan", "eve", "fay")
FIRST = 3


def events(seed: int = 15, rows: int = 120) -> list[dict[str, Any]]:
    """Scores, some of which replace an earlier one, and withdrawals, up to 25 seconds out of order."""
    chance = random.Random(seed)
    made = [
        {
            "game": chance.choice(GAMES),
            "player": chance.choice(PLAYERS),
            "score": None if chance.random() < 0.1 else chance.randrange(10, 100),
            "second": number * 5,
        }
        for number in range(rows)
    ]
    return sorted(made, key=lambda event: event["second"] + chance.choice([0, 0, 0, 25]))


def leaders(actual: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first rows of each game by score, then by time."""
    last = {(event["game"], event["player"]): event for event in sorted(actual, key=lambda e: e["second"])}
    rows = []
    for game in GAMES:
        own = [e for e in last.values() if e["game"] == game and e["score"] is not None]
        ranked = sorted(own, key=lambda event: (-event["score"], event["second"]))[:FIRST]
        rows += [
            {"game": game, "rank": rank, "player": event["player"], "score": event["score"]}
            for rank, event in enumerate(ranked, 1)
        ]
    return rows


def files() -> dict[str, str]:
    """Return the files by name."""
    actual = events()
    lines = [
        {**{name: value for name, value in event.items() if name != "second"}, "ts": instant(event["second"])}
        for event in actual
    ]
    return {"events.jsonl": json_lines(lines), "expected.jsonl": json_lines(leaders(actual))}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
