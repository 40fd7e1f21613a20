"""Draw the rows of an example: `python -m examples.plots base_stations` writes `plot.svg` in its directory.

The results are those in its directory `out`, or the expected rows if it has not run there.
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

import pandas

from examples.meters.reading import HEADER, ReadMeter

EXAMPLES = Path(__file__).parent
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 760, 300, 54, 34, 30
COLOURS = ("#2563eb", "#0d9488", "#9333ea")
MARKS = ("#dc2626", "#c2620a", "#475569")
Row = Mapping[str, Any]
Points = Sequence[tuple[float, float]]


@dataclass
class Plot:
    """Lines over the minutes of a recording, and marks of single rows, each with a name."""

    title: str
    lines: dict[str, Points] = field(default_factory=dict)
    marks: dict[str, Points] = field(default_factory=dict)

    def svg(self) -> str:
        """Return the picture."""
        points = [point for part in (self.lines, self.marks) for each in part.values() for point in each]
        last, low = max(x for x, _ in points), min(y for _, y in points)
        high = max(y for _, y in points)

        def place(x: float, y: float) -> str:
            across = LEFT + (WIDTH - LEFT - 12) * x / last
            return f"{across:.1f},{TOP + (HEIGHT - TOP - BOTTOM) * (high - y) / (high - low):.1f}"

        parts = [f'<text x="{LEFT}" y="16" class="title">{escape(self.title)}</text>']
        for y in (low, (low + high) / 2, high):
            down = place(0, y).partition(",")[2]
            parts.append(f'<text x="{LEFT - 6}" y="{down}" text-anchor="end">{y:g}</text>')
            parts.append(f'<path d="M{LEFT},{down}H{WIDTH - 12}" stroke="#cbd5e1"/>')
        for minute in range(0, int(last) + 1, max(1, int(last / 6))):
            across = place(minute, low).partition(",")[0]
            parts.append(f'<text x="{across}" y="{HEIGHT - 10}" text-anchor="middle">{minute} min</text>')
        names = [*zip(self.lines, COLOURS, strict=False), *zip(self.marks, MARKS, strict=False)]
        for number, (name, colour) in enumerate(names):
            right = WIDTH - 12 - 96 * (len(names) - 1 - number)
            parts.append(
                f'<text x="{right}" y="16" style="fill: {colour}" text-anchor="end">{escape(name)}</text>'
            )
        for each, colour in zip(self.lines.values(), COLOURS, strict=False):
            drawn = " ".join(place(*point) for point in sorted(each))
            parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}"/>')
        for each, colour in zip(self.marks.values(), MARKS, strict=False):
            for point in sorted(each):
                cx, cy = place(*point).split(",")
                parts.append(
                    f'<circle cx="{cx}" cy="{cy}" r="4" fill="none" stroke="{colour}" stroke-width="2"/>'
                )
        style = "text { font: 12px sans-serif; fill: #475569 } .title { font-weight: 600 }"
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
        return "\n".join((head, f"<style>{style}</style>", *parts, "</svg>", ""))


def base_stations(events: Sequence[Row], results: Sequence[Row]) -> Plot:
    """Return the loads of the stations, with those that are atypical."""
    loads = [row for row in events if row["datapoint_id"] == "load"]
    atypical = [row for row in results if "at" in row]
    marks = {"atypical": points_of(atypical, "at", "value")}
    return Plot("Load of each station", split(loads, "station_id", "event_time", "value"), marks)


def building_sensors(events: Sequence[Row], results: Sequence[Row]) -> Plot:
    """Return the temperatures of the rooms, with their anomalies."""
    rooms = [{**row, "room": row["topic"].split("/")[1]} for row in events]
    marks = split(results, "anomaly", "at", "celsius")
    return Plot("Degrees in each room", split(rooms, "room", "ts", "celsius"), marks)


def fraud_learning(events: Sequence[Row], results: Sequence[Row]) -> Plot:
    """Return the amounts of the payments, with those that the rule and the model report."""
    rule = [row for row in results if "probability" not in row]
    model = [row for row in results if "probability" in row]
    marks = {"rule": points_of(rule, "ts", "amount"), "model": points_of(model, "ts", "amount")}
    return Plot("Amounts", {"payments": points_of(events, "ts", "amount")}, marks)


def meters(events: Sequence[Row], results: Sequence[Row]) -> Plot:
    """Return what the model reads on the photos of each meter, less its first reading."""
    reader = ReadMeter()
    reader.open()
    photos = [{**row, "photo": b64decode(row["photo"])} for row in events]
    whole = [row for row in photos if len(row["photo"]) == len(HEADER) + 4 * 64]
    numbers = reader.read(pandas.Series([row["photo"] for row in whole]))
    first: dict[str, int] = {}
    rows = []
    for row, number in zip(whole, numbers, strict=True):
        used = int(number) - first.setdefault(row["meter"], int(number))
        rows.append({"meter": row["meter"], "ts": row["ts"], "used": used})
    back = [{"at": row["at"], "used": row["after"] - first[row["meter"]]} for row in results]
    marks = {"backwards": points_of(back, "at", "used")}
    return Plot("Use of each meter, as read", split(rows, "meter", "ts", "used"), marks)


PLOTS: Mapping[str, Callable[[Sequence[Row], Sequence[Row]], Plot]] = {
    each.__name__: each for each in (base_stations, building_sensors, fraud_learning, meters)
}


def minute_of(text: str) -> float:
    """Return the minutes after nine o'clock.

    >>> minute_of("2026-03-02T09:01:30.000000Z")
    1.5
    """
    moment = datetime.fromisoformat(text)
    return (moment.hour - 9) * 60 + moment.minute + (moment.second + moment.microsecond / 1e6) / 60


def points_of(rows: Iterable[Row], time: str, value: str) -> Points:
    """Return a column of rows over time."""
    return [(minute_of(row[time]), row[value]) for row in rows]


def split(rows: Sequence[Row], key: str, time: str, value: str) -> dict[str, Points]:
    """Return a column of rows over time for each key."""
    keys = sorted({row[key] for row in rows})
    return {each: points_of((row for row in rows if row[key] == each), time, value) for each in keys}


def draw(directory: Path) -> str:
    """Return the picture of an example, from the rows in its directory."""
    out = [*(directory / "out").glob("*.json"), *(directory / "out").glob("[!._]*/*.json")]
    results = read_rows(out or [directory / "expected.jsonl"])
    return PLOTS[directory.name](read_rows([directory / "events.jsonl"]), results).svg()


def read_rows(files: Iterable[Path]) -> list[Row]:
    """Return the rows of JSON lines files."""
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def main() -> None:
    """Draw the named examples, or all."""
    for name in sys.argv[1:] or PLOTS:
        if name not in PLOTS:
            raise SystemExit(f"no plot of `{name}`. Known: {', '.join(PLOTS)}")
        file = EXAMPLES / name / "plot.svg"
        file.write_text(draw(EXAMPLES / name))
        print(file)


if __name__ == "__main__":
    main()
