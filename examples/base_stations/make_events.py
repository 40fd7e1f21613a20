"""Generate the files of the example: `python -m examples.base_stations.make_events`.

The expected rows are computed here in plain Python, from the meaning of the pattern, so that they check
Headrace rather than repeat it.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from examples.writing import instant, json_lines, write_all

WITHIN = 60
STATIONS = ("Lauttasaari", "Pasila", "Vuosaari", "Kallio")

Alarm = tuple[float, int]


def alarms(seed: int = 11, minutes: int = 12) -> list[tuple[float, str, int]]:
    """(second, station, level): about five alarms a minute in all, some up to four seconds out of order."""
    chance = random.Random(seed)
    made = [
        (round(chance.uniform(0, minutes * 60), 1), chance.choice(STATIONS), chance.randint(1, 9))
        for _ in range(minutes * 5)
    ]
    return sorted(made, key=lambda alarm: alarm[0] + chance.choice([0, 0, 0, 4]))


def rising(own: list[Alarm]) -> list[tuple[Alarm, Alarm, Alarm]]:
    """Find three rising alarms within a minute; the search continues after the last of them."""
    actual, at = [], 0
    while at < len(own):
        three = [own[at]]
        for alarm in own[at + 1 :]:
            if len(three) < 3 and alarm[1] > three[-1][1]:
                three.append(alarm)
        if len(three) == 3 and three[2][0] - three[0][0] < WITHIN:
            actual.append((three[0], three[1], three[2]))
            at = own.index(three[2])
        at += 1
    return actual


def warnings(value: list[tuple[float, str, int]]) -> list[dict[str, Any]]:
    """One row for each station and rise."""
    rows = []
    for station in STATIONS:
        own = sorted((second, level) for second, name, level in value if name == station)
        rows += [
            {"station": station, "since": instant(low[0]), "levels": [low[1], middle[1], high[1]]}
            for low, middle, high in rising(own)
        ]
    return rows


def files() -> dict[str, str]:
    """Return the files by name."""
    value = alarms()
    rows = [{"station": station, "level": level, "ts": instant(second)} for second, station, level in value]
    return {"events.jsonl": json_lines(rows), "expected.jsonl": json_lines(warnings(value))}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
