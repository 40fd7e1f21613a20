"""Score a detector by the Numenta Anomaly Benchmark: `python -m benchmarks nab DIR --detector multi_scale`.

DIR has `values.csv` or `values.csv.gz` with the columns `file, ts, value` in the order of the series, and
`windows.json` with the labelled windows of each file. All files are one stream, keyed by file and processed in
arrival order. With a column `gaussian_score`, the published scores of the Windowed Gaussian detector, the
largest difference from those of `windowed_gaussian` is printed. The scores are written as `file, ts, score`, and the normalised score of the standard profile
is printed: 0 for no detection at all, 100 for a perfect detector, with the best single threshold.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace import Pipeline, connect, detectors
from headrace.detectors import Detector

FALSE_POSITIVE = 0.11
"""The weight of a false positive in the standard profile."""
DIGITS = 12
"""The decimal places of scores, as in the published results; more would separate scores next to 1."""
PROBATION, PROBATION_ROWS = 0.15, 5000
"""The share of a file that has no verdict, of at most so many rows."""

DETECTORS: Mapping[str, Detector] = {
    "adwin": detectors.adwin(),
    "ensemble": detectors.ensemble(detectors.ewma(limit=6), detectors.mad(limit=8), combine="mean"),
    "ewma": detectors.ewma(limit=6),
    "half_space_trees": detectors.half_space_trees(),
    "mad": detectors.mad(limit=8),
    "multi_scale": detectors.multi_scale(),
    "quantile": detectors.quantile(q=0.999),
    "seasonal": detectors.seasonal(),
    "windowed_gaussian": detectors.windowed_gaussian(),
    "z_score": detectors.z_score(limit=6),
}
"""The detectors with their settings, which are the same for all files."""


@dataclass(frozen=True)
class Row:
    """A row of a series."""

    file: str
    ts: str
    value: float
    published: float | None = None
    """The published score of the Windowed Gaussian detector."""


@dataclass(frozen=True)
class Point:
    """A scored row after the probation: its weight, and the labelled window that it is in, if any."""

    score: float
    weight: float
    window: str | None


def main() -> None:
    """Run a detector over the files of a directory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks nab")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--detector", choices=DETECTORS, default="multi_scale")
    parser.add_argument("--scores", type=Path, help="the file of the scores; default: scores.csv here")
    chosen = parser.parse_args()
    rows = read_rows(chosen.directory)
    started = time.monotonic()
    scores = detect(rows, DETECTORS[chosen.detector])
    seconds = time.monotonic() - started
    write_scores(chosen.scores or Path("scores.csv"), rows, scores)
    windows = json.loads((chosen.directory / "windows.json").read_text())
    score, threshold = score_files(rows, scores, windows)
    print(
        f"{chosen.detector}: {len(windows)} files, {len(rows)} rows in {seconds:.0f} s: "
        f"{score:.2f} at threshold {threshold:.6g}"
    )
    if chosen.detector == "windowed_gaussian" and rows[0].published is not None:
        differences = (abs(score - (row.published or 0)) for row, score in zip(rows, scores, strict=True))
        print(f"largest difference from the published scores: {max(differences):.3g}")


def read_rows(directory: Path) -> list[Row]:
    """Return the rows of all files, in the order of the series."""
    plain = directory / "values.csv"
    text = (
        plain.read_text()
        if plain.exists()
        else gzip.decompress(plain.with_suffix(".csv.gz").read_bytes()).decode()
    )
    return [
        Row(
            row["file"],
            row["ts"],
            float(row["value"]),
            float(row["gaussian_score"]) if row.get("gaussian_score") else None,
        )
        for row in csv.DictReader(text.splitlines())
    ]


def detect(rows: Sequence[Row], detector: Detector) -> list[float]:
    """Return the score of each row, from a pipeline that reads the rows as one stream."""
    with tempfile.TemporaryDirectory(prefix="headrace-nab-") as name:
        directory = Path(name)
        (directory / "rows").mkdir()
        with (directory / "rows" / "rows.csv").open("w", newline="") as file:
            csv.writer(file).writerows((n, row.file, row.ts, row.value) for n, row in enumerate(rows))
        pipeline = Pipeline("nab")
        source = connect.files(path=str(directory / "rows"))
        schema = "n bigint, file string, ts string, value double"
        series = pipeline.read("series", source, format="csv", schema=schema)
        results = series.key_by("file").detect("results", detector, on="value", order="arrival")
        sink = connect.files(path=str(directory / "out"), format="json")
        results.select("n", "score").write("out", sink)
        pipeline.run(until="drained", checkpoint=directory / "checkpoint", progress=False)
        return read_scores(directory / "out", len(rows))


def read_scores(directory: Path, count: int) -> list[float]:
    """Return the scores that the pipeline has written, by the number of the row.

    Raises:
        SystemExit: a row has no score.
    """
    scores: dict[int, float] = {}
    for path in directory.rglob("*.json*"):
        for line in path.read_text().splitlines():
            result = json.loads(line)
            if "n" in result:
                scores[result["n"]] = result["score"]
    if len(scores) != count:
        raise SystemExit(f"expected {count} scores, got {len(scores)}")
    return [round(scores[n], DIGITS) for n in range(count)]


def write_scores(path: Path, rows: Sequence[Row], scores: Sequence[float]) -> None:
    """Write the scores with file and time."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("file", "ts", "score"))
        writer.writerows((row.file, row.ts, repr(score)) for row, score in zip(rows, scores, strict=True))


def score_files(
    rows: Sequence[Row], scores: Sequence[float], windows: Mapping[str, Sequence[Sequence[str]]]
) -> tuple[float, float]:
    """Return the normalised score and the threshold that gives it."""
    series: dict[str, list[tuple[str, float]]] = {}
    for row, score in zip(rows, scores, strict=True):
        series.setdefault(row.file, []).append((row.ts, score))
    points = [point for file, limits in windows.items() for point in _points(file, series[file], limits)]
    return best_threshold(points)


def best_threshold(points: Iterable[Point]) -> tuple[float, float]:
    """Return the highest normalised score over all thresholds, and its threshold.

    A window counts its detection of the highest weight, or -1; every other detection is a false positive.
    """
    points = sorted(points, key=lambda point: -point.score)
    gains = {point.window: -1.0 for point in points if point.window is not None}
    perfect, total, penalty = len(gains), -float(len(gains)), 0.0
    best, threshold = total, math.inf
    for number, point in enumerate(points):
        if point.window is None:
            penalty += point.weight
        elif point.weight > gains[point.window]:
            total += point.weight - gains[point.window]
            gains[point.window] = point.weight
        last = number + 1 == len(points) or points[number + 1].score != point.score
        if last and total + penalty > best:
            best, threshold = total + penalty, point.score
    return 100 * (best + perfect) / (2 * perfect), threshold


def _points(
    file: str, series: Sequence[tuple[str, float]], limits: Sequence[Sequence[str]]
) -> Iterator[Point]:
    first = {ts: number for number, (ts, _) in reversed(list(enumerate(series)))}
    spans = [(first[_seconds(start)], first[_seconds(end)]) for start, end in limits]
    probation = min(math.floor(PROBATION * len(series)), PROBATION * PROBATION_ROWS)
    last: tuple[int, int] | None = None
    for number, (_, score) in enumerate(series):
        span = next((span for span in spans if span[0] <= number <= span[1]), None)
        if span is not None:
            point = Point(score, _weight_inside(number, span), f"{file}|{span[0]}")
            last = span if number == span[1] else last
        else:
            point = Point(score, FALSE_POSITIVE * _weight_after(number, last), None)
        if number >= probation:
            yield point


def _weight_inside(number: int, span: tuple[int, int]) -> float:
    """Return the weight of a detection in a window, from 1 at its start to 0."""
    return _sigmoid(-(span[1] - number + 1) / (span[1] - span[0] + 1)) / _sigmoid(-1.0)


def _weight_after(number: int, last: tuple[int, int] | None) -> float:
    """Return the weight of a false positive, which is less just after a window."""
    return -1.0 if last is None else _sigmoid((number - last[1]) / (last[1] - last[0]))


def _sigmoid(position: float) -> float:
    return -1.0 if position > 3 else 2 / (1 + math.exp(5 * position)) - 1


def _seconds(ts: str) -> str:
    return ts.partition(".")[0]
