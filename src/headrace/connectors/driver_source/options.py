"""The options class of connectors with a driver-side source."""

from __future__ import annotations

from typing import ClassVar

from headrace.connectors.base import Connector
from headrace.connectors.options import seconds_of


class DriverSource(Connector):
    """A connector whose source is planned on the driver. If it has a server, it declares `retry_timeout`."""

    driver_side: ClassVar[bool] = True

    @property
    def retry_seconds(self) -> float:
        """The retry timeout in seconds; 0 without a server."""
        return seconds_of(getattr(self, "retry_timeout", "0 seconds"))
