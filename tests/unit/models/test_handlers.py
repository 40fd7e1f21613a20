"""Models in a worker, without a JVM: results of every kind of model, and rows that fail among others."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy
import pandas
import pyarrow
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.support.onnx_models import onnx_sum
from tests.unit.models.scoring import Tiers, double, first_only

from headrace.functions.dead_letters import FAILED, ROW, decode_dead_letter
from headrace.functions.signatures import frame_library
from headrace.functions.worker import FunctionCall
from headrace.models.handlers import FileHandler, FunctionHandler, Loader, OnnxLoader, SklearnLoader
from headrace.models.versions import FixedVersion
from headrace.models.worker import Handler, PredictLoop, Predictor

INPUT = pyarrow.schema([("amount", pyarrow.float64()), ("age", pyarrow.int64()), ("__ts", pyarrow.int64())])
RISK = pyarrow.schema([("risk", pyarrow.float64())])
FEATURES = ["amount", "age"]


def batch_of(*amounts: float | None) -> pyarrow.RecordBatch:
    ages = list(range(len(amounts)))
    return pyarrow.record_batch([pyarrow.array(amounts, pyarrow.float64()), ages, ages], schema=INPUT)


def predict(
    handler: Handler, batch: pyarrow.RecordBatch, output: pyarrow.Schema = RISK, features: Any = FEATURES
) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """Return the rows, and the reasons of the rows that failed by their number."""
    visible = [field for field in INPUT if not field.name.startswith("__")]
    columns = pyarrow.schema([*visible, *output, pyarrow.field("model_version", pyarrow.string())])
    target = Predictor(handler, features, [*output.names, "model_version"])
    call = FunctionCall("scored", "map_batches", target, "the model", columns, str(id(handler)))
    [result] = PredictLoop(call).run(iter([batch]))
    rows = [row for row in result.to_pylist() if row[FAILED] is None]
    letters = {
        row[ROW]: decode_dead_letter(row[FAILED]).to_pylist()[0]["reason"]
        for row in result.to_pylist()
        if row[FAILED] is not None
    }
    return rows, letters


def linear(factor: float, **frame: Any) -> bytes:
    """Return a model that computes `factor * amount + age`."""
    matrix = numpy.array([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
    fitted: Any = pandas.DataFrame(matrix, columns=frame["columns"]) if frame else matrix
    return dump(LinearRegression().fit(fitted, matrix @ numpy.array([factor, 1.0])))


def dump(model: Any) -> bytes:
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    return buffer.getvalue()


def file_handler(
    tmp_path: Path, content: bytes, loader: Loader, output: pyarrow.Schema = RISK
) -> FileHandler:
    path = tmp_path / "model"
    path.write_bytes(content)
    return FileHandler(loader, FixedVersion(str(path), "v1"), output, "the model")


@pytest.mark.parametrize("content", [linear(2.0), linear(2.0, columns=FEATURES)], ids=["array", "frame"])
def test_a_model_of_scikit_learn_gets_what_it_was_fitted_with(tmp_path: Path, content: bytes) -> None:
    handler = file_handler(tmp_path, content, SklearnLoader(FEATURES, "predict"))
    rows, failed = predict(handler, batch_of(1.0, 5.0))
    assert [(row["amount"], row["risk"], row["model_version"]) for row in rows] == [
        (1.0, pytest.approx(2.0), "v1"),
        (5.0, pytest.approx(11.0), "v1"),
    ]
    assert failed == {}


def test_only_the_rows_that_a_model_rejects_fail(tmp_path: Path) -> None:
    handler = file_handler(tmp_path, linear(2.0), SklearnLoader(FEATURES, "predict"))
    amounts = [None if number in (3, 4, 17) else float(number) for number in range(20)]
    rows, failed = predict(handler, batch_of(*amounts))
    assert [row["amount"] for row in rows] == [amount for amount in amounts if amount is not None]
    assert [row["risk"] for row in rows] == pytest.approx([3 * row["amount"] for row in rows])
    assert [row["__ts"] for row in rows] == [row["age"] for row in rows]
    assert sorted(failed) == [3, 4, 17]
    assert all("Input X contains NaN" in reason for reason in failed.values())


def test_all_rows_may_fail(tmp_path: Path) -> None:
    handler = file_handler(tmp_path, linear(2.0), SklearnLoader(FEATURES, "predict"))
    rows, failed = predict(handler, batch_of(None, None))
    assert (rows, sorted(failed)) == ([], [0, 1])


@pytest.mark.parametrize(
    ("ddl", "first"),
    [
        ([("no", pyarrow.float64()), ("yes", pyarrow.float64())], ("no", "yes")),
        ([("both", pyarrow.list_(pyarrow.float64()))], ("both",)),
    ],
)
def test_a_result_with_a_column_per_class_is_columns_or_a_list(
    tmp_path: Path, ddl: Any, first: tuple[str, ...]
) -> None:
    model = LogisticRegression().fit([[0.0, 0.0], [1.0, 0.0]], [False, True])
    output = pyarrow.schema(ddl)
    handler = file_handler(tmp_path, dump(model), SklearnLoader(FEATURES, "predict_proba"), output)
    [row], _ = predict(handler, batch_of(1.0), output)
    values = row["both"] if first == ("both",) else [row[name] for name in first]
    assert values == pytest.approx(model.predict_proba([[1.0, 0.0]])[0])


def test_an_onnx_model_gets_a_matrix_and_its_outputs_are_taken_by_name(tmp_path: Path) -> None:
    output = pyarrow.schema([("parts", pyarrow.list_(pyarrow.float64())), ("total", pyarrow.float64())])
    handler = file_handler(tmp_path, onnx_sum(), OnnxLoader(FEATURES, output.names), output)
    rows, failed = predict(handler, batch_of(1.0, 5.0), output)
    assert [(row["parts"], row["total"]) for row in rows] == [([1.0, 0.0], 1.0), ([5.0, 1.0], 6.0)]
    assert failed == {}


def test_the_outputs_of_an_onnx_model_are_taken_by_position_if_names_differ(tmp_path: Path) -> None:
    handler = file_handler(tmp_path, onnx_sum(), OnnxLoader(FEATURES, RISK.names))
    rows, _ = predict(handler, batch_of(1.0, 5.0))
    assert [row["risk"] for row in rows] == [1.0, 6.0]


@pytest.mark.parametrize(
    ("load", "problem"),
    [
        (lambda: SklearnLoader(["amount"], "predict").load(linear(1.0)), "2 features, not with 1"),
        (
            lambda: SklearnLoader(["age", "amount"], "predict").load(linear(1.0, columns=FEATURES)),
            "it was fitted with amount, age, not with age, amount",
        ),
        (lambda: SklearnLoader(FEATURES, "transform").load(linear(1.0)), "has no method `transform`"),
        (
            lambda: OnnxLoader(FEATURES, ["a", "b", "c"]).load(onnx_sum()),
            "it has 2 outputs, expected a, b, c",
        ),
    ],
)
def test_a_model_that_does_not_fit_is_rejected_when_it_is_loaded(
    load: Callable[[], object], problem: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=problem):
        load()


def test_a_model_that_cannot_be_loaded_fails_the_task_and_no_row_is_diverted(tmp_path: Path) -> None:
    handler = file_handler(tmp_path, b"nothing", OnnxLoader(FEATURES, RISK.names))
    with pytest.raises(RuntimeError, match=r"headrace function \[scored\] cannot open the model: "):
        predict(handler, batch_of(1.0))


class Counting:
    """Versions `v1` and `v2` of a model, and the versions that were read."""

    def __init__(self) -> None:
        self.version = "v1"
        self.read_versions: list[str] = []

    def current(self) -> str:
        return self.version

    def read(self, version: str) -> bytes:
        self.read_versions.append(version)
        return linear({"v1": 1.0, "v2": 2.0}[version])


def test_a_version_is_loaded_once_and_the_next_task_uses_the_new_one() -> None:
    versions = Counting()
    handler = FileHandler(SklearnLoader(FEATURES, "predict"), versions, RISK, "the model")
    results = []
    for version in ("v1", "v1", "v2", "v2"):
        versions.version = version
        [row], _ = predict(handler, batch_of(3.0))
        results.append((row["risk"], row["model_version"]))
    assert results == [(pytest.approx(3.0), "v1")] * 2 + [(pytest.approx(6.0), "v2")] * 2
    assert versions.read_versions == ["v1", "v2"]


def function_handler(target: Any, output: pyarrow.Schema = RISK) -> FunctionHandler:
    return FunctionHandler(target, "it", frame_library(target), output)


def test_a_function_fails_for_single_rows() -> None:
    rows, failed = predict(function_handler(double), batch_of(1.0, None, 3.0))
    assert [row["risk"] for row in rows] == [2.0, 6.0]
    assert [row["model_version"] for row in rows] == [None, None]
    assert failed[1].startswith("ValueError: no amount (")
    assert "scoring.py" in failed[1]


def test_a_class_is_opened_once_and_has_a_version() -> None:
    output = pyarrow.schema([("share", pyarrow.float64()), ("tier", pyarrow.int32())])
    handler = function_handler(Tiers, output)
    for _ in range(2):
        rows, _ = predict(handler, batch_of(10.0, 25.0), output)
    assert [(row["tier"], row["share"], row["model_version"]) for row in rows] == [
        (1, 0.1, "7"),
        (2, 0.25, "7"),
    ]
    assert Tiers.opened == 1


def test_results_that_cannot_be_assigned_to_rows_fail_all_rows() -> None:
    """Called for each row alone, the function would return a result, but another one."""
    rows, failed = predict(function_handler(first_only), batch_of(1.0, 2.0))
    assert rows == []
    assert failed[0] == failed[1] == "returned 1 results for 2 rows (it)"
