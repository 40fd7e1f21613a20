"""Models behind an HTTP service: requests of JSON with retries, a circuit breaker and a fallback.

A request is `{"instances": [{"amount": 10, "age": 3}, ...]}`, the answer `{"predictions": [...]}` or a list,
with a value, an object or a list per row.
"""

from __future__ import annotations

import decimal
import json
import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow

from headrace.functions.failures import Failure, WrongResult
from headrace.functions.results import OutputColumns
from headrace.models.circuit import CircuitBreaker
from headrace.models.worker import Predictions

_BACKOFF_SECONDS = 0.25
_MAX_BACKOFF_SECONDS = 5.0
_REJECTED = (400, 413, 422)
"""Statuses of a service that does not accept the rows of a request; others are failures of the service."""
FALLBACK = "fallback"
"""The version of rows with the fallback value."""


class RejectedError(Exception):
    """The service does not accept the rows of a request."""


class ServiceError(Exception):
    """The service is down, slow, or its answer cannot be used."""


@dataclass(frozen=True)
class Service:
    """The options of a service, in seconds."""

    url: str
    token: str | None
    timeout: float
    batch: int
    concurrency: int
    retries: int
    failures: int
    pause: float
    fallback: Mapping[str, Any] | None

    @property
    def address(self) -> str:
        """The server, without path and parameters, which may hold a secret."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"


@dataclass
class ServiceHandler:
    """Calls a service for parts of a batch, several at once."""

    service: Service
    output: pyarrow.Schema
    _client: Any = field(default=None, repr=False)
    _breaker: Any = field(default=None, repr=False)
    _sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def enter(self) -> None:
        """Open the connections of this worker."""
        if self._client is None:
            import httpx

            token = self.service.token
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            self._client = httpx.Client(headers=headers, timeout=self.service.timeout)
            self._breaker = CircuitBreaker(self.service.failures, self.service.pause)

    def predict(self, features: pyarrow.Table) -> Predictions:
        """Return the predictions of a batch; rows without one are failures, or have the fallback."""
        rows = features.to_pylist()
        starts = range(0, len(rows), self.service.batch)
        parts = [range(start, min(start + self.service.batch, len(rows))) for start in starts]
        outcomes: dict[int, Outcome] = {}
        with ThreadPoolExecutor(self.service.concurrency) as pool:
            for answered in pool.map(lambda part: list(self._answer(rows, part)), parts):
                outcomes.update(answered)
        return self._assemble([outcomes[number] for number in range(len(rows))])

    def _answer(self, rows: Sequence[Mapping[str, Any]], part: range) -> Iterator[tuple[int, Outcome]]:
        """Yield the outcome of each row. If the rows are rejected, the halves are tried."""
        todo = [part]
        while todo:
            numbers = todo.pop()
            try:
                results, version = self._call([rows[number] for number in numbers])
            except RejectedError as error:
                if len(numbers) > 1:
                    half = numbers.start + len(numbers) // 2
                    todo += [range(half, numbers.stop), range(numbers.start, half)]
                else:
                    yield numbers.start, _fail(error)
            except ServiceError as error:
                outcome = self._fallback(error)
                yield from ((number, outcome) for number in numbers)
            else:
                columns = OutputColumns(self.output)
                checked = (_check(columns, result, version) for result in results)
                yield from zip(numbers, checked, strict=True)

    def _fallback(self, error: ServiceError) -> Outcome:
        if self.service.fallback is None:
            return _fail(error)
        return Answered([self.service.fallback[name] for name in self.output.names], FALLBACK)

    def _assemble(self, outcomes: Sequence[Outcome]) -> Predictions:
        failures = {number: each for number, each in enumerate(outcomes) if isinstance(each, Failure)}
        answered = [(number, each) for number, each in enumerate(outcomes) if isinstance(each, Answered)]
        columns = OutputColumns(self.output)
        values = columns.arrays(columns.transpose([each.values for _, each in answered]))
        versions = pyarrow.array([each.version for _, each in answered], pyarrow.string())
        origin = [number for number, _ in answered] if failures else range(len(outcomes))
        return Predictions(values, versions, origin, failures)

    def _call(self, rows: Sequence[Mapping[str, Any]]) -> tuple[list[Any], str | None]:
        """Return the results of rows and the version of the model; retry while the service fails.

        Raises:
            RejectedError: the service does not accept the rows.
            ServiceError: all attempts have failed, or the circuit is open.
        """
        body = json.dumps({"instances": _finite(list(rows))}, default=_plain).encode()
        backoff, attempts = _BACKOFF_SECONDS, 0
        while True:
            if not self._breaker.allows():
                what = f"{self.service.address} is not called for a while, because it has failed repeatedly"
                raise ServiceError(what)
            attempts += 1
            try:
                answer = self._post(body, len(rows))
            except RejectedError:
                self._breaker.record(succeeded=True)  # it answers
                raise
            except ServiceError as error:
                self._breaker.record(succeeded=False)
                if attempts > self.service.retries:
                    raise ServiceError(f"{error} ({attempts} attempts)") from error
            else:
                self._breaker.record(succeeded=True)
                return answer
            self._sleep(backoff * random.uniform(0.5, 1.0))
            backoff = min(2 * backoff, _MAX_BACKOFF_SECONDS)

    def _post(self, body: bytes, rows: int) -> tuple[list[Any], str | None]:
        import httpx

        address = self.service.address
        try:
            headers = {"Content-Type": "application/json"}
            response = self._client.post(self.service.url, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise ServiceError(f"{address} does not answer: {error or type(error).__name__}") from error
        status = f"{response.status_code} {response.reason_phrase}"
        if response.status_code in _REJECTED:
            raise RejectedError(f"{address} answers {status}: {response.text[:200]}")
        if not response.is_success:
            raise ServiceError(f"{address} answers {status}: {response.text[:200]}")
        try:
            answer = response.json()
        except ValueError as error:
            raise ServiceError(f"{address} answers no JSON: {response.text[:200]}") from error
        results = answer.get("predictions") if isinstance(answer, dict) else answer
        if not isinstance(results, list):
            raise ServiceError(f"{address} answers without a list of `predictions`: {response.text[:200]}")
        if len(results) != rows:
            raise ServiceError(f"{address} answers {len(results)} predictions for {rows} rows")
        version = answer.get("model_version") if isinstance(answer, dict) else None
        return results, None if version is None else str(version)


@dataclass(frozen=True)
class Answered:
    """The values of the output columns of a row."""

    values: Sequence[Any]
    version: str | None


Outcome = Answered | Failure


def _check(columns: OutputColumns, result: Any, version: str | None) -> Outcome:
    try:
        return Answered(columns.checked_values(result), version)
    except WrongResult as error:
        return _fail(error)


def _fail(error: Exception) -> Failure:
    return Failure(str(error), f"{type(error).__name__}: {error}\n")


def _finite(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, with None."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """Return a value that JSON does not have: a decimal as a number, bytes as hexadecimal digits."""
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
