"""The address of a Kinesis stream, and the meaning of the service's errors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from headrace.connectors.extras import import_client

_RETRIED = frozenset(
    {
        "InternalFailure",
        "KMSThrottlingException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestTimeout",
        "ServiceUnavailable",
        "ThrottlingException",
    }
)
_HINTS = {
    "ResourceNotFoundException": "create the stream, or check name and region",
    "AccessDeniedException": "allow the role of this process to use the stream (IAM policy)",
    "UnrecognizedClientException": "check the credentials of this process (AWS_PROFILE, AWS_ACCESS_KEY_ID)",
    "ExpiredTokenException": "renew the credentials of this process",
    "InvalidArgumentException": "if the stream has been deleted and created again, start over with --fresh",
}


class RecordsRejectedError(Exception):
    """The service has stored only some records of a request; the others can be sent again."""


@dataclass(frozen=True)
class KinesisService:
    """A stream of the service. Holds no connection, so it can be sent to executors."""

    stream: str
    region: str | None = None
    endpoint: str | None = None

    @property
    def address(self) -> str:
        """The address of the service.

        >>> KinesisService("orders", "eu-north-1").address
        'Kinesis in eu-north-1'
        """
        if self.endpoint is not None:
            return f"Kinesis at {self.endpoint}"
        return f"Kinesis in {self.region}" if self.region else "Kinesis"

    def connect(self) -> Any:
        """Return a client; retries are left to the caller."""
        boto3 = import_client("boto3", extra="kinesis")
        from botocore.config import Config

        config = Config(connect_timeout=10, read_timeout=60, retries={"total_max_attempts": 1})
        region = self.region or os.environ.get("AWS_REGION")  # boto3 reads only AWS_DEFAULT_REGION
        return boto3.client("kinesis", region_name=region, endpoint_url=self.endpoint, config=config)

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        """Return message and hint of an error of the service; None for any other error."""
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

        if isinstance(error, RecordsRejectedError):
            return str(error), "add shards to the stream, or reduce the rate"
        if isinstance(error, ClientError):
            details = error.response.get("Error", {})
            hint = "add shards to the stream, or reduce the rate" if self.is_unavailable(error) else ""
            return details.get("Message") or str(error), _HINTS.get(details.get("Code", ""), hint)
        if isinstance(error, NoRegionError):
            return "no region is set", 'add region="eu-north-1", or set AWS_REGION'
        if isinstance(error, NoCredentialsError):
            return (
                "there are no credentials",
                "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            )
        if isinstance(error, BotoCoreError | OSError):
            return str(error), "is the service reachable, and is the address right?"
        return None

    def is_unavailable(self, error: Exception) -> bool:
        """True if the service cannot be reached or rejects the rate, so that a retry may succeed."""
        from botocore.exceptions import ClientError, HTTPClientError
        from botocore.exceptions import ConnectionError as Unreachable

        if isinstance(error, ClientError):
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            return error.response.get("Error", {}).get("Code") in _RETRIED or status >= 500
        return isinstance(error, Unreachable | HTTPClientError | RecordsRejectedError | OSError)
