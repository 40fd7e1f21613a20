"""Generate the files of the example: `python -m examples.ip_traffic.make_events`."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from examples.writing import instant, json_lines, write_all

HOSTS = ("10.0.0.4", "10.0.0.7", "10.0.1.20", "192.168.1.9")
LENGTHS = (40, 60, 512, 513, 576, 1200, 1500)


def packets(seed: int = 3, number: int = 200) -> list[dict[str, Any]]:
    """Packets between four hosts, ten a second; their lengths are on both sides of 512, and on it."""
    chance = random.Random(seed)
    return [
        {
            "sourceIP": chance.choice(HOSTS),
            "destinationIP": f"203.0.113.{chance.randrange(1, 255)}",
            "length": chance.choice(LENGTHS),
            "time": instant(index / 10),
        }
        for index in range(number)
    ]


def files() -> dict[str, str]:
    """Return the files by name."""
    made = packets()
    large = [{"sourceIP": p["sourceIP"], "time": p["time"]} for p in made if p["length"] > 512]
    return {"events.jsonl": json_lines(made), "expected.jsonl": json_lines(large)}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
