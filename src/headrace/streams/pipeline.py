"""`Pipeline`: the nodes of a plan; the other classes of this package are handles to their outputs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.connectors.base import Connector, Guarantee
from headrace.connectors.memory import Memory
from headrace.durations import Duration
from headrace.errors import (
    CELL,
    DocumentError,
    HeadraceError,
    Location,
    OptionError,
    PlanError,
    Problem,
    clean_traceback,
)
from headrace.formats import Format
from headrace.plan.graph import Graph, is_in_memory
from headrace.plan.validation import problems_of
from headrace.runtime.options import ExecutionMode, RunOptions, Until
from headrace.schemas.fields import Schema
from headrace.steps.base import NAME, Node, Ref, generate_name
from headrace.steps.endpoints.source import FrameSource, OnError, source_node
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.streams.signatures import verb

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.runtime.handle import RunHandle
    from headrace.statements import Declared
    from headrace.streams.results import QueryResult, SourceStream
    from headrace.streams.stream import Stream

_PACKAGE = str(Path(__file__).parent.parent)
_collected: ContextVar[list[Pipeline] | None] = ContextVar("collected", default=None)


@dataclass(frozen=True)
class DeclaredRun:
    """A call of `run` in a file that the command line has loaded, or the settings of a script."""

    options: RunOptions
    place: str
    """The place of the call; empty for a script."""


class PlanDescription(str):
    """A description of a plan: text that notebooks show with its lines."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f'<pre style="line-height:1.25">{escape(self)}</pre>'


class Pipeline:
    """A named graph of steps, from sources to sinks.

    Building a pipeline reads no data and starts no JVM; `check`, `explain`, `run` and `start` raise all its
    errors together.

    >>> from headrace import Pipeline, connect
    >>> words = Pipeline("words")
    >>> lines = words.read("lines", connect.files(path="books/"), format="text")
    >>> lines.select("explode(split(value, ' ')) as word").key_by("word").aggregate("counts", n="count(*)")
    <counts of words>
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise OptionError(f"expected a name of letters, digits, _ and -, got {name!r}", where="pipeline")
        self.name = name
        self._nodes: dict[str, Node] = {}
        self._places: dict[str, str] = {}
        self._problems: list[Problem] = []
        self._declared_run: DeclaredRun | None = None
        """The call of `run` in a file that the command line has loaded."""
        collected = _collected.get()
        if collected is not None:
            collected.append(self)

    @classmethod
    def from_yaml(cls, path: str | Path, /, *, environment: Mapping[str, str] | None = None) -> Pipeline:
        """Read a pipeline from a YAML document.

        Args:
            path: the file.
            environment: the variables, such as `${KAFKA:-localhost:9092}`; default: the environment of the
                process.

        Raises:
            DocumentError: the file cannot be read, or the document is invalid; every error has line and
                column.
        """
        from headrace import yaml

        try:
            return cls._from_graph(yaml.load(path, environment=environment))
        except HeadraceError as error:
            raise clean_traceback(error) from None

    @classmethod
    def from_yaml_text(
        cls,
        text: str,
        /,
        *,
        file: str = "<text>",
        name: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> Pipeline:
        """Read a pipeline from the text of a YAML document.

        Args:
            text: the document.
            file: the name of the document in errors.
            name: the name of the pipeline if the document has none.
            environment: the variables; default: the environment of the process.

        >>> from headrace import Pipeline
        >>> Pipeline.from_yaml_text("sources: {lines: {memory: {}, schema: word string}}", name="words")
        <pipeline words>
        """
        from headrace import yaml

        try:
            return cls._from_graph(yaml.from_text(text, file=file, name=name, environment=environment))
        except HeadraceError as error:
            raise clean_traceback(error) from None

    @classmethod
    def from_sql(cls, path: str | Path, /, *, environment: Mapping[str, str] | None = None) -> Pipeline:
        """Read a pipeline from a file of SQL statements.

        The pipeline has the name of `SET 'name' = ...`, or that of the file. `SET 'every'` and `SET
        'checkpoint'` are the defaults of its runs.

        Args:
            path: the file.
            environment: the variables, such as `${KAFKA:-localhost:9092}`; default: the environment of the
                process.

        Raises:
            DocumentError: the file cannot be read, or a statement is invalid; every error has line and
                column.
        """
        from headrace import statements

        try:
            return cls._from_script(statements.load(path, environment=environment))
        except HeadraceError as error:
            raise clean_traceback(error) from None

    @classmethod
    def from_sql_text(
        cls,
        text: str,
        /,
        *,
        file: str = "<sql>",
        name: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> Pipeline:
        """Read a pipeline from the text of SQL statements.

        Args:
            text: the statements, separated by semicolons.
            file: the name of the script in errors.
            name: the name of the pipeline if the script has no `SET 'name' = ...`.
            environment: the variables; default: the environment of the process.

        >>> from headrace import Pipeline
        >>> source = "CREATE SOURCE words (word STRING) WITH (connector = 'memory');"
        >>> Pipeline.from_sql_text(f"{source} SELECT upper(word) AS upper FROM words", name="words")
        <pipeline words>
        """
        from headrace import statements

        try:
            return cls._from_script(statements.declare(text, file=file, name=name, environment=environment))
        except HeadraceError as error:
            raise clean_traceback(error) from None

    @classmethod
    def _from_graph(cls, graph: Graph, /) -> Pipeline:
        """Return a pipeline with the nodes of a plan."""
        pipeline = cls(graph.name)
        pipeline._nodes, pipeline._places = dict(graph.nodes), dict(graph.places)
        return pipeline

    @classmethod
    def _from_script(cls, script: Declared) -> Pipeline:
        """Return the pipeline of a script, with its options of runs."""
        pipeline = cls._from_graph(script.graph)
        if script.settings:
            pipeline._declared_run = DeclaredRun(RunOptions(**script.settings), "")  # type: ignore[arg-type]
        return pipeline

    def to_yaml(self) -> str:
        """Return the pipeline as a YAML document; `from_yaml_text` reads it back to an equal plan.

        >>> from headrace import Pipeline, connect
        >>> pipeline = Pipeline("p")
        >>> _ = pipeline.read("tx", connect.memory(), schema="amount double")
        >>> print(pipeline.to_yaml(), end="")
        name: p
        sources:
          tx: {memory: {}, schema: amount double}

        Raises:
            DocumentError: the plan has values that a document cannot have, such as a pyspark Column or a
                DataFrame.
        """
        from headrace import yaml

        return yaml.dump(self._graph)

    @verb()
    def read(
        self,
        name: str,
        connector: Connector,
        /,
        *,
        format: str | Format | None = None,  # noqa: A002
        schema: str | type | Schema | None = None,
        on_error: OnError = "divert",
    ) -> SourceStream:
        """Read a source.

        Args:
            name: its name, in errors, metrics, checkpoints and SQL.
            connector: from `connect`.
            format: the format of records: `"json"`, `"avro"`, `"csv"`, `"text"`, `"raw"`, or
                with options.
            schema: the columns, as Spark's DDL text, a dataclass or a pydantic model.
            on_error: for a record that cannot be decoded: `"divert"` sends it to `.dead_letters`, `"skip"`
                counts it, `"fail"` stops the run.
        """
        from headrace.streams.results import SourceStream

        node = source_node(name, connector, format=format, schema=schema, on_error=on_error)
        return SourceStream(self, self._add(node))

    def from_dataframe(self, name: str, frame: DataFrame, /) -> Stream:
        """Read a streaming or batch DataFrame as a source.

        The first run stores the rows of a batch DataFrame in the checkpoint; later runs resume from them.
        """
        from headrace.streams.stream import Stream

        return Stream(self, self._add(FrameSource(name, frame)))

    def sql(self, name: str, query: str, /) -> QueryResult:
        """Add a query over named streams and tables, in the grammar of SQL scripts.

        A query that selects rows and columns of a stream is a step in Spark SQL. Any other query becomes the
        steps that a view of a script becomes: aggregates, windows, joins, top-N, `OVER`, subqueries.

        >>> from headrace import Pipeline, connect
        >>> stocks = Pipeline("stocks")
        >>> ticks = stocks.read("ticks", connect.memory(), schema="symbol string, price double, ts timestamp")
        >>> _ = ticks.event_time("ts")
        >>> stocks.sql("falls", '''
        ...     select * from ticks match_recognize (
        ...         partition by symbol order by ts
        ...         measures first(down.ts) as since, last(down.price) as price
        ...         pattern (down{3,}) define down as down.price < prev(down.price))''')
        <falls of stocks>
        >>> stocks.sql("highest", '''
        ...     select symbol, window_start, max(price) as price
        ...     from tumble(table ticks, descriptor(ts), interval '1' minute)
        ...     group by symbol, window_start, window_end''')
        <highest:select of stocks>
        """
        return self._add_query(name, query, {})

    def _add_query(self, name: str, query: str, tables: Mapping[str, Ref]) -> QueryResult:
        """Add the steps of a query over named streams and these tables."""
        from headrace.streams.results import QueryResult

        if not isinstance(query, str):
            raise OptionError(f"expected a query in Spark SQL, got {query!r}", where=f"`{name}`")
        nodes = [node for node in self._nodes.values() if not node.anonymous and node.outputs]
        known = {**{node.name: Ref(node.name) for node in nodes}, **tables}
        refs = [self._add(node) for node in self._query_nodes(name, query, known)]
        return QueryResult(self, refs[-1])

    def _query_nodes(self, name: str, query: str, known: Mapping[str, Ref]) -> list[Node]:
        from headrace.statements.query_steps import step_nodes
        from headrace.yaml.build import read_steps

        timed, where = self._tables_with_time(), f"`{name}`"
        try:
            return step_nodes(self._graph, name, query, known, timed=timed, where=where, read=read_steps)
        except DocumentError as error:
            problem = error.problems[0]
            raise OptionError(problem.what, where=problem.where, hint=problem.hint) from None

    def _tables_with_time(self) -> dict[str, Ref]:
        """Return the timed rows of streams with one declaration of time, by name, for `MATCH_RECOGNIZE`."""
        times: dict[str, list[Ref]] = {}
        for node in self._nodes.values():
            if isinstance(node, EventTime | ClockTime) and node.anonymous:
                times.setdefault(str(node.input), []).append(Ref(node.name))
        return {name: refs[0] for name, refs in times.items() if len(refs) == 1}

    @property
    def _graph(self) -> Graph:
        """The plan so far."""
        return Graph(self.name, self._nodes, self._places)

    @verb()
    def check(self) -> None:
        """Check the plan.

        Raises:
            PlanError: lists every problem of the plan.
        """
        self._plan()

    def _plan(self) -> Graph:
        problems = [*self._problems, *problems_of(self._graph)]
        if problems:
            raise PlanError(problems)
        return self._graph

    @verb()
    def explain(self, *, width: int = 100) -> str:
        """Describe the pipeline as text, like `headrace explain`, without running it.

        The text has a drawing of the steps, the Spark queries, tiers, state and guarantees.

        >>> from headrace import Pipeline, connect
        >>> copy = Pipeline("copy")
        >>> lines = copy.read("tx", connect.files(path="in/"), format="text")
        >>> lines.write("out", connect.files(path="out/"))
        >>> print(copy.explain().split("Queries")[0].rstrip())
        copy   exactly once · 1 query
          ◉ read   ○ step   ● keeps state   ■ write
        <BLANKLINE>
          ◉  tx   read          files path=in/ · text · value string
          │                     unrouted dead letters are counted and stored in files
          ■  out  write         files path=out/

        Raises:
            PlanError: lists every problem of the plan.
        """
        from headrace.explain.explanation import explain
        from headrace.explain.text import drawing, text_of

        if not isinstance(width, int) or width < 1:
            raise OptionError(f"expected a number of columns, got {width!r}", where="explain: width")

        return PlanDescription(text_of(drawing(explain(self._plan()), width=width)))

    @verb()
    def run(
        self,
        *,
        until: Until = "stopped",
        mode: ExecutionMode = "micro_batch",
        every: Duration | None = None,
        fresh: bool = False,
        standby: bool = False,
        progress: bool | None = None,
        guarantee: Guarantee | None = None,
        checkpoint: str | Path | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
    ) -> None:
        """Run the pipeline and block until it has ended or is stopped by Ctrl-C.

        The first Ctrl-C stops it gracefully; the second raises `KeyboardInterrupt`. In a file that
        `headrace run file.py` loads, the call only sets the options of the run.

        Args:
            until: `"stopped"`: run until stopped. `"caught_up"`: process the available input and exit;
                windows stay open for the next run. `"drained"`: process the available input, fire and close
                every window and end the job for good.
            mode: `"real_time"` passes rows from Kafka to Kafka within milliseconds, at least once.
            every: the interval between micro-batches; default: as fast as possible. In real-time mode: the
                length of a batch, default 1 minute.
            fresh: start with a new checkpoint and move the previous one aside. Nothing is deleted from the
                sinks.
            standby: start Spark and wait until the active run of the pipeline fails or is killed, then
                resume from its checkpoint; end if that run is stopped. Run at once if there is no other run.
            progress: show progress; default: on a terminal and in notebooks.
            guarantee: reject the plan if its sources and sinks provide less; default: the best guarantee
                that they provide.
            checkpoint: the checkpoint directory; default: `.headrace/<name>`. Without it, a pipeline whose
                sources and sinks are all in memory starts over with new memory connectors and after a drain.
            master: the Spark master; default: `local[*]`.
            conf: Spark settings.
        """
        options = RunOptions(
            until=until,
            mode=mode,
            every=every,
            fresh=fresh,
            standby=standby,
            progress=progress,
            guarantee=guarantee,
            checkpoint=checkpoint,
            master=master,
            conf=conf or {},
        )
        if _collected.get() is not None:
            self._declared_run = DeclaredRun(options, _calling_place())
            return
        from headrace.runtime.progress.live import run_with_progress

        options = self._with_settings(options)
        session = self._session_of(options.checkpoint, standby=standby)
        run_with_progress(self._plan(), options, session=session)

    @verb()
    def start(
        self,
        *,
        until: Until = "stopped",
        mode: ExecutionMode = "micro_batch",
        every: Duration | None = None,
        fresh: bool = False,
        standby: bool = False,
        progress: bool | None = None,
        guarantee: Guarantee | None = None,
        checkpoint: str | Path | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
    ) -> RunHandle:
        """Start a run and return its handle; the options are those of `run`."""
        if _collected.get() is not None:
            raise OptionError(
                "start() is called while the command line loads the file",
                where=f"pipeline `{self.name}`",
                hint='move it under `if __name__ == "__main__":`, which runs only with `python <file>`',
            )
        from headrace.runtime.run import start

        options = RunOptions(
            until=until,
            mode=mode,
            every=every,
            fresh=fresh,
            standby=standby,
            progress=progress,
            guarantee=guarantee,
            checkpoint=checkpoint,
            master=master,
            conf=conf or {},
        )
        options = self._with_settings(options)
        return start(self._plan(), options, session=self._session_of(options.checkpoint, standby=standby))

    def _with_settings(self, options: RunOptions) -> RunOptions:
        """Return options with those of a script where they are missing."""
        if self._declared_run is None:
            return options
        own = self._declared_run.options
        every = options.every if options.bounded or options.every is not None else own.every
        return replace(options, every=every, checkpoint=options.checkpoint or own.checkpoint)

    def _session_of(self, checkpoint: str | Path | None, *, standby: bool) -> str:
        """Return the rows in memory that a temporary checkpoint belongs to; empty if it is kept."""
        if checkpoint is not None or standby or not is_in_memory(self._graph):
            return ""
        return " ".join(sorted(each.store_id for each in self._graph.connectors if isinstance(each, Memory)))

    def _repr_html_(self) -> str:
        from headrace.explain.graph_svg import graph_image

        return graph_image(self._graph)

    def _add(self, node: Node) -> Ref:
        """Add a node to the plan and return its main output; a duplicate name is a plan error."""
        place = _calling_place()
        if not isinstance(node.name, str):
            raise OptionError(f"expected the name of a step as text, got {node.name!r}", where=node.verb)
        if not node.anonymous and not NAME.fullmatch(node.name):
            self._problems.append(
                Problem(
                    place,
                    f"expected a name of letters, digits, _ and -, got {node.name!r}",
                    "rename the step",
                )
            )
        if node.name in self._nodes:
            taken = self._places.get(node.name, "")
            self._problems.append(
                Problem(
                    place, f"the name `{node.name}` is already used", f"rename one; the first is at {taken}"
                )
            )
        self._nodes.setdefault(node.name, node)  # keep the first, so that the error is reported once
        self._places.setdefault(node.name, place)
        return Ref(node.name, node.outputs[0] if node.outputs else "")

    def _generate_name(self, after: Ref, verb: str) -> str:
        """Generate a name for a step without one: `tx:where`, then `tx:where:2`."""
        return generate_name(after, verb, self._nodes)

    def __repr__(self) -> str:
        return f"<pipeline {self.name}>"


@contextmanager
def collecting() -> Iterator[list[Pipeline]]:
    """Yield the list of pipelines that are built in the block, and defer `run()`, for the command line."""
    pipelines: list[Pipeline] = []
    token = _collected.set(pipelines)
    try:
        yield pipelines
    finally:
        _collected.reset(token)


def _calling_place() -> str:
    """Return `file:line` of the innermost frame of user code."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back  # type: ignore[assignment]
    return Location(_file_name(frame.f_code.co_filename), frame.f_lineno, 0) if frame is not None else ""


def _file_name(path: str) -> str:
    """Return the name of a file of user code; of a notebook cell, that with its execution count."""
    notebook = sys.modules.get("IPython")
    shell = notebook.get_ipython() if notebook is not None else None
    names = getattr(getattr(shell, "compile", None), "format_code_name", None)  # IPython 8 and later
    _, number = (names(path) if names is not None else None) or ("", "")
    return f"{CELL}{number.removeprefix('In[').removesuffix(']')}]" if number else Path(path).name
