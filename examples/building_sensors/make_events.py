"""Generate the files of the example: `python -m examples.building_sensors.make_events`.

The expected rows are computed here in plain Python, so that they check Headrace rather than repeat it.
"""

from __future__ import annotations

import random
import statistics
from pathlib import Path
from typing import Any

from examples.writing import instant, json_lines, write_all

ROOMS = ("101", "102", "203")
EVERY = 5
MINUTES = 10

Reading = tuple[float, str, float]


def readings(seed: int = 5) -> list[Reading]:
    """(second, room, celsius) every five seconds; room 203 gets hot, and sensors have spikes now and then."""
    chance = random.Random(seed)
    made = []
    for second in range(0, MINUTES * 60, EVERY):
        for room in ROOMS:
            celsius = 21 + chance.gauss(0, 0.3)
            if room == "203" and 240 <= second < 360:
                celsius += 12
            if chance.random() < 0.01:
                celsius += 15
            made.append((second + round(chance.random(), 2), room, round(celsius, 2)))
    return sorted(made, key=lambda reading: reading[0] + chance.choice([0, 0, 0, 6]))


def quantile(values: list[float], share: float) -> float:
    """Return the quantile by linear interpolation, as SQL's `percentile` defines it."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    lower = int(place)
    upper = min(lower + 1, len(ordered) - 1)
    return ordered[lower] + (ordered[upper] - ordered[lower]) * (place - lower)


def anomalies(value: list[Reading]) -> list[dict[str, Any]]:
    """Return one row for each room and minute that is hot, or has a spike."""
    rows = []
    for room in ROOMS:
        for minute in range(MINUTES):
            values = [celsius for second, name, celsius in value if name == room and second // 60 == minute]
            middle, upper, peak = statistics.median(values), quantile(values, 0.75), max(values)
            if middle > 30 or peak > middle + 2 + 3 * (upper - middle):
                kind = "hot" if middle > 30 else "spike"
                row = {"room": room, "at": instant(60 * minute), "anomaly": kind}
                rows.append({**row, "celsius": round(middle, 3), "peak": peak})
    return rows


def files() -> dict[str, str]:
    """Return the files by name."""
    value = readings()
    events = [
        {"topic": f"building/{room}/temperature", "celsius": celsius, "ts": instant(second)}
        for second, room, celsius in value
    ]
    return {"events.jsonl": json_lines(events), "expected.jsonl": json_lines(anomalies(value))}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
