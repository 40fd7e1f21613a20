"""Translate errors of Spark queries into errors with location, problem and hint."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.checkpoints.integrity.continuity import check_logs
from headrace.checkpoints.integrity.state_files import check_state
from headrace.connectors.retry import find_problem
from headrace.connectors.row_encoding import as_encoding_error
from headrace.errors import DamagedFileError, HeadraceError, SourceError
from headrace.lowering.code.aggregates import as_aggregate_error
from headrace.lowering.code.failures import as_user_code_error
from headrace.lowering.decode import as_source_error
from headrace.sealed_files import RESTORE
from headrace.spark.errors import describe_error, find_expression
from headrace.spark.gateway import java_causes

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

_CHECKPOINT_FILE = re.compile(
    r"(?:file:)?(/[^\s:,'\"\[\]()]*/queries/[^/\s]+/(?:spark|lookups|models|watermarks)/[^\s:,'\"\[\]()]*)"
)
_DAMAGED_FILE_ERROR = re.compile(r"headrace\.errors\.DamagedFileError: (?P<file>/[^:\n]+): (?P<what>[^\n]+)")
_FILE_DAMAGES = (
    "headrace.compat.DamagedFile",
    "ChecksumException",
    "EOFException",
    "FileNotFoundException",
    "NoSuchFileException",
)
"""Exceptions that a damaged or missing file of a checkpoint causes, if one of the messages has its path."""
_STATE_DAMAGES = (
    "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED",
    "CANNOT_LOAD_STATE_STORE",
    "CANNOT_READ_",
    "STATE_STORE_",
    "STREAMING_STATEFUL_OPERATOR_",
    "Failed to read log file",
)
"""Words of Spark about files of a checkpoint, also without a path."""
_PYTHON_WORKER = "thrown from the Python worker"
_RAISED = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:: .*)?$")
"""The last line of a Python traceback: the class of the exception, then its message."""
_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$')


def translate_error(graph: Graph, error: BaseException) -> HeadraceError:
    """Return the error of a query with location, problem and hint, without the stack trace."""
    if certain := find_damage(error) or as_encoding_error(error):
        return certain
    text = str(error)
    portable = find_problem(text)
    problems = (connector.explain_failure(text) for connector in graph.connectors)
    if problem := portable if portable and portable.where else next(filter(None, problems), None):
        return SourceError.of(problem)
    translated = as_source_error(error) or as_aggregate_error(error) or as_user_code_error(graph, error)
    if translated is not None:
        return translated
    if _PYTHON_WORKER in text:
        return SourceError(
            f"a Python function failed: {_python_reason(text)}", hint="see the traceback in Spark's log"
        )
    if expression := find_expression(text):
        what, _ = describe_error(Exception(text))
        return SourceError(what, where=_locate(graph, expression), hint="see Spark's log")
    return SourceError(_deepest_reason(error), hint="see Spark's log")


def find_damage(error: BaseException, checkpoint: Path | None = None) -> DamagedFileError | None:
    """Return the error of a file of a checkpoint that cannot be read; None for other errors.

    Args:
        error: the error of a query, or of a sink that has computed rows.
        checkpoint: the checkpoint of the query, in which the damaged file is searched if no message names it.
    """
    chain: BaseException | None = error
    while chain is not None:
        if damage := _damage_of(chain, checkpoint):
            return damage
        chain = chain.__cause__
    return None


def _damage_of(error: BaseException, checkpoint: Path | None) -> DamagedFileError | None:
    if isinstance(error, DamagedFileError):
        return error
    if raised := _DAMAGED_FILE_ERROR.search(str(error)):  # in a Python worker
        return DamagedFileError(raised["what"], where=raised["file"], hint=RESTORE)
    causes = java_causes(error) or [("", str(error))]
    text = "\n".join(f"{name}: {message}" for name, message in causes)
    of_state = any(words in text for words in _STATE_DAMAGES)
    if not of_state and not any(name in text for name in _FILE_DAMAGES):
        return None
    files = [file[1] for _, message in reversed(causes) if (file := _CHECKPOINT_FILE.search(message))]
    if files:
        what = f"the file is damaged or missing: {_deepest_reason(error)}"
        return DamagedFileError(what, where=files[0], hint=RESTORE)
    if checkpoint is None or not of_state:
        return None
    damages = [damage.error() for check in (check_logs, check_state) for damage in check(checkpoint)]
    what = f"the state of a step is damaged: {_deepest_reason(error)}"
    return next(iter(damages), DamagedFileError(what, where=str(checkpoint), hint=RESTORE))


def _deepest_reason(error: BaseException) -> str:
    """Return class and message of the deepest Java cause, or the first line of an error without one."""
    causes = [cause for cause in java_causes(error) if cause[1]]
    if causes:
        return _one_line(*causes[-1])
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _one_line(name: str, message: str) -> str:
    """Return class and message of a Java exception as one line; Spark's own messages without the class."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "no message")
    line = re.sub(r"\s*SQLSTATE: \w+$", "", line)
    return line if not name or line.startswith("[") else f"{name.rpartition('.')[2]}: {line}"


def _locate(graph: Graph, expression: str) -> str:
    """Return the location of the step with this expression; empty if no step or several have it."""
    text = repr(expression)[1:-1]
    steps = [node for node in graph if text in repr(node)]
    return graph.where(steps[0]) if len(steps) == 1 else ""


def _python_reason(text: str) -> str:
    """Return the exception of a Python worker and the line of user code that raised it."""
    lines = text[text.index(_PYTHON_WORKER) :].splitlines()[1:]
    raised = next((at for at, line in enumerate(lines) if _RAISED.match(line)), None)
    if raised is None:
        return next((line.strip() for line in lines if line.strip()), "no reason was reported")
    frames = [frame for line in lines[:raised] if (frame := _FRAME.match(line))]
    own = [frame for frame in frames if "pyspark" not in frame["file"]]
    place = f" ({own[-1]['file']}:{own[-1]['line']} in {own[-1]['function']})" if own else ""
    return f"{lines[raised]}{place}"
