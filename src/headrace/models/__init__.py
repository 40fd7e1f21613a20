"""Models for `predict`: files of scikit-learn and ONNX, Python functions, and HTTP services; and for `learn`.

A model of `predict` gets batches with the columns of `features` and returns those of `output`.

>>> from headrace import models
>>> models.sklearn("risk.joblib", method="predict_proba")
Sklearn(path='risk.joblib', method='predict_proba')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from annotated_types import Ge, MinLen
from pydantic import AfterValidator, PlainSerializer, SecretStr

from headrace.access import CODE_HINT, current_code
from headrace.access.options import Address, FilePath
from headrace.durations import Duration
from headrace.models.code import Code
from headrace.models.expression import build_model as build_model
from headrace.models.online import AnyOnlineModel as AnyOnlineModel
from headrace.models.online import Learner, OnlineModel, River, learner, river
from headrace.steps.grammar.declaration import Choice, OneOf, declare
from headrace.steps.grammar.problems import expect, invalid
from headrace.steps.grammar.values import Expected, Length, PositiveLength, Rows, Text

__all__ = [
    "Function",
    "HttpModel",
    "Learner",
    "Method",
    "Model",
    "OnlineModel",
    "Onnx",
    "River",
    "Sklearn",
    "function",
    "http",
    "learner",
    "onnx",
    "river",
    "sklearn",
]

Method = Literal["predict", "predict_proba", "decision_function", "transform"]


def _require_code(path: str) -> str:
    if not current_code():
        raise invalid("a pickled model is not accepted, because loading it runs code", CODE_HINT)
    return path


def _require_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or a bracket that is not closed
        valid = False
    if not valid:
        raise expect("an address such as https://host/path")
    return url


ModelPath = Annotated[Text, Expected("the path of a file or a directory"), FilePath()]
Url = Annotated[
    Text, Expected("an address such as https://host/path"), AfterValidator(_require_url), Address()
]
Token = Annotated[SecretStr, PlainSerializer(SecretStr.get_secret_value)]
Values = Annotated[dict[str, Any], MinLen(1), Expected("values of the output columns", "such as {risk: 0.5}")]


@declare
class Model(Choice):
    """Computes the columns of `output` from those of `features`."""

    label: ClassVar[str] = "model"
    example: ClassVar[str] = "such as {sklearn: risk.joblib, features: [amount, age], output: risk double}"
    python_example: ClassVar[str] = 'such as models.sklearn("risk.joblib")'
    file_suffixes: ClassVar[tuple[str, ...]] = ()
    """The suffixes of versions in a directory; empty for a model that is not a file."""

    def phrase(self) -> str:
        """Describe the model.

        >>> onnx("risk.onnx").phrase()
        'onnx risk.onnx'
        """
        return f"{self.kind} {getattr(self, self.short)}"


AnyModel = Annotated[Model, OneOf()]
"""A field with a model of any kind."""


@declare
class Sklearn(Model):
    """A model of scikit-learn in a file of joblib or pickle."""

    path: Annotated[ModelPath, AfterValidator(_require_code)]
    """A file, or a directory of versions, of which the last one in natural order is used."""
    method: Method = "predict"
    """The method that is called; `predict_proba` has a column per class."""

    short: ClassVar[str] = "path"
    file_suffixes: ClassVar[tuple[str, ...]] = (".joblib", ".pkl")


@declare
class Onnx(Model):
    """A model in ONNX format."""

    path: ModelPath
    """A file, or a directory of versions, of which the last one in natural order is used."""

    short: ClassVar[str] = "path"
    file_suffixes: ClassVar[tuple[str, ...]] = (".onnx",)


@declare
class Function(Model):
    """A Python function, or a class whose instances are called."""

    code: Code
    """The function as `module:name`; the module is beside the document, or installed."""

    short: ClassVar[str] = "code"


@declare
class HttpModel(Model):
    """A model behind an HTTP service."""

    url: Url
    """The address that requests are posted to."""
    token: Token | None = None
    """Sent as `Authorization: Bearer ...`, such as `${TOKEN}`."""
    timeout: PositiveLength = Length(10_000_000)
    """How long to wait for the service to connect, and for each part of an answer."""
    batch: Rows = 100
    """The maximum number of rows per request."""
    concurrency: Annotated[int, Ge(1)] = 4
    """The maximum number of concurrent requests of a task."""
    retries: Annotated[int, Ge(0)] = 3
    """How often a request that has failed is sent again, with backoff."""
    failures: Annotated[int, Ge(1)] = 5
    """After this many failures in a row, a worker does not call the service for a while."""
    pause: PositiveLength = Length(30_000_000)
    """How long it is not called then."""
    fallback: Values | None = None
    """Values for rows whose requests have failed; default: the rows are diverted."""

    kind: ClassVar[str] = "http"
    short: ClassVar[str] = "url"

    def phrase(self) -> str:
        """Describe the model without path and parameters, which may hold a secret."""
        parts = urlsplit(self.url)
        return f"http {parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def sklearn(path: str, *, method: Method = "predict") -> Sklearn:
    """A model of scikit-learn, a file that `joblib.dump` or `pickle.dump` has written.

    It gets a pandas frame if it was fitted with one, otherwise an array. Needs `headrace[models]`. Loading a
    pickle runs code: use only files that you trust.

    Args:
        path: a file, which may be replaced while the job runs, or a directory of versions `v1.joblib`,
            `v2.joblib`, of which the last one in natural order is used.
        method: the method that is called. `predict_proba` returns a column per class, so `output` has as many
            columns, or one of type `array<double>`.

    >>> sklearn("risk.joblib")
    Sklearn(path='risk.joblib')
    """
    return Sklearn.create(path, method)


def onnx(path: str) -> Onnx:
    """A model in ONNX format, run by onnxruntime with one thread per task.

    A model with one input gets the features as a matrix, another one a column for each input of that name.
    Output columns are taken by name, otherwise by position. Needs `headrace[models]`.

    Args:
        path: a file or a directory of versions, as for `sklearn`.

    >>> onnx("models/risk")
    Onnx(path='models/risk')
    """
    return Onnx.create(path)


def function(code: Any) -> Function:
    """A Python function of a batch, or a class whose instances are called: one per worker, with `open()`.

    The type hint of its parameter selects a `pyarrow.Table` (the default), a `pandas.DataFrame` or a
    `polars.DataFrame`. It returns one of these with the columns of `output`, or an array if that has one
    column; one row per row. An attribute `version` is the `model_version` of the rows.

    Args:
        code: the function or class, or `"module:name"`.

    >>> def score(rows):
    ...     return rows["amount"]
    >>> function(score)
    Function(code=UserCode(text='headrace.models:score', named=True))
    """
    return Function.create(code)


def http(
    url: str,
    *,
    token: str | None = None,
    timeout: Duration = "10 seconds",
    batch: int = 100,
    concurrency: int = 4,
    retries: int = 3,
    failures: int = 5,
    pause: Duration = "30 seconds",
    fallback: Mapping[str, Any] | None = None,
) -> HttpModel:
    """A model behind an HTTP service. Needs `headrace[http]`.

    A request is `{"instances": [{"amount": 10, "age": 3}, ...]}`. The answer is `{"predictions": [...]}` or a
    list, with one item per row: a value, an object, or a list of values. Its `model_version` is that of the
    rows, if it has one. Requests may be sent again, after a failure of the run too.

    A service that does not answer, answers with an error or something else than JSON, or with another number
    of results, is retried. Rows that it rejects (400, 413, 422) are sent one by one, and diverted.

    Args:
        url: the address.
        token: sent as `Authorization: Bearer ...`.
        timeout: how long to wait to connect, and for each part of an answer.
        batch: the maximum number of rows per request.
        concurrency: the maximum number of concurrent requests of a task; Spark runs a task per core.
        retries: how often a request that has failed is sent again, with backoff.
        failures: the number of failures in a row after which a worker does not call the service for a while.
        pause: how long it is not called then; its rows have the fallback, or are diverted.
        fallback: the values of the output columns for rows whose requests have failed, with the
            `model_version` `fallback`; default: such rows are diverted.

    >>> http("https://models.example.org/risk", batch=500, fallback={"risk": 0.5})
    HttpModel(url='https://models.example.org/risk', batch=500, fallback={'risk': 0.5})
    """
    values = None if fallback is None else dict(fallback)
    secret = None if token is None else SecretStr(token)
    return HttpModel.create(url, secret, timeout, batch, concurrency, retries, failures, pause, values)
