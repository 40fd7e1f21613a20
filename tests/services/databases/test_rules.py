"""Rules in a table of a real server: changed by SQL while the job runs, and kept while the server is away."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tests.support.servers import Server

from headrace import Pipeline, connect
from headrace.connectors import registry
from headrace.debugging.why import why_of
from headrace.plan.graph import Graph
from headrace.rules.listing import list_rule_tables, rules_as_steps
from headrace.steps.patterns.match_rules import MatchRules


def pattern(letter: str) -> str:
    steps = [{"a": "v = 'a'"}, {"b": {"followed_by": f"v = '{letter}'"}}]
    return json.dumps({"steps": steps, "within": "1 hour", "select": {"v": "b.v"}})


def rows(*letters: str, start: int = 0) -> list[dict[str, Any]]:
    return [
        {"k": "x", "v": letter, "ts": f"2026-03-02T09:00:{second:02}Z"}
        for second, letter in enumerate(letters, start)
    ]


def out_node(graph: Graph) -> MatchRules:
    [node] = graph.of(MatchRules)
    return node


def test_rules_of_a_table_follow_it_while_the_job_runs(
    spark: SparkSession, server: Server, table: str, tmp_path: Path
) -> None:
    kind = "jsonb" if server.kind == "postgres" else "text"
    server.sql(
        f"CREATE TABLE {table} (id varchar(20) PRIMARY KEY, version int, pattern {kind}, active boolean)"
    )
    insert = f"INSERT INTO {table} VALUES (%s, %s, %s, %s)"
    server.sql(insert, ("one", 5, pattern("b"), True))
    server.sql(insert, ("off", 1, pattern("b"), False))
    feed, alerts, faults = connect.memory(), connect.memory(), connect.memory()
    pipeline = Pipeline("job")
    tx = pipeline.read("tx", feed, schema="k string, v string, ts timestamp").event_time("ts")
    connector: Any = registry.connector(server.kind)
    rules = connector(url=server.url, table=table)
    out = tx.key_by("k").match_rules("alerts", rules=rules, order="arrival", measures="v string")
    out.write("alerts_out", alerts)
    out.faults.write("faults_out", faults)
    with pipeline.start(checkpoint=tmp_path / "checkpoint") as running:

        def feed_rows(*letters: str, start: int) -> None:
            feed.add(*rows(*letters, start=start))
            expected = running.status().rows_in + len(letters)
            while running.status().rows_in < expected:
                assert not running.wait(0.1)

        feed_rows("a", "b", start=0)
        server.sql(f"UPDATE {table} SET pattern = %s WHERE id = 'one'", (pattern("c"),))
        feed_rows("a", "b", start=2)
        server.sql(f"UPDATE {table} SET version = 6 WHERE id = 'one'")
        feed_rows("a", "c", start=4)
        feed_rows("a", start=6)
        graph, place = pipeline._plan(), tmp_path / "checkpoint"
        [listed] = list_rule_tables(graph, place)
        assert [(rule.id, rule.standing, rule.version) for rule in listed.rules] == [
            ("off", "not active", 1),
            ("one", "in force", 6),
        ]
        assert [rule.id for rule, _ in rules_as_steps(graph, out_node(graph))[0]] == ["one"]
        server.stop()
        feed_rows("x", start=7)
        [why] = why_of(graph, place, key=["x"], rule="one", read_input=False)
        assert [row["row"]["v"] for row in why.rules[0].report.partials[0]["rows"]] == ["a"]
        assert f"the table `{table}` at " in why.notes[0]
        assert "cannot be read" in why.notes[0]
        [unread] = list_rule_tables(graph, place)
        assert [(rule.id, rule.version) for rule in unread.rules] == [("one", 6)]
        assert f"the table `{table}` at " in unread.faults[0].what
        feed_rows("c", start=8)
        server.start()
        server.sql(f"DELETE FROM {table} WHERE id = 'one'")
        feed_rows("a", "c", start=9)
        assert running.status().rules["alerts"].in_force == {}
    actual = [(row["rule"], row["version"], row["v"]) for row in alerts.contents()]
    assert actual == [("one", 5, "b"), ("one", 5, "b"), ("one", 6, "c"), ("one", 6, "c")]
    problems = [(row["rule"], row["version"], row["reason"]) for row in faults.contents()]
    assert problems[0] == ("one", 5, "the rule has changed, but its version is still 5")
    reasons = [
        reason for _, _, reason in problems[1:]
    ]  # a starting server has another error than a stopped one
    assert len(set(reasons)) == len(reasons) > 0
    assert all(re.search(rf"the table `{table}` at \S+ cannot be read", reason) for reason in reasons)
