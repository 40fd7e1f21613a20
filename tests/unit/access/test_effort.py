"""Documents that are meant to keep a service busy: each is answered within a bounded CPU time."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from headrace.access.effort import EffortError, check_effort, limit_effort
from headrace.dashboard.editor.documents import check_document
from headrace.errors import DocumentError, HeadraceError
from headrace.jobs.security.documents import check_submission
from headrace.jobs.security.masking import mask_document
from headrace.jobs.security.policy import Policy
from headrace.jobs.submission import Submission

SECONDS = 6.0
"""Several times the limit of 1.5 seconds of the thread; a quadratic expression takes minutes."""
CLOSED = Policy(host="0.0.0.0")
HEAD = "name: p\nsources: {n: {generator: {rate: 10, columns: {n: sequence}}}}\n"
TAIL = "sinks: {out: {from: n, files: {path: out/, format: json}}}\n"


def where(condition: str) -> str:
    return f'{HEAD}steps: {{b: {{from: n, where: "{condition}"}}}}\n{TAIL}'


def step(entry: str) -> str:
    return f"{HEAD}steps: {{b: {{from: n, {entry}}}}}\n{TAIL}"


DOCUMENTS = {
    "parentheses": where("(" * 3000 + "n" + ")" * 3000 + " > 1"),
    "negations": where("not " * 5000 + "n > 1"),
    "operands": where(" + ".join(["n"] * 20_000)),
    "backticks": where("`" * 100_000),
    "comments of SQL": where("/*" * 100_000),
    "quotes": where("'" * 100_001),
    "functions": where(" + ".join(f"f{n}(n)" for n in range(3000))),
    "a query": f'{HEAD}steps: {{b: {{sql: "select {"(" * 3000}"}}}}\n{TAIL}',
    "a pattern of rows": f'{HEAD}steps: {{b: {{sql: "select * from n match_recognize({"/*" * 50_000})"}}}}\n{TAIL}',
    "aliases": "a0: &a [1]\n" + "".join(f"a{n}: &a [{', '.join(['*a'] * 9)}]\n" for n in range(9)),
    "an alias of itself": "a: &a [*a]",
    "brackets": "[" * 20_000,
    "comments": "# x\n" * 260_000,
    "levels": "".join(" " * n + "a:\n" for n in range(700)),
    "a long text": HEAD + TAIL + "k: " + "x" * 250_000,
    "many keys": HEAD + TAIL + "".join(f"k{n}: 1\n" for n in range(9000)),
    "aggregates": step("key_by: n, aggregate: {" + ", ".join(f"a{n}: count(*)" for n in range(4000)) + "}"),
    "unknown features": step(
        f"predict: {{onnx: m.onnx, features: [{', '.join(f'n{n}' for n in range(9000))}], output: r double}}"
    ),
    "columns of a model": step(
        f"predict: {{onnx: m.onnx, features: [n], output: '{', '.join(f'r{n} int' for n in range(20_000))}'}}"
    ),
    "columns": step("select: {" + ", ".join(f"a{n}: 1" for n in range(4000)) + "}"),
    "steps": f"{HEAD}steps: {{{', '.join(f'b{n}: {{from: n, where: n > {n}}}' for n in range(2000))}}}\n{TAIL}",
    "a schema": f"sources: {{n: {{memory: {{}}, schema: '{'array<' * 20_000}'}}}}\n{TAIL}",
    "an Avro schema": "sources: {n: {memory: {}, format: {avro: {schema: '"
    + '{"type":"array","items":' * 3000
    + "'}}}}",
    "spaces of an order": step(f"top_n: {{n: 1, order_by: 'n{' ' * 100_000}x'}}"),
    "a duration": step(f"key_by: n, window: {{tumbling: '{'1' * 100_000} s'}}, aggregate: {{n: count(*)}}"),
    "braces": HEAD + "sinks: {o: {from: n, files: {path: '" + "{a,b}" * 30_000 + "'}}}\n",
    "variables": HEAD + TAIL + "k: '" + "${" * 100_000 + "'",
    "a word with secrets": HEAD + TAIL + "# " + "token" * 40_000,
    "a word": HEAD + TAIL + "#" + "a" * 200_000,
}


SOURCE = "CREATE SOURCE n (n BIGINT) WITH (connector = 'memory');\n"
SINK = "CREATE SINK o WITH (connector = 'console');\n"


def query(text: str) -> str:
    return f"{SOURCE}{SINK}INSERT INTO o {text};"


SCRIPTS = {
    "brackets": "(" * 240_000,
    "quotes": "'" * 240_000,
    "empty texts": "'' " * 80_000,
    "statements": "SELECT 1;" * 25_000,
    "a long script": "-- " + "x" * (1 << 20),
    "operands": query("SELECT n FROM n WHERE " + " OR ".join(["n"] * 60_000)),
    "functions": query("SELECT " + " + ".join(f"f{n}(n)" for n in range(20_000)) + " FROM n"),
    "columns": query("SELECT " + ", ".join(f"n AS a{n}" for n in range(2400)) + " FROM n"),
    "joins": query("SELECT n.n FROM n " + " ".join(f"JOIN n AS t{i} ON t{i}.n = n.n" for i in range(600))),
    "subqueries": query("SELECT n FROM n WHERE " + "n IN (SELECT n FROM n WHERE " * 150 + "n" + ")" * 150),
    "queries of WITH": query(
        "WITH c0 AS (SELECT * FROM n), "
        + ", ".join(f"c{i} AS (SELECT * FROM c{i - 1})" for i in range(1, 1000))
        + " SELECT * FROM c999"
    ),
    "views": SOURCE + "".join(f"CREATE VIEW v{i} AS SELECT * FROM n;" for i in range(4000)),
    "options": "CREATE SOURCE n (n INT) WITH (" + ", ".join(f"'k{i}' = 'v'" for i in range(10_000)) + ");",
    "a type": f"CREATE SOURCE n (n {'array<' * 40_000}) WITH (connector = 'memory');",
    "a cube": query(f"SELECT count(*) FROM n GROUP BY CUBE({', '.join(f'n + {n}' for n in range(24))})"),
    "partitions of a table": query("SELECT n FROM TABLE(t " + "PARTITION BY n " * 2000 + ", DESCRIPTOR(n))"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_answered_in_time(name: str) -> None:
    begin = time.thread_time()
    with suppress(HeadraceError):
        check_submission(Submission("p.sql", {"p.sql": SCRIPTS[name].encode()}), CLOSED)
    assert time.thread_time() - begin < SECONDS


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_answered_in_time(name: str) -> None:
    text = DOCUMENTS[name]
    begin = time.thread_time()
    check_document(text, CLOSED)
    middle = time.thread_time()
    with suppress(HeadraceError):
        check_submission(Submission("p.yaml", {"p.yaml": text.encode()}), CLOSED)
    assert middle - begin < SECONDS
    assert time.thread_time() - middle < SECONDS


@pytest.mark.parametrize(
    "text",
    [
        "#" + "a" * 200_000,
        "# " + "token" * 40_000,
        "# " + "password " * 20_000,
        "# " + "password='" * 20_000,
        "#" + " " * 100_000 + "password" + " " * 100_000,
        "# " + "://" * 60_000,
        "# x://:" + "a" * 200_000,
        "password = " + '"' * 100_001,
        "'" * 100_000,
        "?token" * 30_000,
        "(" * 240_000,
        "WITH (" + "a = b, " * 30_000,
    ],
)
@pytest.mark.parametrize("file", ["p.yaml", "p.py", "p.sql"])
def test_secrets_are_masked_in_time(text: str, file: str) -> None:
    begin = time.thread_time()
    mask_document(text, file)
    assert time.thread_time() - begin < SECONDS


@pytest.mark.parametrize("number", [".inf", "-.inf", ".nan", "1e999", "9" * 5000, "0x" + "f" * 5000])
def test_a_number_that_cannot_be_used_is_an_error_of_the_document(number: str) -> None:
    window = f"processing_time: , key_by: n, window: {{delta: {{of: n, by: {number}}}}}, aggregate: {{n: count(*)}}"
    detector = f"processing_time: , key_by: n, detect: {{threshold: {{on: n, high: {number}}}}}"
    for text in (HEAD.replace("rate: 10", f"rate: {number}") + TAIL, step(window), step(detector)):
        with pytest.raises(DocumentError) as caught:
            check_submission(Submission("p.yaml", {"p.yaml": text.encode()}), CLOSED)
        assert caught.value.problems[0].where.startswith(("p.yaml:2:", "p.yaml:3:"))


def test_a_check_that_takes_too_long_ends() -> None:
    def check() -> None:
        with limit_effort("p.yaml", seconds=0.01):
            while True:
                check_effort()

    with pytest.raises(EffortError) as caught:
        check()
    expected = "p.yaml: it takes more than 0.01 seconds of CPU time to check\n  hint: divide it into several pipelines"
    assert str(caught.value) == expected


def test_a_recursion_is_an_error_of_the_document() -> None:
    def recurse() -> None:
        recurse()

    with pytest.raises(EffortError, match="it is nested too deeply"), limit_effort("p.yaml"):
        recurse()
