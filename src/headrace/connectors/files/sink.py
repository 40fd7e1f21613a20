"""Writes epochs as files, exactly once.

    stage     Spark writes the parts to out/_headrace/<pipeline>.<sink>/staging/<run>-<epoch>
    commit    1. the next ledger entry names every part and its visible name    <- the epoch is committed
              2. each part is renamed to its visible name, made of checkpoint id, epoch and number
    open      completes step 2 of the last entry, takes over, removes what older runs staged

After a crash before 1, the next open removes the invisible parts; after a crash later, it completes step 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.connectors import flatten
from headrace.connectors.base import WriteContext, require_open
from headrace.connectors.durable_files import HINT
from headrace.connectors.failpoints import reach
from headrace.connectors.files.ledger import LedgerLog
from headrace.connectors.files.store import HadoopStore, LocalStore, Store, local_path, spark_path
from headrace.connectors.ledger import Ledger, LedgerEntry, LedgerWriter
from headrace.errors import DamagedFileError, DeliveryError, did_you_mean
from headrace.spark.gateway import GatewayError, session_of_thread
from headrace.spark.row_counter import RowCounter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.connectors.files import Files

_SUFFIX = {"text": "txt"}

_FILE_EXCEPTION = re.compile(r"\b(?:java\.n?io|org\.apache\.hadoop)\.[\w.$]*Exception")
"""Exceptions of file systems in the JVM."""


Moves = tuple[tuple[str, str], ...]
"""The staged and the visible name of each file."""


@dataclass(frozen=True)
class _Parts:
    """The files of a staged epoch, relative to the target directory."""

    rows: int
    moves: Moves


class FilesWriter(LedgerWriter):
    """Writes the epochs of one sink to a directory."""

    def __init__(self, options: Files) -> None:
        self._options = options
        self._root = spark_path(str(options.path))
        self._context: WriteContext | None = None
        self._ledger: Ledger | None = None
        self._store: Store = LocalStore()

    def open(self, context: WriteContext) -> int:
        self._context = context
        if reason := self._options.mode_problem(context.mode):
            raise DeliveryError(reason, where=context.sink)
        with self._translate_errors(f"{self._root} cannot be written to"):
            if local_path(self._root) is None:
                self._store = HadoopStore(session_of_thread(), self._root)
            log = LedgerLog(self._store, f"{self._root}/{self._internal_directory}/log", self._is_needed)
            self._ledger = Ledger(log, context, self._root)
            committed = self._ledger.take_over(self._roll_forward)
            reach("files.fenced")
            self._remove_older_staging()
        return committed

    def stage(self, epoch: int, frame: DataFrame) -> _Parts:
        directory = f"{self._internal_directory}/staging/{self._active_ledger.token}-{epoch}"
        counter = RowCounter(self._convert(frame))  # an Observation takes a fifth of the time of a write
        rows_frame = counter.frame
        if self._active_context.mode == "complete":
            rows_frame = rows_frame.coalesce(1)
        with self._translate_errors(f"epoch {epoch} cannot be written to {self._root}"):
            writer = rows_frame.write.mode("overwrite").partitionBy(*self._options.partition_by)
            writer.format(self._format).options(**self._encoding()).save(f"{self._root}/{directory}")
            reach("files.staged")
            return _Parts(counter.rows, self._moves(directory, epoch, counter.rows))

    def commit(self, epoch: int, staged: _Parts) -> None:
        if epoch <= self._active_ledger.last_epoch:
            return
        with self._translate_errors(f"epoch {epoch} cannot be committed to {self._root}"):
            entry = self._active_ledger.commit(epoch, {"moves": self._describe(staged.moves)})
            reach("files.manifest")
            self._make_visible(entry)
            self._store.remove(f"{self._root}/{self._internal_directory}/staging/{entry.token}-{epoch}")
        reach("files.cleaned")

    def close(self) -> None:
        self._context = None

    def _remove_older_staging(self) -> None:
        """Remove what older runs have staged. A newer one may have taken over, and be staging, by now."""
        staging = f"{self._root}/{self._internal_directory}/staging"
        for name in self._store.names(staging):
            token = name.partition("-")[0]
            if not token.isdigit() or int(token) < self._active_ledger.token:
                self._store.remove(f"{staging}/{name}")

    def _describe(self, moves: Moves) -> Sequence[Sequence[str | int]]:
        """Return what the ledger stores of the files of an epoch: their names."""
        return moves

    def _is_needed(self, entry: LedgerEntry) -> bool:
        """Return True for an old entry of the ledger that is still read."""
        return False

    def _roll_forward(self, entry: LedgerEntry) -> None:
        """Complete the commit of an earlier run."""
        staging = f"{self._root}/{self._internal_directory}/staging"
        unfinished = self._store.names(staging)
        for source, target, *_ in entry.detail.get("moves", ()):
            # Its directory is removed after the last move; later, readers may remove visible files.
            directory = source.removeprefix(f"{self._internal_directory}/staging/").partition("/")[0]
            if directory in unfinished and not any(map(self._exists, (source, target))):
                what = f"the file is missing: it has rows of a committed epoch, to be moved to {target}"
                raise DamagedFileError(what, where=f"{self._root}/{source}", hint=HINT)
        self._make_visible(entry)
        reach("files.rolled_forward")

    def _exists(self, name: str) -> bool:
        directory, _, file = f"{self._root}/{name}".rpartition("/")
        return file in self._store.names(directory)

    def _make_visible(self, entry: LedgerEntry) -> None:
        """Move the files of an epoch to their visible names; files that have been moved are skipped."""
        for source, target, *_ in entry.detail.get("moves", ()):
            self._store.move(f"{self._root}/{source}", f"{self._root}/{target}")
            reach("files.shown")

    def _moves(self, directory: str, epoch: int, rows: int) -> Moves:
        context = self._active_context
        parts = [
            name
            for name, size in self._store.tree(f"{self._root}/{directory}")
            if size > 0 or context.mode == "complete"
        ]
        if rows == 0 and context.mode != "complete":
            return ()
        suffix = self._suffix_of(parts[0]) if parts else ""
        if context.mode == "complete":
            return tuple((f"{directory}/{name}", f"{_file_name(context.sink)}{suffix}") for name in parts[:1])
        stem = f"{_file_name(context.sink)}-{context.checkpoint_id[:8]}-{epoch:08d}"
        return tuple(
            (f"{directory}/{name}", f"{_directory(name)}{stem}-{number:04d}{suffix}")
            for number, name in enumerate(parts)
        )

    def _convert(self, frame: DataFrame) -> DataFrame:
        missing = [name for name in self._options.partition_by if name not in frame.columns]
        if missing:
            raise DeliveryError(
                f"unknown partition column `{missing[0]}`",
                where=self._active_context.sink,
                hint=did_you_mean(missing[0], frame.columns),
            )
        if self._format == "csv":
            return frame.selectExpr(*flatten.expressions(frame.schema.jsonValue(), text=False))
        if self._format == "json":
            return frame.selectExpr(*flatten.json_expressions(frame.schema.jsonValue()))
        if self._format == "text" and [kind for _, kind in frame.dtypes] != ["string"]:
            raise DeliveryError(
                f"text files take one column of type string, got `{_list_columns(frame)}`",
                where=self._active_context.sink,
                hint="select one, such as select(\"concat_ws(' ', a, b) as line\"), or write json",
            )
        return frame

    def _encoding(self) -> dict[str, str]:
        return flatten.encoding(self._options.encoding, self._format)

    @contextmanager
    def _translate_errors(self, what: str) -> Iterator[None]:
        """Raise errors of the write as `DeliveryError`, or as `FencedError` if a newer run took over."""
        from pyspark.errors import PySparkException

        try:
            yield
        except (OSError, GatewayError, PySparkException) as error:
            if fenced := self._find_fencing_error():
                raise fenced from error
            if isinstance(error, OSError) or _FILE_EXCEPTION.search(str(error)):
                hint = "is the disk full, or the directory not writable by this user?"
                raise DeliveryError(
                    f"{what}: {_reason(error)}", where=self._active_context.sink, hint=hint
                ) from error
            # Rows are computed while they are written, so the error may come from an expression.
            what = f"its rows cannot be computed: {_reason(error)}"
            raise DeliveryError(what, where=self._active_context.sink) from error

    def _suffix_of(self, part: str) -> str:
        """Return the suffix, such as `.json` or `.json.gz`."""
        words = part.rpartition("/")[2].split(".")[1:]
        return "." + ".".join(_SUFFIX.get(word, word) for word in words)

    @property
    def _format(self) -> str:
        return self._options.encoding.name if self._options.encoding is not None else "json"

    @property
    def _internal_directory(self) -> str:
        context = self._active_context
        return f"_headrace/{_file_name(context.pipeline)}.{_file_name(context.sink)}"

    @property
    def _active_ledger(self) -> Ledger:
        return require_open(self._ledger, "files")

    @property
    def _active_context(self) -> WriteContext:
        return require_open(self._context, "files")


def _file_name(name: str) -> str:
    """Return a name for use in file names."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", name).lstrip(".") or "sink"


def _directory(name: str) -> str:
    return name.rpartition("/")[0] + "/" if "/" in name else ""


def _list_columns(frame: DataFrame) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in frame.dtypes)


def _reason(error: Exception) -> str:
    """Return the first line of the innermost cause."""
    text = str(error)
    causes = re.findall(r"^Caused by: (?:[\w.$]+: )?(.+)$", text, re.MULTILINE)
    message = causes[-1] if causes else text.strip().splitlines()[0]
    return re.sub(r"^\[[A-Z_.]+\] | SQLSTATE: \w+$", "", message)
