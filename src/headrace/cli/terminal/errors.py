"""Print errors with problem, hint and exit status; a traceback only with `--traceback`.

Exit status 2: invalid arguments or files. 1: the run, the machine or a test failed. 130: stopped by a second
Ctrl-C.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

from rich.text import Text

from headrace.cli.terminal.output import err, print_message
from headrace.errors import (
    DeliveryError,
    HeadraceError,
    Problem,
    SetupError,
    SourceError,
    wants_traceback,
)

FAILED, INVALID, INTERRUPTED = 1, 2, 130
VARIABLE = "HEADRACE_TRACEBACK"


def report(error: BaseException) -> int:
    """Print an error on standard error and return the exit status."""
    if wants_traceback():
        sys.stderr.write("".join(traceback.format_exception(error)))
    if isinstance(error, HeadraceError):
        show_problems(error.problems)
        return FAILED if isinstance(error, SetupError | SourceError | DeliveryError) else INVALID
    if isinstance(error, KeyboardInterrupt):
        print_message("interrupted", "warn")
        return INTERRUPTED
    _report_unexpected(error)
    return FAILED


def show_problems(problems: tuple[Problem, ...]) -> None:
    """Print problems on standard error, each with its hint."""
    for problem in problems:
        _show_one("error", "bad", problem)
    if len(problems) > 1:
        print_message(f"{len(problems)} problems", "bad")


def show_warnings(warnings: Iterable[Problem]) -> None:
    """Print warnings on standard error, each with its hint."""
    for warning in warnings:
        _show_one("warning", "warn", warning)


def _show_one(word: str, style: str, problem: Problem) -> None:
    console = err()
    where = f"{problem.where}: " if problem.where else ""
    console.print(Text.assemble((f"{word}: ", style), (where, "bold"), problem.what), soft_wrap=True)
    if problem.hint:
        console.print(Text.assemble(("  hint: ", "hint"), problem.hint), soft_wrap=True)


def _report_unexpected(error: BaseException) -> None:
    print_message(f"error: unexpected {type(error).__name__}: {_first_line(error)}", "bad")
    if not wants_traceback():
        log = _write_traceback(error)
        print_message(f"  hint: the traceback is in {log}" if log else "  hint: the log cannot be written")
        print_message(f"  or see it here: {shlex.join(['headrace', *sys.argv[1:], '--traceback'])}")


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), "no message")


def _write_traceback(error: BaseException) -> Path | None:
    """Write the traceback to a file beside Spark's logs, for bug reports."""
    from headrace.spark.cache import cache_directory

    path = (
        cache_directory()
        / "logs"
        / f"headrace-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}.log"
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(traceback.format_exception(error)))
    except OSError:
        return None
    return path
