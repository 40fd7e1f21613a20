"""Generate the files of the example: `python -m examples.driver_hours.make_events`.

The expected rows are computed here in plain Python, from the rule, so that they check Headrace rather than
repeat it.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from examples.writing import instant, json_lines, write_all

DRIVERS = ("FIN-100", "FIN-200", "FIN-300", "FIN-400")
ALLOWED, BREAK = 270, 45

Activity = tuple[int, str, str, int]


def activities(seed: int = 3, hours: int = 24) -> list[Activity]:
    """Yield (minute of the end, licence, activity, minutes): drivers alternate between driving and rest.

    Some reports are late.
    """
    chance = random.Random(seed)
    made: list[Activity] = []
    for driver in DRIVERS:
        minute = chance.randint(0, 60)
        while minute < hours * 60:
            driving, rest = chance.randint(20, 110), chance.choice([10, 15, 20, 30, 30, 45, 50, 60])
            made.append((minute + driving, driver, "driving", driving))
            made.append((minute + driving + rest, driver, "rest", rest))
            minute += driving + rest
    return sorted(made, key=lambda item: (item[0] + chance.choice([0, 0, 0, 40]), item[1]))


def too_long(own: list[Activity]) -> list[dict[str, Any]]:
    """Sum the driving time up to each break; after a violation the sum restarts."""
    actual, total, legs = [], 0, 0
    for end, licence, activity, minutes in own:
        if activity == "driving":
            total, legs = total + minutes, legs + 1
            if total > ALLOWED:
                at = instant(end * 60)
                actual.append({"licence": licence, "legs": legs, "minutes": total, "at": at})
                total, legs = 0, 0
        elif minutes >= BREAK:
            total, legs = 0, 0
    return actual


def files() -> dict[str, str]:
    """Return the files by name."""
    value = activities()
    rows = [
        {"licence": licence, "activity": activity, "minutes": minutes, "ts": instant(end * 60)}
        for end, licence, activity, minutes in value
    ]
    actual = [
        row for driver in DRIVERS for row in too_long(sorted(item for item in value if item[1] == driver))
    ]
    return {"events.jsonl": json_lines(rows), "expected.jsonl": json_lines(actual)}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
