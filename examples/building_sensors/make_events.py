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
HOT, SILENT = 30, 30
"""The seconds for which a room must be hot, and those without a reading."""
LEARN = 30
"""Readings before the first one is judged."""

Reading = tuple[float, str, float]


def readings(seed: int = 5) -> list[Reading]:
    """(second, room, celsius) every five seconds; room 203 gets hot, 102 is silent, sensors have spikes."""
    chance = random.Random(seed)
    made = []
    for second in range(0, MINUTES * 60, EVERY):
        for room in ROOMS:
            if room == "102" and 390 <= second < 450:
                continue
            celsius = 21 + chance.gauss(0, 0.3)
            if room == "203" and 240 <= second < 360:
                celsius += 12
            if chance.random() < 0.02:
                celsius += 15
            made.append((second + round(chance.random(), 2), room, round(celsius, 2)))
    return sorted(made, key=lambda reading: reading[0] + chance.choice([0, 0, 0, 6]))


def anomalies(value: list[Reading]) -> list[dict[str, Any]]:
    """Return a row for each reading of a hot room, each spike, and each time that a sensor is silent."""
    rows = []
    for room in ROOMS:
        own = sorted((second, celsius) for second, name, celsius in value if name == room)
        hot_since: float | None = None
        residuals: list[float] = []
        for number, (second, celsius) in enumerate(own):
            smooth = statistics.median(reading for _, reading in own[max(0, number - 4) : number + 1])
            at = {"room": room, "at": instant(second)}
            hot_since = None if smooth <= 30 else second if hot_since is None else hot_since
            if hot_since is not None and second - hot_since >= HOT:
                rows.append({**at, "anomaly": "hot", "celsius": round(smooth, 3)})
            if number >= LEARN and celsius - smooth > spike_limit(residuals[-60:]):
                rows.append({**at, "anomaly": "spike", "celsius": celsius})
            residuals.append(celsius - smooth)
            if number + 1 == len(own) or own[number + 1][0] - second > SILENT:
                rows.append({**at, "anomaly": "silent", "celsius": celsius})
    return rows


def spike_limit(residuals: list[float]) -> float:
    """Return the median and eight median absolute deviations of the last residuals."""
    middle = statistics.median(residuals)
    return middle + 8 * 1.4826 * statistics.median(abs(each - middle) for each in residuals)


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
