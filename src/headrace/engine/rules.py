"""The rules of one step while it runs: read when an epoch begins, checked, and given to the kernel.

The kernel's step holds the rules in force. Spark writes it into the tasks of each micro-batch anew, so a change between
two epochs reaches all tasks of the second and none of the first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from headrace.durations import text as length
from headrace.engine.matching import Declared
from headrace.engine.rule_log import Edition, RuleFault, RuleInForce, RuleLog
from headrace.engine.spark_says import spark_says
from headrace.engine.windowing import Counts, Time
from headrace.errors import DocumentError, HeadraceError, PlanError, Problem, did_you_mean
from headrace.plan.nodes import Match, MatchRules
from headrace.plan.pattern_rules import grows, pattern_problems

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.documents.rules import Rule, Rules
    from headrace.engine.rule_tables import Content, RuleTable
    from headrace.plan.graph import Graph

BEFORE = -1
"""What stands for an epoch where there has been none: the rules that a first run begins with."""
FAULT_SCHEMA = "rule string, version int, reason string, hint string, place string, read_at timestamp"


class RuleStep:
    """The kernel's step, and what is asked of a rule before it gets there."""

    def __init__(
        self, frame: DataFrame, graph: Graph, node: MatchRules, keys: Sequence[str], *, time: Time = "event"
    ) -> None:
        """Take the step's columns from `frame`, whose rows are not looked at."""
        self.frame = frame
        self.graph = graph
        self.node = node
        self._keys = tuple(keys)
        self._time: Time = time
        declared = {
            "keys": list(keys),
            "order": node.order,
            "time": time,
            "measures": None if node.measures is None else node.measures.ddl,
        }
        kernel = frame.sparkSession.sparkContext._jvm.org.apache.spark.sql.headrace.rules  # type: ignore[union-attr]
        self.kernel = kernel.RulesStep.apply(frame._jdf, json.dumps(declared))

    def declared(self, rule: Rule) -> str:
        """A rule as the kernel reads it."""
        return Declared(self._match(rule), self._keys, time=self._time).text

    def problems(self, rule: Rule) -> Iterator[tuple[str, str]]:
        """Why a rule can't be used; none where it can."""
        node = self._match(rule)
        found = [*pattern_problems(self.graph, node), *self._measures(rule), *self._bounds(node)]
        yield from found or self._of_kernel(rule)

    def rows(self, counts: Counts | None = None) -> DataFrame:
        """The tagged rows: `__output` is `main`, `timeouts` or `late`."""
        spark = self.frame.sparkSession
        operator = spark.sparkContext._jvm.org.apache.spark.sql.headrace.patterns.InOrderOperator  # type: ignore[union-attr]
        if not self.frame.isStreaming:
            return DataFrame(operator.batch(self.frame._jdf, self.kernel), spark)
        counted = counts or Counts(spark)
        return DataFrame(operator.apply(self.frame._jdf, self.kernel, counted._kernel), spark)

    def _match(self, rule: Rule) -> Match:
        node = self.node
        return Match(
            node.name, node.input, node.keys, rule.pattern, rule.within, rule.skip, node.order, rule.select
        )

    def _measures(self, rule: Rule) -> Iterator[tuple[str, str]]:
        known = self.node.measures.names if self.node.measures is not None else ()
        for name, _ in rule.select or ():
            if name not in known:
                hint = did_you_mean(name, known) if known else "say measures='...' at the step"
                yield f"`{name}` is no measure of the step `{self.node.name}`", hint

    def _bounds(self, node: Match) -> Iterator[tuple[str, str]]:
        if found := grows(node):
            yield found
        longest, within = self.node.longest, node.within.whole or node.within.between
        if longest is not None and (within is None or within > longest):
            took = length(within) if within is not None else "any time"
            yield (
                f"it may take {took}, and rules of this step {length(longest)} at most",
                "make `within` shorter",
            )

    def _of_kernel(self, rule: Rule) -> Iterator[tuple[str, str]]:
        try:
            self.kernel.check(self.declared(rule))
        except (PySparkException, Py4JJavaError) as error:
            yield spark_says(error)


class RuleBook:
    """The rules of a running step, epoch by epoch."""

    def __init__(self, step: RuleStep, table: RuleTable, checkpoint: Path) -> None:
        self.step = step
        self._table = table
        self._log = RuleLog(checkpoint)
        self._edition = self._log.last or Edition(BEFORE)
        self._noticed: tuple[RuleFault, ...] = ()
        self._loaded = -1

    @property
    def name(self) -> str:
        return self.step.node.name

    @property
    def in_force(self) -> dict[str, int]:
        """The versions of the rules, by id."""
        return {rule.id: rule.version for rule in self._edition.rules}

    @property
    def faults(self) -> tuple[RuleFault, ...]:
        """What is wrong with the table as it was last read."""
        return self._edition.faults

    def enter(self, epoch: int) -> None:
        """An epoch begins: look at the table, unless the epoch has begun before."""
        known = self._log.at(epoch)
        again = known is not None and (epoch <= self._log.begun or known.epoch == epoch)
        edition = known if again and known is not None else self._next(epoch)
        self._noticed = edition.faults if edition.epoch == epoch else ()
        self._load(edition)

    def fault_rows(self, spark: SparkSession) -> DataFrame:
        """What was found wrong when this epoch began, as rows of `.faults`."""
        rows = [
            (f.rule or None, f.version, f.reason, f.hint or None, f.place, datetime.fromisoformat(f.read_at))
            for f in self._noticed
        ]
        return spark.createDataFrame(rows, FAULT_SCHEMA)

    def close(self) -> None:
        """Let go of the table."""
        self._table.close()

    def begin(self) -> None:
        """Take up the rules where they were left, or read the first ones.

        Raises:
            HeadraceError: the table can't be read, or a rule is wrong, and that is not how the last run ended.
        """
        try:
            found = self._table.look()
        except HeadraceError as error:
            if self._edition.digest != _unread(error):
                raise
        else:
            if found.digest != self._edition.digest:
                edition = self._after(found.read(), found.digest, BEFORE)
                _refuse(edition)
                if self._log.last is None:
                    self._log.add(edition)
        self._load(self._log.last or self._edition)

    def _next(self, epoch: int) -> Edition:
        before = self._edition
        try:
            found = self._table.look()
        except HeadraceError as error:
            digest, edition = _unread(error), self._as_before(error, _unread(error), epoch)
        else:
            digest = found.digest
            edition = before if digest == before.digest else self._read(found, epoch)
        if digest == before.digest:
            return before
        self._log.add(edition)
        return edition

    def _read(self, found: Content, epoch: int) -> Edition:
        try:
            return self._after(found.read(), found.digest, epoch)
        except HeadraceError as error:
            return self._as_before(error, found.digest, epoch)

    def _load(self, edition: Edition) -> None:
        if edition.number != self._loaded:
            self.step.kernel.load(edition.loaded)
            self._loaded = edition.number
        self._edition = edition

    def _as_before(self, error: HeadraceError, digest: str, epoch: int) -> Edition:
        """Nothing is known of any rule, so all stay."""
        found = error.problems if isinstance(error, DocumentError) else (error.problem,)
        faults = tuple(_fault(problem, "", None) for problem in found)
        return replace(self._edition, epoch=epoch, digest=digest, faults=faults)

    def _after(self, read: Rules, digest: str, epoch: int) -> Edition:
        """The rules after a table has been read: a rule that can't be used stays as it was."""
        return _Revision(self.step, self._edition).edition(read, digest, epoch)


class _Revision:
    """One reading of a table: which rules go on, which begin, and what is wrong."""

    def __init__(self, step: RuleStep, before: Edition) -> None:
        self._step = step
        self._before = before
        self._old = {rule.id: rule for rule in before.rules}
        self._serials = before.serials
        self._faults: list[RuleFault] = []

    def edition(self, read: Rules, digest: str, epoch: int) -> Edition:
        wrong = {name for name, _ in read.faults}
        for name, problem in read.faults:
            self._note(name, problem)
        staying = [rule for rule in self._before.rules if rule.id in wrong]
        taken = [self._taken(rule) for rule in read.rules if rule.active]
        rules = tuple(sorted((*staying, *filter(None, taken)), key=lambda rule: rule.serial))
        changed = rules != self._before.rules
        return Edition(
            epoch,
            digest,
            self._number if changed else self._before.number,
            rules,
            {**self._before.versions, **{rule.id: rule.version for rule in rules}},
            self._serials,
            tuple(self._faults),
        )

    @property
    def _number(self) -> int:
        return self._before.number + 1

    def _taken(self, rule: Rule) -> RuleInForce | None:
        """A rule of the table as it is in force from now on: as before, anew, or not at all."""
        old = self._old.get(rule.id)
        pattern = self._step.declared(rule)
        if old is not None and old.pattern == pattern:
            return old if rule.version in (None, old.version) else replace(old, version=rule.version)
        problems = list(self._step.problems(rule))
        if old is not None and rule.version == old.version:
            problems.append(
                (f"it has changed, and its version is still {old.version}", "give it the next version")
            )
        for what, hint in problems:
            self._note(rule.id, Problem(rule.where, what, hint))
        if problems:
            return old
        self._serials += 1
        return RuleInForce(rule.id, self._version(rule), self._serials, self._number, pattern)

    def _version(self, rule: Rule) -> int:
        return rule.version if rule.version is not None else self._before.versions.get(rule.id, 0) + 1

    def _note(self, name: str, problem: Problem) -> None:
        old = self._old.get(name)
        said = f"rule `{name}`"
        place = problem.where if said in problem.where else f"{problem.where}: {said}"
        self._faults.append(_fault(replace(problem, where=place), name, old.version if old else None))


def _fault(problem: Problem, name: str, version: int | None) -> RuleFault:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return RuleFault(name, version, problem.what, problem.hint, problem.where, now)


def load_now(step: RuleStep, table: RuleTable) -> None:
    """Load all rules of a table into a step over a batch, where they are in force from the first row on.

    Raises:
        PlanError: a rule is wrong.
    """
    edition = _Revision(step, Edition(BEFORE)).edition(table.look().read(), "", BEFORE)
    _refuse(edition)
    step.kernel.load(edition.loaded)


def _refuse(edition: Edition) -> None:
    if edition.faults:
        raise PlanError([Problem(f.place, f.reason, f.hint) for f in edition.faults])


def _unread(error: HeadraceError) -> str:
    """What stands for the digest of a table that can't be read."""
    return f"unread: {error.what}"
