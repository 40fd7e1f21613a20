"""The crash harness: `check_sink`, `check_source` and `kill_at_random`."""

from headrace.testing.delivery.sinks import Target, check_sink, kill_at_random
from headrace.testing.delivery.sources import Feed, check_source
from headrace.testing.delivery.trials import Report, Trial

__all__ = ["Feed", "Report", "Target", "Trial", "check_sink", "check_source", "kill_at_random"]
