"""Models over rows, beside `mapInPandas` with the same model: scikit-learn and ONNX.

The model is a logistic regression over two features. Both sides read the same Parquet files in the same micro-batches
and write Parquet files exactly once; the sums of the predictions must be equal.
`python -m benchmarks predict --rows 200000`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from benchmarks.python import MADE, ROWS, compare_steps
from headrace import models
from headrace.spark.session import open_session

FEATURES = ["k", "amount"]


def main() -> None:
    """Measure both kinds of models, or one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("--only", choices=["sklearn", "onnx"])
    options = parser.parse_args(sys.argv[1:])
    spark = open_session("benchmarks", conf={"spark.driver.memory": "3g"})
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        regression = fit()
        sides: dict[str, tuple[Any, Any, Any]] = {
            "sklearn": (write_sklearn, by_sklearn, models.sklearn),
            "onnx": (write_onnx, by_onnx, models.onnx),
        }
        for kind, (write, by_hand, model) in sides.items():
            if options.only in (None, kind):
                path = write(regression, place)
                measure(spark, place, options, kind=kind, by_hand=by_hand(path), model=model(path))


def measure(
    spark: SparkSession, place: Path, options: argparse.Namespace, *, kind: str, by_hand: Any, model: Any
) -> None:
    """Measure both sides with one kind of model."""
    compare_steps(
        spark,
        place,
        options,
        kind=f"predict {kind}",
        by_hand={"mapInPandas": lambda rows: rows.mapInPandas(by_hand, MADE)},
        ours=lambda rows: rows.predict("step", model, features=FEATURES, output="score double").select(
            "id", "score"
        ),
    )


def fit() -> Any:
    """Return a linear regression of random rows."""
    from sklearn.linear_model import LinearRegression

    random = np.random.default_rng(7)
    features = random.random((1000, len(FEATURES)))
    return LinearRegression().fit(features, features @ [0.5, 2.0] + 1.0)


def write_sklearn(regression: Any, place: Path) -> str:
    """Write the model as scikit-learn's users do, and return its path."""
    import joblib

    joblib.dump(regression, place / "model.joblib")
    return str(place / "model.joblib")


def write_onnx(regression: Any, place: Path) -> str:
    """Write the model in ONNX format, and return its path."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = numpy_helper.from_array(regression.coef_.astype(np.float64).reshape(-1, 1), "weights")
    bias = numpy_helper.from_array(np.array([regression.intercept_], dtype=np.float64), "bias")
    kind = TensorProto.DOUBLE
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["features", "weights"], ["product"]),
            helper.make_node("Add", ["product", "bias"], ["score"]),
        ],
        "linear",
        [helper.make_tensor_value_info("features", kind, [None, len(FEATURES)])],
        [helper.make_tensor_value_info("score", kind, [None, 1])],
        [weights, bias],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, place / "model.onnx")
    return str(place / "model.onnx")


def by_sklearn(path: str) -> Any:
    """Return the function of `mapInPandas` that loads the model once per task."""

    def run(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        import joblib

        model = joblib.load(path)
        for frame in frames:
            yield pd.DataFrame({"id": frame["id"], "score": model.predict(frame[FEATURES].to_numpy())})

    return run


def by_onnx(path: str) -> Any:
    """Return the same for ONNX."""

    def run(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
        for frame in frames:
            features = frame[FEATURES].to_numpy(dtype=np.float64)
            [scores] = session.run(["score"], {"features": features})
            yield pd.DataFrame({"id": frame["id"], "score": scores[:, 0]})

    return run


if __name__ == "__main__":
    main()
