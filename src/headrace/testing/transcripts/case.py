"""Read test cases in YAML and validate them against their pipeline.

A file has one or more cases, separated by `---`. Every error has file, line and column.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ruamel.yaml.nodes import MappingNode, Node

from headrace import statements, yaml
from headrace.connectors.files import Files
from headrace.plan.graph import Graph
from headrace.steps.endpoints.table import TableReader
from headrace.streams.pipeline import Pipeline, collecting
from headrace.testing.transcripts.looked_up import move_table_rows
from headrace.testing.transcripts.script import (
    Advance,
    Contents,
    Expect,
    Line,
    Restart,
    Rows,
    Rules,
    Watermark,
)
from headrace.testing.transcripts.script_reading import read_script, retracting_sources
from headrace.yaml.errors import ErrorCollector, raise_problem
from headrace.yaml.parsing import build_tree, compose
from headrace.yaml.positions import Fields, Scalar, Value, from_plain
from headrace.yaml.reading import read_mapping, read_word, reject_unknown
from headrace.yaml.reading import read_text as read_value

KEYS = ("name", "pipeline", "sql", "script", "through", "description")
Through = Literal["any", "spark", "kernel"]
_HINT = "a case has `name`, `pipeline` and `script`"


@dataclass(frozen=True)
class Case:
    """A test case: a validated plan and a script. Created by `read_case` and `read_file`.

    >>> [case, *_] = read_file("tests/transcripts/windows/sessions.yaml")
    >>> [type(line).__name__ for line in case.script[:3]]
    ['Rows', 'Expect', 'Restart']

    Attributes:
        name: the name in reports.
        where: `file:line:column` of the case.
        graph: the plan; its sources are fed by the script.
        script: the lines, in order.
        through: `spark` to run as Spark queries even if the in-process driver could run it; `kernel` (not in
            a file) to use the driver even if the script kills the run, which tests the state of the kernel
            without Spark.
    """

    name: str
    where: str
    graph: Graph
    script: tuple[Line, ...]
    through: Through = "any"

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs in `expect` and `contents` lines, in order of appearance."""
        lines = [line for line in self.script if isinstance(line, Expect)]
        return tuple(dict.fromkeys(name for line in lines for name in line.outputs))

    @property
    def compared(self) -> tuple[str, ...]:
        """The outputs whose rows `expect` lines compare one by one."""
        lines = [line for line in self.script if isinstance(line, Expect) and not isinstance(line, Contents)]
        return tuple(dict.fromkeys(name for line in lines for name in line.outputs))

    @property
    def fed(self) -> frozenset[str]:
        """The sources whose watermark is set by the script."""
        return frozenset(name for line in self.script if isinstance(line, Watermark) for name in line.marks)

    @property
    def moves_clock(self) -> bool:
        """True if the script moves the clock; otherwise it moves by itself where time matters."""
        return any(isinstance(line, Advance) for line in self.script)

    @property
    def partitioned(self) -> frozenset[str]:
        """The sources whose rows the script lists by partition."""
        return frozenset(name for line in self.script if isinstance(line, Rows) for name in line.partitions)

    @property
    def rule_steps(self) -> frozenset[str]:
        """The steps whose rules are set by the script."""
        return frozenset(name for line in self.script if isinstance(line, Rules) for name in line.tables)

    def kills_in(self, index: int) -> bool:
        """Return true if the run is killed in the epoch of the line at `index`."""
        after = self.script[index + 1] if index + 1 < len(self.script) else None
        return (
            isinstance(self.script[index], Rows)
            and isinstance(after, Restart)
            and after.moment == "before_commit"
        )


@dataclass(frozen=True)
class InvalidCase:
    """An invalid case with its error; it is reported as failed."""

    name: str
    where: str
    error: Exception


def read_file(path: str | Path) -> list[Case | InvalidCase]:
    """Read the cases of a file; an invalid case is returned with its error.

    Raises:
        DocumentError: the file cannot be read or is not YAML.

    >>> read_file("tests/transcripts/windows/sessions.yaml")[0].outputs
    ('out',)
    """
    file = str(path)
    try:
        content = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise_problem(file, f"the file cannot be read: {error}")
    return read_text(content, file=file)


def read_text(content: str, *, file: str = "<text>") -> list[Case | InvalidCase]:
    """Read the cases of a text; an error in one case does not affect the others."""
    nodes = compose(content, file=file, data=True)
    if not nodes:
        raise_problem(f"{file}:1:1", "the file has no case", _HINT)
    return [_attempt(node, file) for node in nodes]


def read_case(document: str | Mapping[str, Any]) -> Case:
    """Read one case from YAML text or a mapping.

    Raises:
        DocumentError: the case is invalid; lists every error.

    >>> case = read_case('''
    ... name: amounts add up
    ... pipeline:
    ...   sources: {tx: {memory: {}, schema: "card string, amount int"}}
    ...   steps: {totals: {from: tx, key_by: card, aggregate: {total: sum(amount)}}}
    ... script:
    ...   - rows: {tx: [{card: a, amount: 1}]}
    ...   - expect: {totals: [{card: a, total: 1}]}
    ... ''')
    >>> case.name, case.outputs
    ('amounts add up', ('totals',))
    """
    if not isinstance(document, str):
        return _case(from_plain(document, file="<case>"), document.get("pipeline"), "<case>")
    [case, *more] = read_text(document)
    if more:
        raise_problem(
            "<text>", f"expected one case, got {len(more) + 1}", "use run_files for a file of cases"
        )
    if isinstance(case, InvalidCase):
        raise case.error
    return case


def _attempt(node: Node, file: str) -> Case | InvalidCase:
    errors = ErrorCollector()
    tree = build_tree(node, file=file, environment=os.environ, errors=errors)
    try:
        errors.raise_any()
        return _case(tree, _child(node, "pipeline"), file)
    except Exception as error:  # an exception of a pipeline in Python fails this case only
        return InvalidCase(_name(tree), tree.where, error)


def _case(tree: Value, pipeline: Any, file: str) -> Case:
    case = read_mapping(tree, expected="a case", hint=_HINT)
    errors = ErrorCollector()
    reject_unknown(case, KEYS, "a case", errors)
    source = "sql" if "sql" in case else "pipeline"
    for key in ("name", source, "script"):
        if key not in case:
            errors.add(case.where, f"`{key}` of the case is missing", _HINT)
    if "sql" in case and "pipeline" in case:
        errors.add(case.key_at("sql"), "expected either `pipeline` or `sql`, got both", "remove one")
    errors.raise_any()
    name = read_value(case["name"], expected="a name")
    if source == "sql":
        graph = _sql_pipeline(case["sql"], name, retracting_sources(case["script"]), file)._plan()
    else:
        graph = _find_tables(
            _pipeline(case["pipeline"], pipeline, file, name)._plan(), case["pipeline"], file
        )
    lines = read_script(case["script"], graph)
    if source == "sql":
        lines = move_table_rows(lines, graph)
    through = read_word(case["through"], ("any", "spark")) if "through" in case else "any"
    return Case(name, case.where, graph, lines, "spark" if through == "spark" else "any")


def _sql_pipeline(value: Value, name: str, retracting: frozenset[str], file: str) -> Pipeline:
    text = read_value(value, expected="SQL statements")
    graph = statements.from_text(
        text,
        file=f"{value.where}: sql",
        name=_slug(name),
        retracting=retracting,
        directory=Path(file).parent if Path(file).is_file() else None,
    )
    return Pipeline._from_graph(graph)


def _slug(name: str) -> str:
    """Return the name of a case as that of a pipeline."""
    slug = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "case"
    return slug if slug[0].isalpha() else f"case-{slug}"


def _pipeline(value: Value, node: Any, file: str, name: str) -> Pipeline:
    if isinstance(value, Fields):
        return Pipeline._from_graph(yaml.from_mapping(node, file=file, name=_slug(name)))
    path = Path(file).parent / read_value(value, expected="a pipeline or the path of one")
    if path.suffix == ".py":
        return _from_python(path, value)
    if not path.exists():
        raise_problem(value.where, f"no pipeline at {path}", "the path is relative to the file of the case")
    return Pipeline.from_yaml(path)


def _find_tables(graph: Graph, value: Value, file: str) -> Graph:
    """Take the files of tables from the pipeline's directory if they are not in the working directory."""
    directory = (Path(file).parent / value.text).parent if isinstance(value, Scalar) else Path(file).parent
    tables = [(node, node.table) for node in graph.of(TableReader) if isinstance(node.table, Files)]
    moved = [
        replace(node, table=table.model_copy(update={"path": str(directory / str(table.path))}))  # type: ignore[call-arg]
        for node, table in tables
        if table.input_problem() and (directory / str(table.path)).exists()
    ]
    return graph.plus(*moved)


def _from_python(path: Path, value: Value) -> Pipeline:
    import runpy

    with collecting() as pipelines:
        runpy.run_path(str(path), run_name="__main__")
    if len(pipelines) != 1:
        raise_problem(value.where, f"expected one pipeline in {path}, got {len(pipelines)}")
    return pipelines[0]


def _child(node: Node, key: str) -> Any:
    if not isinstance(node, MappingNode):
        return None
    return next((item for name, item in node.value if name.value == key), None)


def _name(tree: Value) -> str:
    name = tree.get("name") if isinstance(tree, Fields) else None
    return name.text if isinstance(name, Scalar) and name.text else tree.where
