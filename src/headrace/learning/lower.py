"""Lower online learning to the operator of processors, with a model as the code of each key."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DayTimeIntervalType,
    DoubleType,
    LongType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headrace.connectors.extras import require_package
from headrace.errors import OptionError, PlanError, Problem
from headrace.learning.declare import DRIFT, DRIFT_COLUMNS, LATE, METRIC_COLUMNS, METRICS, PREDICTION, Learn
from headrace.learning.online import Kind, choose_metrics, create_model, kind_of
from headrace.learning.runtime import LearnBatchLoop, LearnCall, LearnLoop, LearnSpec
from headrace.lowering.code.processors import WorkerOperator, run_in_workers
from headrace.lowering.code.shipping import user_paths
from headrace.lowering.code.totals import totals_of
from headrace.lowering.dispatch import lower, select_output
from headrace.lowering.expressions import TIME, add_keys, drop_hidden, spelled_name
from headrace.lowering.outputs import output_of
from headrace.models import Learner, River
from headrace.spark.arrow import arrow_schema
from headrace.steps.base import Ref
from headrace.steps.expressions import names_of

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

    from headrace.lowering.lowering import Lowering


@lower.register(Learn)
def _learn(node: Learn, lowering: Lowering) -> DataFrame:
    frame, keys = add_keys(lowering.frame(node.input), node.keys)
    time, where = lowering.graph.facts(node.input).time, lowering.graph.where(node)
    rows = drop_hidden(frame)
    spec, prediction = open_model(node, rows, where, in_order=time == "event")
    outputs = _outputs(node, frame, keys, rows.schema, prediction)

    def call(columns: Sequence[str], results: pyarrow.Schema) -> LearnCall:
        return LearnCall(
            node.name,
            spec,
            node.options.model.phrase(),
            uuid.uuid4().hex,
            tuple(zip(names_of(node.keys), columns, strict=True)),
            {name: arrow_schema(fields) for name, fields in outputs.items()},
            results,
            True,
            node.on_error,
            spec.paths,
            totals=totals_of(lowering.spark, node.name, node.options.model),
        )

    operator = WorkerOperator(node.name, outputs, call, LearnLoop, LearnBatchLoop, uses_clock=False)
    return run_in_workers(frame, keys, operator, where, time=time, counts=lowering.count(node))


@select_output.register(Learn)
def _output(node: Learn, ref: Ref, raw: DataFrame) -> DataFrame:
    if ref.output != LATE:
        return output_of(node, ref, raw)
    # Late rows have no time, as those of the kernel.
    late = raw.withColumn(f"__{LATE}", F.col(f"__{LATE}").dropFields(TIME))
    return output_of(node, ref, late)


def _outputs(
    node: Learn, frame: DataFrame, keys: Sequence[str], visible: StructType, prediction: DataType
) -> dict[str, StructType]:
    """Return the columns of each output."""
    name, rows = PREDICTION
    main = StructType([*visible, StructField(name, prediction), StructField(rows, LongType())])
    bounds = StructType([StructField(edge, TimestampType()) for edge in ("start", "end")])
    late = StructType([
        *visible,
        StructField("late_by", DayTimeIntervalType()),
        StructField("window", bounds),
        StructField("watermark", TimestampType()),
        StructField("reason", StringType()),
    ])  # fmt: skip
    outputs = {"main": main, LATE: late}
    key_fields = [
        StructField(name, frame.schema[key].dataType) for name, key in zip(node.key_names, keys, strict=True)
    ]
    for output, columns in ((METRICS, METRIC_COLUMNS), (DRIFT, DRIFT_COLUMNS)):
        if output in node.outputs:
            declared: Any = StructType.fromDDL(columns)
            outputs[output] = StructType([*key_fields, *declared])
    return outputs


def open_model(node: Learn, rows: DataFrame, where: str, *, in_order: bool) -> tuple[LearnSpec, DataType]:
    """Return the step as workers run it, and the type of its prediction.

    Raises:
        PlanError: the model cannot be created, or does not fit its label.
    """
    require_package("river", extra="analytics")
    options = node.options
    expression = options.model.expression if isinstance(options.model, River) else None
    code = options.model.code.load() if isinstance(options.model, Learner) else None

    def at(column: str) -> int:
        return rows.columns.index(spelled_name(rows, column))

    label_at = None if options.label_column is None else at(options.label_column)
    try:
        model = create_model(expression, code)
        kind = kind_of(model)
        label = None if label_at is None else rows.schema[label_at].dataType
        prediction = _prediction_type(kind, label, probability=options.output == "probability")
        metrics = () if label is None else choose_metrics(model, kind, options.metrics)
    except OptionError as error:
        raise PlanError([Problem(where, error.what, error.hint)]) from None
    except Exception as error:  # a model can raise anything when it is created
        what = f"{options.model.phrase()} cannot be created: {type(error).__name__}: {error}"
        raise PlanError([Problem(where, what)]) from error
    spec = LearnSpec(
        expression=expression,
        code=code,
        features=options.features,
        features_at=tuple(map(at, options.features)),
        label_at=label_at,
        on_at=None if options.on is None else at(options.on),
        label_delay=options.label_delay or 0,
        probability=options.output == "probability",
        classifies=kind == "classifier",
        metrics=metrics,
        every=options.every,
        in_order=in_order,
        paths=() if code is None else user_paths(code),
    )
    return spec, prediction


def _prediction_type(kind: Kind, label: DataType | None, *, probability: bool) -> DataType:
    """Return the type of a prediction: that of the label for a classifier, otherwise a number.

    Raises:
        OptionError: the label does not fit the model.
    """
    if kind != "classifier" or label is None:
        if probability:
            raise OptionError("only a classifier predicts a probability", hint='remove output="probability"')
        if kind == "regressor" and label is not None and not isinstance(label, NumericType):
            what = f"a regressor predicts numbers, but the label has the type {label.simpleString()}"
            raise OptionError(what, hint="use a classifier, or convert the label with with_columns")
        return LongType() if kind == "clusterer" else DoubleType()
    if probability and not isinstance(label, BooleanType | NumericType):
        what = f"a probability needs a boolean label, not {label.simpleString()}"
        raise OptionError(what, hint="convert the label with with_columns")
    return DoubleType() if probability else label
