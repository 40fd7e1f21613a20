"""Generate the files of the example: `python -m examples.base_stations.make_events`.

The expected rows are computed here in plain Python, from the meaning of the steps, so that they check
Headrace rather than repeat it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from examples.writing import instant, json_lines, write_all

STATIONS = ("Kallio", "Pasila", "Vuosaari")
DATAPOINTS = (("temperature", "T-HIGH", 40.0, 2.0, 48.0), ("load", "L-HIGH", 55.0, 6.0, 80.0))
"""Name, alarm, mean, standard deviation and threshold of each measuring point."""
HOURS = 3
WITHIN = 10 * 60
LEARN = 60


@dataclass(frozen=True)
class Reading:
    """A measurement; `second` is its time."""

    second: float
    station_id: str
    datapoint_id: str
    alarm_id: str
    value: float
    value_threshold: float

    @property
    def point(self) -> tuple[str, str]:
        """The measuring point."""
        return self.station_id, self.datapoint_id

    def row(self) -> dict[str, Any]:
        """Return the columns."""
        columns = asdict(self)
        return {"event_time": instant(columns.pop("second")), **columns}


def readings(seed: int = 11) -> list[Reading]:
    """Make a value a minute for each point, in order of arrival; fans fail, some loads are far too high."""
    chance = random.Random(seed)
    made = []
    for station in STATIONS:
        failures = [chance.uniform(0, HOURS * 3600 - 600) for _ in range(2)]
        for name, alarm, mean, deviation, threshold in DATAPOINTS:
            for minute in range(HOURS * 60):
                second = minute * 60 + round(chance.uniform(0, 50), 1)
                value = chance.gauss(mean, deviation)
                if name == "temperature" and any(start <= second < start + 480 for start in failures):
                    value += 2.5 * (1 + min(second - start for start in failures if second >= start) // 60)
                if name == "load" and chance.random() < 0.025:
                    value += 15 * deviation
                made.append(Reading(second, station, name, alarm, round(value, 1), threshold))
    return sorted(made, key=lambda reading: reading.second + chance.choice([0, 0, 0, 8]))


def rising(alarms: list[Reading]) -> Iterator[dict[str, Any]]:
    """Find three rising alarms of a station within ten minutes; the search resumes after the last of them."""
    start = 0
    while start < len(alarms):
        three = [alarms[start]]
        for alarm in alarms[start + 1 :]:
            if len(three) < 3 and alarm.value > three[-1].value:
                three.append(alarm)
        if len(three) == 3 and three[2].second - three[0].second < WITHIN:
            levels = [alarm.value for alarm in three]
            yield {"station_id": three[0].station_id, "since": instant(three[0].second), "levels": levels}
            start = alarms.index(three[2])
        start += 1


def atypical(values: list[Reading]) -> Iterator[dict[str, Any]]:
    """Find the loads of a station that are far above the 90th percentile of those before them."""
    for number, reading in enumerate(values[LEARN:], LEARN):
        before = sorted(earlier.value for earlier in values[:number])
        median, usual = before[number // 2], before[int(0.9 * number)]
        if reading.value > usual + 3 * (usual - median):
            columns = {"station_id": reading.station_id, "datapoint_id": reading.datapoint_id}
            yield {**columns, "at": instant(reading.second), "value": reading.value}


def hourly(values: list[Reading]) -> Iterator[dict[str, Any]]:
    """Summarise the values of a point by hour."""
    for hour, group in groupby(values, lambda reading: int(reading.second // 3600)):
        rows = list(group)
        yield {
            "station_id": rows[0].station_id,
            "datapoint_id": rows[0].datapoint_id,
            "window": {"start": instant(hour * 3600), "end": instant((hour + 1) * 3600)},
            "readings": len(rows),
            "alarms": sum(row.value > row.value_threshold for row in rows),
            "mean": round(fmean(row.value for row in rows), 3),
            "highest": max(row.value for row in rows),
        }


def results(made: list[Reading]) -> Iterator[dict[str, Any]]:
    """Yield the rows of all four sinks."""
    ordered = sorted(made, key=lambda reading: reading.second)
    alarms = [reading for reading in ordered if reading.value > reading.value_threshold]
    yield from (alarm.row() for alarm in alarms)
    for station in STATIONS:
        yield from rising([alarm for alarm in alarms if alarm.station_id == station])
    for point in sorted({reading.point for reading in ordered}):
        own = [reading for reading in ordered if reading.point == point]
        yield from atypical(own) if point[1] == "load" else ()
        yield from hourly(own)


def files() -> dict[str, str]:
    """Return the files by name."""
    made = readings()
    events = json_lines(reading.row() for reading in made)
    return {"events.jsonl": events, "expected.jsonl": json_lines(results(made))}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
