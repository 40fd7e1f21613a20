"""The catalogue of a shell: what its statements have declared, and the scripts that its queries become."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from headrace.cli.shell.parsing import DECLARED, Entered, Kind, read_statement
from headrace.errors import DocumentError, HeadraceError, OptionError, PlanError, Problem, did_you_mean
from headrace.plan.graph import Graph
from headrace.plan.validation import problems_of
from headrace.runtime.options import Until
from headrace.statements import Declared, declare
from headrace.statements.relations import Relation
from headrace.statements.tokens import Cursor, Script, split_statements, tokenize

SETTINGS = ("name", "until", "checkpoint")
_TEXT = "sql"
"""The name of the text of a session in errors, before they get the places of its inputs."""
_ENDS: tuple[Until, ...] = ("drained", "stopped", "caught_up")


@dataclass
class Settings:
    """The settings of a shell, `SET 'name' = 'value'`."""

    name: str = "shell"
    until: Until | None = None
    """When a query ends; None: at the end of an input that has one."""
    checkpoint: Path | None = None
    """The checkpoint of INSERT INTO; None for a temporary one."""

    def change(self, name: str, value: str) -> None:
        """Change a setting.

        Raises:
            OptionError: it is unknown, or the value is not accepted.
        """
        match name.lower():
            case "name":
                self.name = value
            case "until":
                ends = {end: end for end in _ENDS}
                if value not in ("auto", *ends):
                    raise OptionError(f"expected auto, {', '.join(ends)}, got {value!r}", where="until")
                self.until = ends.get(value)  # type: ignore[call-overload]
            case "checkpoint":
                self.checkpoint = Path(value) if value else None
            case _:
                hint = did_you_mean(name, SETTINGS)
                raise OptionError(f"unknown setting `{name}`", where="SET", hint=hint)


@dataclass
class Session:
    """The text that was entered, and the statements in it that are in force.

    A query is compiled together with the declarations, which keep their places in the text: all other
    statements are replaced by spaces, so that errors have the line and column that the user sees.
    """

    settings: Settings = field(default_factory=Settings)
    _text: str = ""
    _declared: dict[str, Entered] = field(default_factory=dict)
    _inputs: list[tuple[int, str]] = field(default_factory=list)
    """The first line of each input, and its file; empty for the terminal."""

    def enter(self, text: str, file: str = "") -> list[Entered]:
        """Add an input and return its statements.

        Raises:
            DocumentError: the syntax of a statement is wrong.
        """
        before = self._text
        self._inputs.append((before.count("\n") + 1, file))
        script = Script(_blank(before) + text, _TEXT)
        self._text = before + text.rstrip() + "\n;\n"
        entered: list[Entered] = []
        problems: list[Problem] = []
        with self.places():
            for tokens in split_statements(script):
                try:
                    entered.append(read_statement(Cursor(script, tokens)))
                except DocumentError as error:
                    problems += error.problems
            if problems:
                raise DocumentError(problems)
        return entered

    def check(self, entered: Iterable[Entered]) -> None:
        """Check statements one after the other, without an effect on this session.

        Raises:
            DocumentError: with the problems of all statements, but those that use a statement with a problem.
        """
        draft = replace(self, settings=replace(self.settings), _declared=dict(self._declared))
        problems: list[Problem] = []
        wrong: set[str] = set()
        for statement in entered:
            if wrong & {word.lower() for word in re.findall(r"\w+", self.text_of(statement))}:
                continue
            try:
                draft.apply(statement)
            except HeadraceError as error:
                problems += error.problems
                wrong |= {statement.key} if statement.kind in DECLARED else set()
        if problems:
            raise DocumentError(problems)

    def apply(self, statement: Entered) -> Graph | None:
        """Check a statement and put its declaration or setting in force; return the plan if it has one.

        Raises:
            HeadraceError: it is invalid.
        """
        match statement.kind:
            case "setting":
                self.settings.change(statement.name, statement.value)
            case "drop":
                self.drop(statement)
            case "query" | "insert" | "explain":
                return self.compile(statement)
            case "describe":
                self.relation(statement.name.partition(".")[0])
            case kind if kind in DECLARED:
                self.declare(statement)
        return None

    def declared(self, *kinds: Kind) -> list[Entered]:
        """Return the declarations of these kinds in force."""
        return [each for each in self._declared.values() if each.kind in (kinds or DECLARED)]

    def find(self, name: str) -> Entered | None:
        """Return the declaration of a name."""
        return self._declared.get(name.lower())

    def text_of(self, statement: Entered) -> str:
        """Return the text of a statement."""
        return self._text[statement.start : statement.end]

    def declare(self, statement: Entered) -> None:
        """Check a declaration and put it in force.

        Raises:
            DocumentError: it is invalid.
            PlanError: its steps are invalid.
        """
        replaced = self.find(statement.name) if statement.replaces else None
        others = {key: each for key, each in self._declared.items() if each is not replaced}
        end = statement.start if replaced is None else replaced.start  # later ones may read what is replaced
        used = [each for each in others.values() if not each.writes and each.start < end]
        self._check(self._declare([*used, statement]).graph)
        before = self._declared
        self._declared = {**others, statement.key: statement}
        try:
            if replaced is not None:
                self._compile_all()
        except HeadraceError as error:
            self._declared = before
            what = f"`{statement.name}` is used: {error.problems[0].what}"
            raise OptionError(what, where="CREATE OR REPLACE", hint="drop what reads it first") from None

    def drop(self, statement: Entered) -> None:
        """Remove a declaration.

        Raises:
            OptionError: there is none, or another declaration reads it.
        """
        dropped = self.find(statement.name)
        if dropped is None or dropped.kind != statement.value:
            names = [each.name for each in self.declared(statement.value)]  # type: ignore[arg-type]
            hint = did_you_mean(statement.name, names)
            raise OptionError(f"unknown {statement.value} `{statement.name}`", where="DROP", hint=hint)
        others = {key: each for key, each in self._declared.items() if key != dropped.key}
        before, self._declared = self._declared, others
        try:
            self._compile_all()
        except HeadraceError as error:
            self._declared = before
            what = f"`{dropped.name}` is used: {error.problems[0].what}"
            raise OptionError(what, where="DROP", hint="drop what reads it first") from None

    def compile(self, statement: Entered) -> Graph:
        """Return the checked plan of a query, an INSERT INTO, or a sink with a query.

        Raises:
            DocumentError: the statement is invalid.
            PlanError: its steps are invalid.
        """
        used = [each for each in self._declared.values() if each.kind != "sink"]
        used += [each for each in self.declared("sink") if each.key == statement.key and not each.writes]
        if statement.kind == "insert" and self.find(statement.name) not in used:
            used += [each for each in self.declared("sink") if each.key == statement.key]
        graph = self._declare([*used, statement], unused_sinks=False).graph
        self._check(graph)
        return graph

    def script(self, *statements: Entered) -> str:
        """Return the declarations and these statements as a script, without sinks that it does not use."""
        written = {each.key for each in statements if each.kind == "insert"}
        declared = [
            each
            for each in self._declared.values()
            if each.kind != "sink" or each.key in written or (each.writes and not statements)
        ]
        return "".join(f"{self.text_of(each)};\n" for each in (*declared, *statements))

    def relations(self) -> Declared:
        """Return the relations that queries can read; empty if a declaration is invalid."""
        used = [each for each in self._declared.values() if not each.writes]
        try:
            return self._declare(used)
        except HeadraceError:
            return Declared(Graph(self.settings.name, {}), {})

    def relation(self, name: str) -> tuple[Entered, Relation | None, Graph]:
        """Return a declaration, its relation, and the plan that has it.

        Raises:
            OptionError: the name is unknown.
        """
        declared = self.find(name)
        if declared is None:
            known = [each.name for each in self.declared()]
            raise OptionError(f"unknown name `{name}`", where="DESCRIBE", hint=did_you_mean(name, known))
        all_declared = self.relations()
        return declared, all_declared.relations.get(declared.key), all_declared.graph

    def _compile_all(self) -> None:
        """Check all declarations after a change of one."""
        used = list(self._declared.values())
        self._declare(each for each in used if not each.writes)
        for each in used:
            if each.writes:
                self.compile(each)

    def _declare(self, used: Iterable[Entered], *, unused_sinks: bool = True) -> Declared:
        text = _keep(self._text, sorted((each.start, each.end) for each in used))
        with self.places():
            return declare(text, file=_TEXT, name=self.settings.name, unused_sinks=unused_sinks)

    def _check(self, graph: Graph) -> None:
        with self.places():
            if problems := problems_of(graph):
                raise PlanError(problems)

    @contextmanager
    def places(self) -> Iterator[None]:
        """Give errors the places that the user sees: in a file, or in the last input."""
        try:
            yield
        except DocumentError as error:
            raise DocumentError([self._relocate(each) for each in error.problems]) from None
        except PlanError as error:
            raise PlanError([self._relocate(each) for each in error.problems]) from None
        except HeadraceError as error:
            if (place := self._relocate(error.problem)) == error.problem:
                raise
            raise type(error).of(place) from None

    def _relocate(self, problem: Problem) -> Problem:
        match = re.match(rf"{_TEXT}:(\d+):(\d+)(.*)", problem.where, re.DOTALL)
        if match is None:
            return problem
        number = bisect_right(self._inputs, int(match[1]), key=lambda each: each[0]) - 1
        first_line, file = self._inputs[number]
        place = f"{int(match[1]) - first_line + 1}:{match[2]}"
        if file:
            place = f"{file}:{place}"
        elif number < len(self._inputs) - 1:
            place = f"an earlier input, {place}"
        return Problem(place + match[3], problem.what, problem.hint)


def is_complete(text: str) -> bool:
    r"""Return True if an input needs no further line: it ends with a semicolon, or is a command.

    >>> is_complete("select 1;"), is_complete("select ';"), is_complete("\\help"), is_complete("-- a;")
    (True, False, True, False)
    """
    if not text.strip() or text.lstrip().startswith("\\"):
        return True
    from sqlglot import TokenType
    from sqlglot.errors import TokenError

    try:
        tokens = tokenize(text)
    except TokenError:
        return False
    return not tokens or tokens[-1].token_type == TokenType.SEMICOLON


def _keep(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text with spaces for everything outside of these parts; lines keep their numbers."""
    parts, position = [], 0
    for start, end in spans:
        parts += [_blank(text[position:start]), text[start:end], ";"]
        position = end if text[end] == "\n" else end + 1
    return "".join([*parts, _blank(text[position:])])


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def columns_of(relation: Relation, graph: Graph) -> tuple[str, ...]:
    """Return the columns of a relation, or those that the plan derives for it."""
    if visible := relation.visible():
        return visible
    step, _, output = relation.ref.partition(".")
    return _facts_columns(graph, step, output)


def _facts_columns(graph: Graph, step: str, output: str) -> tuple[str, ...]:
    from headrace.steps.base import Ref

    if step not in graph.nodes:
        return ()
    node = graph[step]
    return graph.facts(Ref(step, output or node.outputs[0])).columns or ()
