"""Runs the queries of a shell in one Spark session, which starts while the first statement is typed."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, SetupError
from headrace.runtime.options import RunOptions, Until
from headrace.runtime.progress.interrupts import Interrupts, each_tick

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.runtime.progress.status import Status

NAME = "headrace-sql"
_JARS_HINT = "restart the shell: it starts Spark with all jars that have been downloaded"


class Engine:
    """The Spark session of a shell, and its runs."""

    def __init__(self, *, master: str | None = None, conf: Mapping[str, str] | None = None) -> None:
        self._master = master
        self._conf = dict(conf or {})
        self._starting: threading.Thread | None = None
        self._failure: BaseException | None = None

    @property
    def is_ready(self) -> bool:
        """True if Spark has started."""
        return self._starting is not None and not self._starting.is_alive() and self._failure is None

    def warm_up(self) -> None:
        """Start Spark in the background, unless it has been started."""
        if self._starting is None:
            self._starting = threading.Thread(target=self._open, name="start Spark", daemon=True)
            self._starting.start()

    def run(
        self,
        graph: Graph,
        *,
        until: Until,
        checkpoint: Path | None = None,
        show: Callable[[Status], None] = lambda status: None,
        note: Callable[[str], None] = lambda text: None,
    ) -> Status:
        """Run a plan until its input has ended or Ctrl-C, and return its last status.

        Args:
            graph: the plan.
            until: when the run ends.
            checkpoint: the checkpoint directory; default: a temporary one.
            show: called with the status, several times a second.
            note: called with messages.

        Raises:
            HeadraceError: the run failed.
            KeyboardInterrupt: Ctrl-C while Spark starts.
        """
        from headrace.runtime.run import start

        self._wait(note)
        with _checkpoint(checkpoint) as directory, Interrupts() as interrupts:
            options = RunOptions(
                until=until, checkpoint=directory, master=self._master, conf=self._conf, progress=False
            )
            try:
                handle = start(graph, options)
            except SetupError as error:
                raise _explain_jars(error) from None
            interrupts.install()
            try:
                for _ in each_tick(handle, interrupts, note):
                    show(handle.status())
            except KeyboardInterrupt:
                note("stopped at once")
                handle.kill()
            return handle.status()

    def _wait(self, note: Callable[[str], None]) -> None:
        """Wait for the session."""
        self.warm_up()
        if self._starting is None:
            return
        if self._starting.is_alive():
            note("Spark is starting ...")
        while self._starting.is_alive():
            self._starting.join(0.1)  # without a timeout, Ctrl-C would have no effect
        if self._failure is not None:
            failure, self._failure, self._starting = self._failure, None, None
            raise failure

    def _open(self) -> None:
        from headrace.spark.jars import jar_sets
        from headrace.spark.launch import active_session
        from headrace.spark.session import open_session

        try:
            # A session cannot get jars later, so it starts with those of all connectors that are here.
            cached = [each for each in jar_sets().values() if not each.missing()]
            jars = tuple(dict.fromkeys(path for each in cached for path in each.paths()))
            is_new = active_session() is None
            open_session(NAME, master=self._master, conf=self._conf, jars=jars if is_new else ())
        except BaseException as error:  # reported by the statement that needs the session
            self._failure = error


def _explain_jars(error: SetupError) -> HeadraceError:
    if "is not among its jars" not in error.what:
        return error
    return SetupError("Spark was started without the jars of a connector", where="session", hint=_JARS_HINT)


@contextmanager
def _checkpoint(directory: Path | None) -> Iterator[Path]:
    """Return the directory of a checkpoint; a temporary one is deleted when the run has ended."""
    if directory is not None:
        yield directory
        return
    temporary = Path(tempfile.mkdtemp(prefix="headrace-sql-"))
    try:
        yield temporary / "checkpoint"
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
