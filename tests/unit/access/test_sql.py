"""Calls and tables in Spark SQL that a restricted service does not accept."""

from __future__ import annotations

import gc
import time

import pytest

from headrace.access.sql import find_problem


@pytest.mark.parametrize(
    "text",
    [
        "reflect('java.lang.System', 'getenv')",
        "`Reflect` ('a')",
        "x.reflect('a')",
        "r'\\' || java_method('a')",
        "/*+ java_method('a') */ x",
        "/* /* */ ' */ java_method('a') --'",
        "-- \\\n' \n java_method('a') --'",
        "identifier('java_' || 'method')('a')",
        "\N{LATIN SMALL LETTER DOTLESS I}dentifier('java_method')('a')",
        "from_xml(x, 'a int', m)",
        "from_xml(f(x, y), ',', m)",
        "schema_of_xml('x', m)",
        "to_avro(x)",
        "system.builtin.headrace_encode('avro', 'x', x)",
        "(select max(value) from text.`x`)",
        "(select max(value) from XML/**/. `x`)",
        "(select transform(x) using 'id' as a)",
        '(from (select 1 as x) map x using/**/"id" as a)',
        "(from (select 1 as x) reduce x using r'id')",
    ],
)
def test_a_call_or_a_table_is_found_as_spark_reads_it(text: str) -> None:
    assert "accepted" in find_problem(text) or "queried" in find_problem(text)


@pytest.mark.parametrize(
    "text",
    [
        "'java_method(1)'",
        '"reflect(1)"',
        "n -- reflect(1)",
        "n /* reflect(1) */ + 1",
        "'\\' reflect(1)'",
        "reflect + identifier",
        "from_xml(x, 'a int, b int')",
        "from_json(x, 'a int', map('mode', 'FAILFAST'))",
        "`window.start` > a.`b c`",
        "(select count(*) from a join b using (x)) > 'using'",
    ],
)
def test_an_ordinary_expression_is_accepted(text: str) -> None:
    assert find_problem(text) == ""


@pytest.mark.parametrize("part", ["`", "'", "/*", "(", "from_xml(", "\\'", "identifier ", "r'", "/*+", "--"])
def test_the_time_is_linear(part: str) -> None:
    """A loaded machine can make one measurement many times longer, but not all of them."""

    def seconds(repeats: int) -> float:
        begin = time.thread_time()
        find_problem(part * repeats)
        return time.thread_time() - begin

    gc.disable()  # it would read the objects of all other tests
    try:
        ratios = (seconds(64_000) / seconds(4_000) for _ in range(20))
        assert any(ratio < 64 for ratio in ratios), "16 times the text takes 256 times as long if quadratic"
    finally:
        gc.enable()
