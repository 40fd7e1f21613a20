"""Lower predictions: the loop of function steps in Python workers, with a model as the function."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from headrace.connectors.extras import require_package
from headrace.errors import HeadraceError, PlanError, Problem
from headrace.functions.signatures import frame_library
from headrace.functions.worker import FunctionCall
from headrace.lowering.code.functions import is_ordered, run_calls
from headrace.lowering.code.shipping import user_paths
from headrace.lowering.code.totals import totals_of
from headrace.lowering.dispatch import EpochStep, lower
from headrace.lowering.expressions import drop_hidden, spelled_name
from headrace.lowering.tables.changes import new_rows
from headrace.models import Function, HttpModel, Model, Onnx, Sklearn
from headrace.models.declare import VERSION, Predict
from headrace.models.handlers import FileHandler, FunctionHandler, Loader, OnnxLoader, SklearnLoader
from headrace.models.service import Service, ServiceHandler
from headrace.models.shadow import Shadow
from headrace.models.versions import FixedVersion, ModelVersions, find_file, version_of
from headrace.models.worker import Handler, PredictLoop, Predictor
from headrace.spark.arrow import arrow_schema

if TYPE_CHECKING:
    import pyarrow

    from headrace.lowering.lowering import Lowering
    from headrace.lowering.sources import StreamInputs


class QueryModel(EpochStep):
    """A model in one query."""

    def __init__(
        self, node: Predict, features: Sequence[str], output: pyarrow.Schema, inputs: StreamInputs
    ) -> None:
        self.token = uuid.uuid4().hex
        self._versions: list[ModelVersions] = []
        self.handler = self._handler_of(node.name, node.options.model, features, output, inputs)
        second = node.options.shadow
        self.second = (
            None
            if second is None
            else self._handler_of(f"{node.name}.shadow", second, features, output, inputs)
        )

    def enter(self, epoch: int) -> None:
        for versions in self._versions:
            versions.enter(epoch)

    def _handler_of(
        self, name: str, model: Model, features: Sequence[str], output: pyarrow.Schema, inputs: StreamInputs
    ) -> Handler:
        """Return a model as workers run it; `name` is that of its versions in the checkpoint."""
        if isinstance(model, Function):
            target = model.code.load()
            library, paths = frame_library(target), user_paths(target)
            return FunctionHandler(target, str(model.code), library, output, paths)
        if isinstance(model, HttpModel):
            require_package("httpx", extra="http")
            return ServiceHandler(_service_of(model), output)
        assert isinstance(model, Sklearn | Onnx)
        loader = _loader_of(model, features, output)
        path, suffixes = model.path, model.file_suffixes
        if inputs.checkpoint is None:
            file = find_file(path, suffixes)
            versions = FixedVersion(str(file.absolute()), version_of(file, file.read_bytes()))
            return FileHandler(loader, versions, output, model.phrase())
        directory = inputs.checkpoint / "models" / name
        self._versions.append(ModelVersions(name, path, suffixes, directory, loader.load))
        return FileHandler(loader, self._versions[-1].stored, output, model.phrase())


def _open(
    node: Predict, features: Sequence[str], output: pyarrow.Schema, inputs: StreamInputs, where: str
) -> QueryModel:
    try:
        return QueryModel(node, features, output, inputs)
    except HeadraceError:
        raise
    except Exception as error:  # a model can raise anything when it is loaded
        what = f"{node.options.model.phrase()} cannot be loaded: {type(error).__name__}: {error}"
        raise PlanError([Problem(where, what)]) from error


def _service_of(model: HttpModel) -> Service:
    return Service(
        model.url,
        None if model.token is None else model.token.get_secret_value(),
        timeout=model.timeout / 1e6,
        batch=model.batch,
        concurrency=model.concurrency,
        retries=model.retries,
        failures=model.failures,
        pause=model.pause / 1e6,
        fallback=model.fallback,
    )


def _loader_of(model: Sklearn | Onnx, features: Sequence[str], output: pyarrow.Schema) -> Loader:
    if isinstance(model, Sklearn):
        require_package("sklearn", extra="models")
        return SklearnLoader(features, model.method)
    require_package("onnxruntime", extra="models")
    return OnnxLoader(features, output.names)


@lower.register(Predict)
def _predict(node: Predict, lowering: Lowering) -> DataFrame:
    frame, where = new_rows(node, node.input, lowering), lowering.graph.where(node)
    visible = drop_hidden(frame)
    features = [spelled_name(visible, name) for name in node.options.features or visible.columns]
    declared: Any = StructType.fromDDL(node.options.output.ddl)
    output = arrow_schema(declared)
    inputs = lowering.inputs
    held = inputs.once(node.name, lambda: _open(node, features, output, inputs, where))
    columns = StructType([*visible.schema, *declared, StructField(VERSION, StringType())])
    name = node.options.model.phrase()
    totals = totals_of(lowering.spark, node.name, node.worker_code, shadow=node.has_shadow)
    second = None
    if held.second is not None and totals.shadow is not None:
        second = Shadow(held.second, totals.shadow)
    call = FunctionCall(
        node.name,
        "map_batches",
        Predictor(held.handler, features, [*output.names, VERSION], second),
        name,
        arrow_schema(columns),
        held.token,
        node.on_error,
        totals=totals,
    )
    ordered = is_ordered(node, lowering.graph)
    return run_calls(frame, call, columns, where, ordered=ordered, loop=PredictLoop)
