"""A model that is trained when a worker starts, and scores batches of rows."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pandas
from sklearn.linear_model import LogisticRegression

FEATURES = ["minutes", "basket"]
TRAINING = (Path(__file__).parent / "training.csv").read_text()
"""Read where the pipeline is built; workers get it with the class."""


class Score:
    """The probability that a visit ends with an order; loaded once per worker."""

    def open(self) -> None:
        rows = list(csv.DictReader(StringIO(TRAINING)))
        features = [[float(row[name]) for name in FEATURES] for row in rows]
        self.model = LogisticRegression().fit(features, [int(row["ordered"]) for row in rows])

    def __call__(self, visits: pandas.DataFrame) -> pandas.DataFrame:
        score = self.model.predict_proba(visits[FEATURES].to_numpy())[:, 1]
        return visits[["visit"]].assign(score=score.round(2), likely=score >= 0.5)
