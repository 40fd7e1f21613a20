"""Models in Python workers: files of scikit-learn and ONNX, and Python functions."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

import pyarrow

from headrace.functions.calls import Callee
from headrace.functions.frames import to_frame
from headrace.functions.worker import add_paths
from headrace.models.worker import Predictions, predict_halves

Predict = Callable[[pyarrow.Table], Any]
"""Returns the result of a model for a batch of features."""


class Loader(Protocol):
    """Loads the models of one kind."""

    def load(self, content: bytes) -> Predict:
        """Return the model in the content of a file."""
        ...


class Versions(Protocol):
    """The versions of a model."""

    def current(self) -> str:
        """Return the version of the current epoch."""
        ...

    def read(self, version: str) -> bytes:
        """Return the content of a version."""
        ...


@dataclass
class FileHandler:
    """A model in a file, which is loaded when its version changes."""

    loader: Loader
    versions: Versions
    output: pyarrow.Schema
    name: str
    version: str | None = None
    _predict: Predict | None = field(default=None, repr=False)

    def enter(self) -> None:
        """Load the version of the epoch."""
        version = self.versions.current()
        if version != self.version:
            self._predict = self.loader.load(self.versions.read(version))
            self.version = version

    def predict(self, features: pyarrow.Table) -> Predictions:
        """Return the predictions of a batch."""
        model = self._predict
        assert model is not None, "a task enters first"
        return predict_halves(model, features, self.output, name=self.name, version=self.version)


@dataclass(frozen=True)
class SklearnLoader:
    """Loads models of scikit-learn."""

    features: Sequence[str]
    method: str

    def load(self, content: bytes) -> Predict:
        """Return a method of the model in a file of joblib or pickle."""
        model = _import("joblib").load(io.BytesIO(content))
        call = getattr(model, self.method, None)
        if call is None:
            raise TypeError(f"{type(model).__name__} has no method `{self.method}`")
        names = getattr(model, "feature_names_in_", None)
        if names is not None and list(names) != list(self.features):
            raise ValueError(f"it was fitted with {', '.join(names)}, not with {', '.join(self.features)}")
        width = getattr(model, "n_features_in_", len(self.features))
        if width != len(self.features):
            raise ValueError(f"it was fitted with {width} features, not with {len(self.features)}")
        if names is None:
            return lambda features: call(to_matrix(features))
        return lambda features: call(features.to_pandas())


@dataclass(frozen=True)
class OnnxLoader:
    """Loads models in ONNX format."""

    features: Sequence[str]
    output: Sequence[str]

    def load(self, content: bytes) -> Predict:
        """Return a session of the model, with one thread: Spark runs a task per core."""
        runtime = _import("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        inputs = {each.name: _ONNX_TYPES[each.type] for each in session.get_inputs()}
        if len(inputs) > 1 and (missing := set(inputs) - set(self.features)):
            raise ValueError(f"its input `{min(missing)}` is not one of the features")
        results = [each.name for each in session.get_outputs()]
        if len(results) < len(self.output):
            raise ValueError(f"it has {len(results)} outputs, expected {', '.join(self.output)}")
        by_name = set(self.output) <= set(results)
        wanted = list(self.output) if by_name else results[: len(self.output)]

        def predict(features: pyarrow.Table) -> pyarrow.Table:
            arrays = session.run(wanted, _onnx_inputs(features, inputs))
            columns = [_flat(array) for array in arrays]
            return pyarrow.table(columns, names=list(self.output))

        return predict


_ONNX_TYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(int64)": "int64",
    "tensor(int32)": "int32",
    "tensor(bool)": "bool",
    "tensor(string)": "object",
}


def _onnx_inputs(features: pyarrow.Table, inputs: dict[str, str]) -> dict[str, Any]:
    """Return the inputs of an ONNX model: a matrix, or a column for each input."""
    if len(inputs) == 1:
        [(name, kind)] = inputs.items()
        return {name: to_matrix(features).astype(kind)}
    return {
        name: features.column(name).to_numpy().astype(kind).reshape(-1, 1) for name, kind in inputs.items()
    }


def _flat(values: Any) -> Any:
    """Return an output with a row per row as an Arrow array: of values, or of lists."""
    if getattr(values, "ndim", 1) == 2:
        return pyarrow.array(values[:, 0] if values.shape[1] == 1 else list(values))
    return pyarrow.array(values)


@dataclass
class FunctionHandler:
    """A Python function, or an instance of a class, which is opened once."""

    target: Any
    name: str
    library: str
    output: pyarrow.Schema
    paths: Sequence[str] = ()
    """Directories of the user's modules, for imports inside the function."""
    _callee: Callee | None = field(default=None, repr=False)

    @property
    def version(self) -> str | None:
        """The attribute `version` of the function or the instance."""
        version = getattr(self._callee.instance if self._callee else None, "version", None)
        return None if version is None else str(version)

    def enter(self) -> None:
        """Create and open the instance of a class."""
        if self._callee is None:
            add_paths(self.paths)
            self._callee = Callee(self.target)

    def predict(self, features: pyarrow.Table) -> Predictions:
        """Return the predictions of a batch."""
        callee = self._callee
        assert callee is not None, "a task enters first"

        def call(part: pyarrow.Table) -> Any:
            return callee.function(to_frame(part.combine_chunks().to_batches()[0], self.library))

        return predict_halves(call, features, self.output, name=self.name, version=self.version)


def to_matrix(features: pyarrow.Table) -> Any:
    """Return columns of numbers as a matrix; a null is NaN."""
    import numpy

    return numpy.column_stack([column.to_numpy() for column in features.columns])


def _import(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        what = f"the package `{package}` cannot be imported: {error}; pip install 'headrace[models]'"
        raise ImportError(what) from error
