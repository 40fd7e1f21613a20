"""Why a pattern has (not) matched for a key: told from the checkpoint, and from the input read again.

The checkpoint holds the truth about now: the key's partial matches and the rows that wait for the watermark. What became of
rows before them is no longer in it; where the input can be read again, the kernel goes through the key's rows once more,
with the same matcher, and notes which condition it asked of which row. Nothing is locked or written.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.engine.assembly import refuse_changed
from headrace.engine.checkpoints import checkpoint_of, progress_of, queries_with_state
from headrace.engine.jars import jars_for
from headrace.engine.keys import NULL, is_key, key_of
from headrace.engine.matching import GIVEN, Declared
from headrace.engine.physical import assembled_aside
from headrace.engine.reading_again import CantBeReadAgain, read_again
from headrace.engine.session import open_session
from headrace.engine.state_entries import MATCHES, StateFiles
from headrace.errors import OptionError, did_you_mean
from headrace.plan.nodes import Match, MatchRules, RowPattern

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.engine.assembly import Assembled
    from headrace.engine.checkpoints import Progress
    from headrace.plan.graph import Graph

_END = 253_370_764_800_000_000
_NONE = -(2**63)
_KEYS_LOOKED_AT = 1000


@dataclass(frozen=True)
class Why:
    """What a step with a pattern says of one key."""

    step: str
    verb: str
    key: dict[str, str]
    progress: Progress
    known: bool = True
    """Whether the checkpoint or the input has the key."""
    partials: tuple[dict[str, Any], ...] = ()
    """Partial matches of the checkpoint: their rows, what each waits for, and when it times out."""
    waiting: tuple[dict[str, Any], ...] = ()
    """Rows that wait for the watermark, and what they would do if it passed them now."""
    rows: tuple[dict[str, Any], ...] = ()
    """The last rows of the key that were taken, with the conditions asked of them and what came of it."""
    after: tuple[dict[str, Any], ...] = ()
    """Matches and timeouts that no row brought, but the watermark."""
    unread: tuple[dict[str, Any], ...] = ()
    """Rows of the input ahead of the watermark that the checkpoint doesn't have."""
    taken: int | None = None
    """How many rows of the key have been taken in all; None where the input can't be read again."""
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "step": self.step,
            "kind": self.verb,
            "key": self.key,
            "epoch": self.progress.epoch,
            "watermark": self.progress.watermark,
            "partial_matches": list(self.partials),
            "waiting": list(self.waiting),
            "rows_taken": self.taken,
            "rows": list(self.rows),
            "after": list(self.after),
            "unread": list(self.unread),
            "notes": list(self.notes),
        }


def why_of(
    graph: Graph,
    directory: Path,
    *,
    key: Sequence[str],
    step: str | None = None,
    rows: int = 5,
    read_input: bool = True,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> list[Why]:
    """What the steps with patterns say of a key.

    Args:
        graph: the plan.
        directory: the pipeline's directory.
        key: as `key_of` reads it.
        step: only this one.
        rows: so many of the last rows are told of.
        read_input: whether the sources are read again.
        master: as Spark spells it.
        conf: settings of Spark's.

    Raises:
        OptionError: there is no pattern, no checkpoint, or no such key.
        PlanError: the state is of a step that was declared differently.
    """
    wanted = _wanted(graph, directory, step)
    keys = {name: key_of(key, _columns(graph[name])) for name in wanted}
    spark = open_session(graph.name, master=master, conf=conf, jars=jars_for(graph.connectors))
    with assembled_aside(spark, graph) as built:
        chosen = [one for one in built if one.query.name in wanted]
        refuse_changed(graph, chosen, directory)
        asked = [_Question(spark, graph, directory, one, keys[one.query.tip.step]) for one in chosen]
        answers = [question.answer(rows, read_input=read_input) for question in asked]
        if not any(answer.known for answer in answers):
            raise _unknown_key(asked, answers)
        return answers


def _wanted(graph: Graph, directory: Path, step: str | None) -> list[str]:
    """The names of the steps that are asked."""
    known = [node.name for node in graph if isinstance(node, Match | RowPattern)]
    if not known:
        hint = "headrace state shows what other steps remember"
        where = "a table of rules has them" if graph.of(MatchRules) else f"`{graph.name}` has none"
        raise OptionError(f"expected a step with a pattern of its own; {where}", where="FILE", hint=hint)
    if step is not None and step not in known:
        what = (
            f"`{step}` has no pattern"
            if any(node.name == step for node in graph)
            else f"no step is called `{step}`"
        )
        raise OptionError(what, where="--step", hint=did_you_mean(step, known))
    begun = [query.name for query in queries_with_state(graph, directory, step) if query.name in known]
    if not begun:
        hint = "run the pipeline first"
        raise OptionError("no step with a pattern has a checkpoint yet", where=str(directory), hint=hint)
    return begun


def _columns(node: Any) -> list[str]:
    return [name for name, _ in node.keys] if isinstance(node, Match) else list(node.clause.partition_by)


@dataclass
class _Question:
    """One step asked about one key."""

    spark: SparkSession
    graph: Graph
    directory: Path
    query: Assembled
    key: dict[str, str]
    _given: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.node: Any = self.graph[self.query.query.tip.step]
        checkpoint = checkpoint_of(self.directory, self.query.query)
        self.progress = progress_of(checkpoint)
        self.files = StateFiles(self.spark, checkpoint)
        kernel = self.spark._jvm.org.apache.spark.sql.headrace  # type: ignore[union-attr]
        trunk = self.query.trunk._jdf
        if isinstance(self.node, Match):
            self._given = {name: _said(given) for name, given in Declared(self.node, ()).columns.items()}
            self.kernel = kernel.patterns.Inquiry.of(trunk)
        else:
            self.kernel = kernel.rowpatterns.RowPatternInquiry.of(trunk)

    def answer(self, rows: int, *, read_input: bool) -> Why:
        """All that can be told."""
        stored, pieces = self._state()
        partials = self._read(self.kernel.partials(stored))
        waits = self._read(self.kernel.waiting(stored, pieces))
        why = Why(
            self.node.name, self.node.verb, self.key, self.progress, known=stored is not None or bool(waits)
        )
        why = replace(why, partials=tuple(partials), waiting=tuple(waits))
        if not read_input:
            return replace(why, known=True, notes=("the input was not read again (--no-input)",))
        try:
            return self._with_history(why, self._input(), rows)
        except CantBeReadAgain as reason:
            return replace(
                why, notes=(f"rows that are no longer in the checkpoint can't be told of: {reason}",)
            )

    def _with_history(self, why: Why, frame: DataFrame, rows: int) -> Why:
        with CantBeReadAgain.for_sparks_errors():
            told = self._read(self.kernel.history(self._of_key(frame)._jdf, self._watermark(), rows))
        unread = _without(told["ahead"], why.waiting)
        notes = []
        if _shape(told["partials"]) != _shape(why.partials):
            notes.append(
                "the input, read again, leads to other partial matches than the checkpoint has: rows came late, "
                "or the input has changed. What is told of rows is by the input"
            )
        return replace(
            why,
            known=why.known or bool(told["count"] or unread),
            rows=tuple(told["rows"]),
            after=tuple(told["after"]),
            unread=tuple(unread),
            taken=told["count"],
            notes=tuple(notes),
        )

    def keys_at_hand(self) -> set[str]:
        """Some keys of the checkpoint and of the input."""
        frames = [] if self.progress.epoch is None else [self.files.entries(MATCHES).select("key.*")]
        with suppress(CantBeReadAgain), CantBeReadAgain.for_sparks_errors():
            frames.append(self._input().select(*(f"`{name}`" for name in self._names())))
            return {key for frame in frames for key in _some(frame)}
        return {key for frame in frames[:1] for key in _some(frame)}

    def _names(self) -> list[str]:
        """The key's columns inside the step, where one that is computed has another name."""
        from headrace.engine.lower import hidden_key

        if not isinstance(self.node, Match):
            return list(self.key)
        return [name if key == name else hidden_key(name) for name, key in self.node.keys]

    def _inside(self) -> dict[str, str]:
        return dict(zip(self._names(), self.key.values(), strict=True))

    def _state(self) -> tuple[bytes | None, Any]:
        """The key's own entry, and the pieces of older rows that wait, in order."""
        pieces = self.spark._jvm.java.util.ArrayList()  # type: ignore[union-attr]
        if self.progress.epoch is None:
            return None, pieces
        entries = self.files.entries(MATCHES)
        own = entries.where(is_key(self._inside(), entries.schema["key"].dataType, "key"))  # type: ignore[arg-type]
        found = {row["slot"]: bytes(row["value"]) for row in own.select("slot", "value").collect()}
        for slot in sorted(found.keys() - {0}):
            pieces.add(found[slot])
        return found.get(0), pieces

    def _input(self) -> DataFrame:
        return read_again(self.spark, self.graph, self.query.query, self.directory)

    def _of_key(self, frame: DataFrame) -> DataFrame:
        """The key's rows in order, with the columns that the kernel wants."""
        from pyspark.sql import functions as F  # noqa: N812

        from headrace.engine.expressions import POSITION, TIME

        own = frame.where(is_key(self._inside(), frame.schema))
        by_arrival = isinstance(self.node, Match) and self.node.order == "arrival"
        order = [name for name in (*(() if by_arrival else (TIME,)), POSITION) if name in frame.columns]
        wanted = [
            F.col(f"`{name}`") if name in own.columns else F.lit(None).alias(name)
            for name in self.kernel.columns()
        ]
        return own.orderBy(*order).select(*wanted)

    def _watermark(self) -> int:
        said = self.progress.watermark
        if said is None:
            return _NONE
        if said == "end":
            return _END
        return round(datetime.fromisoformat(said).timestamp() * 1000) * 1000

    def _read(self, text: str) -> Any:
        """What the kernel says, with conditions as the user wrote them."""
        told = json.loads(re.sub(rf"{GIVEN}\d+", lambda found: json.dumps(self._given[found[0]])[1:-1], text))
        if isinstance(self.node, RowPattern):
            _with_conditions(told, {name: text.text for name, text in self.node.clause.define})
        return told


def _with_conditions(told: Any, defined: Mapping[str, str]) -> None:
    """Put the DEFINE of each variable where the kernel names it."""
    for one in told if isinstance(told, list) else [*told["rows"], *told["partials"]]:
        tests = [test for asked in one.get("asked", ()) for test in asked["tests"]]
        for named in (*tests, *one.get("waits_for", ())):
            named["condition"] = defined.get(named["step"])


def _said(column: Any) -> str:
    return re.sub(r"^Column<'(.*)'>$", r"\1", str(column), flags=re.DOTALL)


def _shape(partials: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted(json.dumps([one["complete"], one["rows"]], sort_keys=True) for one in partials)


def _without(rows: Iterable[dict[str, Any]], known: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows less those that are known, each once."""
    rest = [(one["time"], one["row"]) for one in known]
    left = []
    for row in rows:
        if (row["time"], row["row"]) in rest:
            rest.remove((row["time"], row["row"]))
        else:
            left.append(row)
    return left


def _some(frame: DataFrame) -> list[str]:
    rows = frame.distinct().limit(_KEYS_LOOKED_AT).collect()
    return [",".join(NULL if value is None else str(value) for value in row) for row in rows]


def _unknown_key(asked: Sequence[_Question], answers: Sequence[Why]) -> OptionError:
    said = ",".join(asked[0].key.values())
    known = sorted({key for question in asked for key in question.keys_at_hand()})
    near = difflib.get_close_matches(said, known, n=5, cutoff=0.5) or known[:5]
    hint = f"keys that are there: {', '.join(near)}" if near else "it has no keys yet"
    if len(near) < len(known):
        hint += ", ..."
    notes = {note for answer in answers for note in answer.notes}
    where = "the checkpoint" if notes else "the checkpoint and the input"
    return OptionError(f"{where} know nothing of the key {said}", where="--key", hint=hint)
