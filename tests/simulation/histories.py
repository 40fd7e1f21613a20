"""One history: drawn from a seed, simulated, and its sinks compared with what they must hold."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from headrace.connectors.kafka.subscription import LEDGER
from headrace.errors import DamagedFileError, FencedError, HeadraceError
from headrace.sealed_files import is_sealed
from tests.simulation import disk as disks
from tests.simulation import kafka
from tests.simulation.disk import CHECKPOINT, Disk, Node
from tests.simulation.run import OUT, Input, OrderError, Target, install, run_pipeline
from tests.simulation.spark import rows_of
from tests.simulation.world import Fault, FaultKind, Process, StuckError, World, activate

SINKS = ("files", "table", "keyed", "kafka")
RECORDS = 14
"""More than two epochs can hold."""
_KINDS: tuple[FaultKind, ...] = ("kill", "kill", "kill", "pause", "second start")
_MAX_RUNS = 60
FRESH = "/fresh"
"""The checkpoint of a run that starts over while another one is active."""

POINTS: dict[str, tuple[str, ...]] = {
    "": (
        "delivery.committed", "delivery.opened", "delivery.staged", "disk.fsync", "disk.list", "disk.lock",
        "disk.mkdir", "disk.open", "disk.read", "disk.rename", "disk.stat", "disk.truncate", "disk.write",
        "spark.commits", "spark.delivered", "spark.offsets",
    ),
    "replayable": ("source.latest", "source.read"),
    "logged": ("log.appended", "log.released", "log.removing", "log.synced", "receiver.acknowledged", "receiver.received"),
    "files": (
        "disk.link", "disk.unlink", "files.cleaned", "files.fenced", "files.manifest", "files.rolled_forward",
        "files.shown", "files.staged",
    ),
    "database": (
        "database.begin", "database.begun", "database.cleared", "database.commit", "database.committed",
        "database.connect", "database.create", "database.delete", "database.drop", "database.fenced",
        "database.insert", "database.ledger", "database.load", "database.lock", "database.prepared",
        "database.reset", "database.rows", "database.select", "database.set", "database.staged", "database.swept",
        "database.truncate", "database.update",
    ),
    "keyed": ("database.upsert",),
    "kafka": (
        "kafka.begin", "kafka.commit", "kafka.committed", "kafka.end", "kafka.fenced", "kafka.flush", "kafka.init",
        "kafka.ledger", "kafka.poll", "kafka.reply", "kafka.send", "kafka.staged", "kafka.topics",
    ),
}  # fmt: skip
"""The points at which faults are injected, by the part of a pipeline that reaches them in every history."""


class Violation(Exception):  # noqa: N818 - the finding of a simulation, not an error of the program
    """A row that is lost, doubled or shown too early, or a pipeline that does not recover."""


@dataclass
class Outcome:
    """What happened in a history."""

    seed: int
    epochs: int = 0
    runs: int = 0
    refused: int = 0
    """1 if a damage that a power failure left was reported, and the pipeline did not continue."""
    fenced: int = 0
    sinks: tuple[str, ...] = ()
    injected: Counter[tuple[str, str]] = field(default_factory=Counter)
    trace: list[str] = field(default_factory=list)
    violation: str = ""


def simulate(seed: int, *, trace: bool = False) -> Outcome:
    """Simulate the history of a seed."""
    history = _History(seed, trace=trace)
    with install(history.boot_id):
        return history.run()


class _History:
    def __init__(self, seed: int, *, trace: bool) -> None:
        self._random = random = Random(seed)
        logged = random.random() < 0.4
        sinks = tuple(sorted(random.sample(SINKS, random.choice((2, 2, 3)))))
        self._target = Target(Input(RECORDS), sinks, logged)
        self._disk, self._broker = Disk(), kafka.Broker()
        self._outcome = Outcome(seed, sinks=sinks)
        self._world = world = World(random, self._draw_faults(logged, sinks))
        world.injectors = {
            "power failure": lambda process: self._fail_power(),
            "second start": self._start_second,
            "lost connection": self._target.server.lose_connections,
            "open transaction": lambda process: self._broker.leave_open(LEDGER),
            "server restart": lambda process: self._target.server.restart(),
        }
        if trace:
            world.trace = self._outcome.trace
        self._boot = 1
        self._active: Process | None = None
        self._others: list[Process] = []
        self._done = False
        self._files_when_fenced: dict[str, bytes] | None = None
        world.observers["files.fenced"] = self._note_fencing
        self._checkpoint = CHECKPOINT

    def run(self) -> Outcome:
        """Simulate it; violations are in the outcome."""
        world, outcome = self._world, self._outcome
        activate(world)
        disks.use_disk(self._disk)
        kafka.use_broker(self._broker)
        self._target.server.on_commit = self._broker.on_commit = self._check_prefixes
        self._disk.change((CHECKPOINT, Node({})), (FRESH, Node({})), (OUT, Node({})))
        self._disk.sync(self._disk.need("/"))
        try:
            world.run(self._is_over)
            world.end()
            self._check_end()
        except (Violation, StuckError) as problem:
            outcome.violation = outcome.violation or str(problem)
        finally:
            world.end()
        outcome.injected, outcome.epochs = (
            world.injected,
            len(self._ends(CHECKPOINT)) + len(self._ends(FRESH)),
        )
        return outcome

    def boot_id(self) -> bytes:
        """Return the boot of the machine."""
        return self._boot.to_bytes(16, "big")

    def _draw_faults(self, logged: bool, sinks: tuple[str, ...]) -> list[Fault]:
        random = self._random
        parts = ["", "logged" if logged else "replayable", *sinks]
        if {"table", "keyed"} & {*sinks}:
            parts.append("database")
        faults = []
        for _ in range(random.choice((1, 1, 2, 3))):
            points = POINTS.get(random.choice(parts)) or POINTS[""]
            point = random.choice(points)
            kinds = _KINDS
            if "files" not in sinks:  # whose guarantee after a power failure is that of the file system
                kinds = (*kinds, "power failure")
            if point.startswith("database."):
                kinds = (*kinds, "lost connection", "server restart")
            if point.startswith("kafka."):
                kinds = (*kinds, "open transaction")
            late = (
                point.startswith("disk.") and random.random() < 0.5
            )  # most calls to a disk are at the start
            count = random.randrange(1, 60) if late else 1 + int(random.expovariate(0.3))
            after = random.choice((0, 0, random.randrange(40)))
            faults.append(Fault(random.choice(kinds), point, count, after))
        return faults

    def _is_over(self) -> bool:
        """Start a run whenever there is none; True once the input is delivered and no run is left."""
        for process in (self._active, *self._others):
            if process is not None and not process.alive:
                self._take_ending(process)
        if self._outcome.violation:
            return True
        if self._done or self._outcome.refused:
            return self._active is None and not self._others
        if self._active is None:
            self._active = self._start("machine-1")
        return False

    def _start(self, machine: str, delay: float | None = None) -> Process:
        self._outcome.runs += 1
        if self._outcome.runs > _MAX_RUNS:
            raise Violation(f"the pipeline does not recover in {_MAX_RUNS} runs")
        process = Process(self._world, f"run-{self._outcome.runs}", machine)
        process.checkpoint = self._checkpoint
        process.on_end.append(lambda: self._disk.close_all(process))
        seconds = self._random.choice((0.0, 1.0, 5.0)) if delay is None else delay

        def body() -> None:
            self._world.sleep(seconds)
            run_pipeline(process, self._target, process.checkpoint)
            process.completed = True
            process.end()

        process.start_thread(body)
        return process

    def _take_ending(self, process: Process) -> None:
        if process is self._active:
            self._active = None
        else:
            self._others.remove(process)
        self._done = self._done or (process.completed and process.checkpoint == self._checkpoint)
        failure = process.failure
        if isinstance(failure, FencedError):
            self._outcome.fenced += 1
        elif isinstance(failure, OrderError):
            raise Violation(str(failure))
        elif failure is not None and _is_refusal(failure):
            if self._boot == 1:
                raise Violation(f"refused without a power failure: {failure}")
            if isinstance(failure, DamagedFileError) and "/spark/" not in failure.where:
                raise Violation(f"a file that was synced is damaged: {failure}")
            self._outcome.refused = 1
        elif failure is not None and not isinstance(failure, (HeadraceError, OSError)):
            self._outcome.trace.append(f"{process.name} failed: {failure!r}")

    def _fail_power(self) -> None:
        for process in self._world.processes:
            process.end()
        self._disk.fail_power(self._random)
        self._boot += 1

    def _start_second(self, process: Process) -> None:
        """Start the pipeline again while a run is active, on its machine or on another one."""
        kind = self._random.choice(("same machine", "failover", "failover", "fresh", "fresh"))
        if kind == "same machine" or (kind == "fresh" and self._target.logged) or self._others:
            self._others.append(self._start(process.machine))  # the lock rejects it
            return
        process.paused_until = self._world.now + self._random.choice(
            (self._random.uniform(0, 0.5), 1.0, 20.0)
        )
        if kind == "fresh" and process.has_opened:
            # A new checkpoint elsewhere: all rows are written again, and the older run must not write any more.
            self._checkpoint = FRESH
        else:
            # The disk takes the lock from a machine that it cannot reach, and gives it to another one.
            process.evicted = True
            self._disk.close_all(process)
        if process is self._active:
            self._others.append(process)
            self._active = self._start(f"machine-{self._outcome.runs}", delay=self._random.choice((0.0, 1.0)))

    def _ends(self, checkpoint: str) -> list[int]:
        """Return the end of each epoch in the offset log of a checkpoint."""
        directory = self._disk.find(f"{checkpoint}/queries/rows/spark/offsets")
        entries = directory.entries if directory is not None and directory.entries is not None else {}
        logged = {int(name): bytes(node.content) for name, node in entries.items() if name.isdigit()}
        return [
            json.loads(logged[epoch].splitlines()[2])["position"]
            for epoch in sorted(logged)
            if is_sealed(logged[epoch])  # a power failure may empty a file that was not synced
        ]

    def _check_prefixes(self) -> None:
        """Compare the sinks with atomic epochs with the prefixes of the input, whenever one has changed."""
        before, after = {0, *self._ends(CHECKPOINT)}, {0, *self._ends(FRESH)}
        try:
            for sink in self._target.sinks:
                if sink != "files":
                    self._check(sink, before, after)
        except Violation as violation:  # raised in a process, whose failure it is not
            self._outcome.violation = self._outcome.violation or str(violation)

    def _check_end(self) -> None:
        if self._outcome.refused:
            self._check_prefixes()
            return
        fresh = self._checkpoint == FRESH
        before, after = {0, *self._ends(CHECKPOINT)} if fresh else {RECORDS}, {RECORDS} if fresh else {0}
        for sink in self._target.sinks:
            self._check(sink, before, after)
        if self._files_when_fenced is not None and self._files_when_fenced != self._files(CHECKPOINT):
            raise Violation("files: an older run has written after a newer one had taken over")

    def _check(self, sink: str, before: set[int], after: set[int]) -> None:
        """Raise an error unless a sink holds a prefix of the input, and then one that a fresh run wrote."""
        rows = self._read(sink)
        if sink == "keyed":
            if any(rows == _upserted(first, second) for first in before for second in after):
                return
        elif any(
            _is_appended(rows, len(rows) - second, second) for second in after if len(rows) - second in before
        ):
            return
        ids = [row["id"] for row in rows]
        raise Violation(
            f"{sink} holds {ids}, but epochs end at {sorted(before)}, and of a fresh run at {sorted(after)}"
        )

    def _files(self, checkpoint: str) -> dict[str, bytes]:
        """Return the files that runs of a checkpoint have written."""
        entries = self._disk.directory(f"{OUT}/files")
        record = self._disk.find(f"{checkpoint}/queries/rows/checkpoint_id")
        identity = json.loads(record.content.partition(b"\n")[0])[:8] if record is not None else "none"
        return {name: bytes(node.content) for name, node in entries.items() if f"-{identity}-" in name}

    def _note_fencing(self, process: Process) -> None:
        """Note the files of the older run when a fresh one has locked it out."""
        if process.checkpoint == FRESH and self._files_when_fenced is None:
            self._files_when_fenced = self._files(CHECKPOINT)

    def _read(self, sink: str) -> list[dict[str, int]]:
        if sink == "files":
            files = [*self._files(CHECKPOINT).items(), *self._files(FRESH).items()]
            return [json.loads(line) for _, content in files for line in content.splitlines()]
        if sink == "kafka":
            return [json.loads(record.value) for record in self._broker.committed("out")]
        rows = self._target.server.tables.get(sink, [])
        return sorted(rows, key=lambda row: row["key"]) if sink == "keyed" else rows


def _is_refusal(failure: BaseException) -> bool:
    """True if a run reports that the checkpoint is damaged, or older than the log of its source."""
    return isinstance(failure, DamagedFileError) or "the checkpoint is" in str(failure)


def _is_appended(rows: list[dict[str, int]], first: int, second: int) -> bool:
    """True if rows are those of a prefix, then those of another one, in any order of the rows of an epoch."""
    before, after = (sorted(part, key=lambda row: row["id"]) for part in (rows[:first], rows[first:]))
    return before == rows_of(range(first)) and after == rows_of(range(second))


def _upserted(first: int, second: int) -> list[dict[str, int]]:
    newest = {row["key"]: row for row in (*rows_of(range(first)), *rows_of(range(second)))}
    return sorted(newest.values(), key=lambda row: row["key"])
