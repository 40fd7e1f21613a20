"""Test whole pipelines in virtual time, with `headrace test`, in pytest, or from Python.

A case is a YAML document with a pipeline and a script that feeds its sources, advances watermarks and the
clock, kills the run, and lists the expected rows. The pipeline runs through Spark in virtual time, so that an
hour of the script takes as long as a second.

>>> from headrace import testing
>>> outcome = testing.run_case('''
... name: late rows are counted, not diverted
... pipeline:
...   sources: {tx: {memory: {}, schema: "v int, ts timestamp", event_time: {column: ts}}}
...   steps:
...     sums: {from: tx, window: {tumbling: 10 seconds}, engine: native, aggregate: {s: sum(v)}}
... script:
...   - rows: {tx: [{v: 1, ts: 1}]}
...   - watermark: {tx: 10}
...   - expect: {sums: [{window: {start: 0, end: 10}, s: 1}]}
... ''')
>>> outcome.passed
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.testing.drawing import draw
    from headrace.testing.harness import ProcessorHarness, processor
    from headrace.testing.transcripts.case import Case, read_case, read_file
    from headrace.testing.transcripts.report import Outcome, Report, write_junit
    from headrace.testing.transcripts.results.batch import stream_equals_batch
    from headrace.testing.transcripts.runner import run_case, run_cases, run_files

__all__ = [
    "Case",
    "Outcome",
    "ProcessorHarness",
    "Report",
    "draw",
    "processor",
    "read_case",
    "read_file",
    "run_case",
    "run_cases",
    "run_files",
    "stream_equals_batch",
    "write_junit",
]

_MODULES = {
    "Case": "transcripts.case",
    "Outcome": "transcripts.report",
    "Report": "transcripts.report",
    "ProcessorHarness": "harness",
    "draw": "drawing",
    "processor": "harness",
    "read_case": "transcripts.case",
    "read_file": "transcripts.case",
    "run_case": "transcripts.runner",
    "run_cases": "transcripts.runner",
    "run_files": "transcripts.runner",
    "stream_equals_batch": "transcripts.results.batch",
    "write_junit": "transcripts.report",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use: the pytest plugin is in this package and must not import Spark."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
