"""OpenLineage events: which datasets the attempts of a job read and write.

Each attempt is a run: START, RUNNING when its queries run, then COMPLETE, FAIL or ABORT.
"""

from __future__ import annotations

import json
import logging
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from headrace.connectors.base import Connector
from headrace.errors import without_passwords
from headrace.jobs.model import Job
from headrace.jobs.states import JobState

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

PRODUCER = "https://pypi.org/project/headrace"
SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_ERROR_FACET = (
    "https://openlineage.io/spec/facets/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet"
)
NAMESPACE = "headrace"
EVENTS = {
    JobState.STARTING: "START",
    JobState.RUNNING: "RUNNING",
    JobState.STOPPED: "COMPLETE",
    JobState.DRAINED: "COMPLETE",
    JobState.FAILED: "FAIL",
    JobState.RESTARTING: "FAIL",
    JobState.KILLED: "ABORT",
}
"""The event of a job that reaches a state."""

_log = logging.getLogger("headrace.lineage")


def datasets_of(graph: Graph) -> dict[str, list[dict[str, str]]]:
    """Return the datasets that a plan reads and writes, without passwords."""
    sources = [node for node in graph if not node.inputs]
    return {
        "inputs": [_dataset(node.name, getattr(node, "connector", None)) for node in sources],
        "outputs": [_dataset(sink.name, sink.connector) for sink in graph.sinks],
    }


def run_event(job: Job, datasets: dict[str, Any], *, at: datetime | None = None) -> dict[str, Any]:
    """Return the event of a job that has reached its state."""
    facets: dict[str, Any] = {}
    kind = EVENTS[job.state] if job.error or job.state is not JobState.RESTARTING else "COMPLETE"
    if kind == "FAIL" and job.error:
        facets["errorMessage"] = {
            "_producer": PRODUCER,
            "_schemaURL": _ERROR_FACET,
            "message": job.error,
            "programmingLanguage": "python",
        }
    return {
        "eventType": kind,
        "eventTime": (at or datetime.now(UTC)).isoformat(),
        "producer": PRODUCER,
        "schemaURL": SCHEMA,
        "job": {"namespace": NAMESPACE, "name": job.name},
        "run": {"runId": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{job.id}/{job.attempts}")), "facets": facets},
        "inputs": list(datasets.get("inputs", [])),
        "outputs": list(datasets.get("outputs", [])),
    }


class LineageEmitter:
    """Sends events to an OpenLineage server, or appends them to a file, in a background thread."""

    def __init__(self, target: str) -> None:
        """Send to an http or https URL, or append to a file."""
        self._target = target
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="lineage")

    def emit(self, event: dict[str, Any]) -> None:
        """Send an event; a failure is logged, not raised."""
        self._executor.submit(self._send, event)

    def close(self) -> None:
        """Wait until all events are sent."""
        self._executor.shutdown(wait=True)

    def _send(self, event: dict[str, Any]) -> None:
        try:
            if self._target.startswith(("http://", "https://")):
                import httpx

                httpx.post(self._target, json=event, timeout=10).raise_for_status()
            else:
                with Path(self._target).open("a") as file:
                    file.write(json.dumps(event) + "\n")
        except Exception as error:
            _log.error("a lineage event cannot be sent: %s", without_passwords(str(error)))


def _dataset(step: str, connector: Any) -> dict[str, str]:
    """Name a dataset by the naming rules of OpenLineage: by server and table or topic, or by path."""
    options = {name: getattr(connector, name, None) for name in ("servers", "topic", "url", "table", "path")}
    if options["servers"] and options["topic"]:
        return {"namespace": f"kafka://{_first(options['servers'])}", "name": str(options["topic"])}
    if options["url"]:
        parts = urlsplit(str(options["url"]))
        name = ".".join(filter(None, (parts.path.strip("/"), options["table"])))
        port = f":{parts.port}" if parts.port else ""
        return {"namespace": f"{connector.kind}://{parts.hostname or ''}{port}", "name": name or step}
    if options["path"]:
        path = str(options["path"])
        place = path if "://" in path else str(Path(path).absolute())
        return {"namespace": "file", "name": f"{place}:{options['table']}" if options["table"] else place}
    kind = connector.kind if isinstance(connector, Connector) else NAMESPACE
    return {"namespace": kind, "name": step}


def _first(servers: Any) -> str:
    return str(servers if isinstance(servers, str) else next(iter(servers), "")).split(",")[0].strip()
