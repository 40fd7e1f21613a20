"""Generate the files of the example: `python -m examples.model_scoring.make_events`.

The expected rows are computed here with logistic regression in plain Python, so that they check Headrace
rather than repeat it.
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

from examples.writing import json_lines, write_all

VISITS, TRAINING = 60, 300
Features = tuple[float, float]


def visit(chance: random.Random) -> Features:
    """Return the minutes of a visit and the value of its basket."""
    return round(chance.uniform(0, 10), 1), round(chance.uniform(0, 10), 1)


def training(seed: int = 11) -> list[tuple[Features, int]]:
    """Return visits of the past, and 1 for those that ended with an order."""
    chance = random.Random(seed)
    rows = []
    for _ in range(TRAINING):
        features = visit(chance)
        likely = 1 / (1 + math.exp(-(features[0] * 0.4 + features[1] * 0.8 - 6)))
        rows.append((features, int(chance.random() < likely)))
    return rows


def fit(rows: list[tuple[Features, int]], steps: int = 25) -> tuple[float, float, float]:
    """Return two weights and the intercept: Newton's method on the loss of scikit-learn, whose C is 1."""
    weights = [0.0, 0.0, 0.0]
    for _ in range(steps):
        gradient = [weights[0], weights[1], 0.0]
        hessian = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
        for features, ordered in rows:
            x = (*features, 1.0)
            p = probability(weights, features)
            for i in range(3):
                gradient[i] += (p - ordered) * x[i]
                for j in range(3):
                    hessian[i][j] += p * (1 - p) * x[i] * x[j]
        weights = [w - d for w, d in zip(weights, solve(hessian, gradient), strict=True)]
    return weights[0], weights[1], weights[2]


def solve(matrix: list[list[float]], vector: list[float]) -> list[float]:
    """Solve a system of linear equations by Gaussian elimination."""
    rows = [[*row, value] for row, value in zip(matrix, vector, strict=True)]
    for at in range(len(rows)):
        rows[at] = [value / rows[at][at] for value in rows[at]]
        for other in range(len(rows)):
            if other != at:
                factor = rows[other][at]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[at], strict=True)]
    return [row[-1] for row in rows]


def probability(weights: Any, features: Features) -> float:
    """Return the probability of an order."""
    total = weights[0] * features[0] + weights[1] * features[1] + weights[2]
    return 1 / (1 + math.exp(-total))


def files() -> dict[str, str]:
    """Return the files by name."""
    past, chance = training(), random.Random(5)
    visits = [(f"v{n:02}", visit(chance)) for n in range(VISITS)]
    weights = fit(past)
    scores = {name: probability(weights, features) for name, features in visits}
    lines = [f"{minutes},{basket},{ordered}\n" for (minutes, basket), ordered in past]
    rows = [{"visit": name, "minutes": minutes, "basket": basket} for name, (minutes, basket) in visits]
    expected = [
        {"visit": name, "score": round(score, 2), "likely": score >= 0.5} for name, score in scores.items()
    ]
    return {
        "training.csv": "minutes,basket,ordered\n" + "".join(lines),
        "events.jsonl": json_lines(rows),
        "expected.jsonl": json_lines(expected),
    }


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
