"""Generate the files of the example: `python -m examples.driver_hours.make_events`.

The expected rows are computed here in plain Python, minute by minute, so that they check Headrace rather than
repeat it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from examples.writing import instant, json_lines, write_all

DRIVERS = ("FIN-100", "FIN-200", "FIN-300", "FIN-400")
WINDOW, WORK, BREAK = 720, 480, 60

Trip = tuple[int, int]


def trips(seed: int = 4, hours: int = 30) -> dict[str, list[Trip]]:
    """Return the trips of each driver as (first minute, minute after the last); some rest more often."""
    chance = random.Random(seed)
    made: dict[str, list[Trip]] = {}
    for number, driver in enumerate(DRIVERS):
        made[driver], minute = [], chance.randint(0, 60)
        while minute < hours * 60:
            end = minute + chance.randint(15, 90)
            made[driver].append((minute, end))
            minute = end + chance.choice([5, 10, 20, 30, 40, 70, 20 * (1 + 6 * (number % 2))])
    return made


def violations(driver: str, own: list[Trip]) -> Iterator[dict[str, Any]]:
    """Check the minutes before each drop-off one by one."""
    busy = {minute for start, end in own for minute in range(start, end)}
    for _, end in own:
        window = [minute in busy for minute in range(end - WINDOW, end)]
        working = sum(window)
        longest = max((len(list(run)) for works, run in groupby(window) if not works), default=0)
        if working > WORK or longest < BREAK:
            minutes = {"working_minutes": working, "longest_break_minutes": longest}
            yield {"licence": driver, "at": instant(end * 60), **minutes}


def files() -> dict[str, str]:
    """Return the files by name; some reports are 40 minutes late."""
    made = trips()
    chance = random.Random(5)
    reports = [
        (minute, driver, event)
        for driver, own in made.items()
        for trip in own
        for minute, event in zip(trip, ("pick_up", "drop_off"), strict=True)
    ]
    reports.sort(key=lambda report: (report[0] + chance.choice([0, 0, 0, 40]), report[1]))
    events = [
        {"licence": driver, "event": event, "ts": instant(minute * 60)} for minute, driver, event in reports
    ]
    expected = [row for driver, own in made.items() for row in violations(driver, own)]
    return {"events.jsonl": json_lines(events), "expected.jsonl": json_lines(expected)}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
